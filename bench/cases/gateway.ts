// What would a separate gateway process in front of the receivers cost ingestion? A bare uWebSockets.js server that collects the
// body and answers 200, asked directly and through the cheapest proxy Node has (node:http, keep-alive, piped). Decides who listens on
// PARLEY_PORT: docs/decisions/0002-no-gateway-process.md.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer } from '../server.ts'
import { median, table } from '../stats.ts'
import { wrk } from '../wrk.ts'

const ROUNDS = 5
const SECONDS = 3

/** Runs the case and prints its table. */
export async function gateway(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  const script = join(dir, 'post.lua')
  await writeFile(
    script,
    `wrk.method = "POST"\nwrk.body = string.rep("x", 1024)\nwrk.headers["content-type"] = "application/json"\n`,
  )
  const origin = await startServer(new URL('gateway-origin.ts', import.meta.url), [])
  const proxy = await startServer(new URL('gateway-proxy.ts', import.meta.url), [String(origin.port)])
  try {
    const rows: (string | number)[][] = []
    for (const connections of [64, 512]) {
      const direct: number[] = []
      const through: number[] = []
      for (let round = 0; round < ROUNDS; round++) {
        for (const [port, into] of [[origin.port, direct] as const, [proxy.port, through] as const]) {
          const result = await wrk({ url: `http://127.0.0.1:${port}/`, script, connections, seconds: SECONDS })
          into.push(result.requestsPerSecond)
        }
      }
      const [a, b] = [median(direct), median(through)]
      rows.push([connections, Math.round(a), Math.round(b), (b / a).toFixed(2)])
    }
    console.log(table(['connections', 'direct, requests/s', 'through a gateway process', 'ratio'], rows))
  } finally {
    origin.stop()
    proxy.stop()
    await rm(dir, { recursive: true })
  }
}
