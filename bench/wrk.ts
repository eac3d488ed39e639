// Runs wrk (Debian package `wrk`) against an address and returns what it measured. wrk costs a fraction of a Node client, so the
// load is not the limit; whether that held is in the result.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** One run. Latencies are wrk's: it adds the requests that a stalled connection could not send (coordinated omission). */
export interface WrkResult {
  readonly requests: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  /** Answers of status 400 and above. */
  readonly refused: number
  /** Connections, reads and writes that failed, and answers that did not come in time. */
  readonly broken: number
  /** CPU that wrk itself took, in cores: near 1 for each of its threads means that the load was the limit. */
  readonly generatorCores: number
}

/** What the appended `done` function writes, in wrk's units. */
interface Report {
  readonly requests: number
  readonly duration_us: number
  readonly p50_us: number
  readonly p99_us: number
  readonly p999_us: number
  readonly refused: number
  readonly broken: number
  readonly cpu_s: number
}

/** wrk prints no percentile above the 99th by itself. */
const REPORT_LUA = `
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\\nreport {"requests":%.0f,"duration_us":%.0f,"p50_us":%.0f,"p99_us":%.0f,"p999_us":%.0f,"refused":%.0f,"broken":%.0f,"cpu_s":%.2f}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
    e.status, e.connect + e.read + e.write + e.timeout, os.clock()))
end
`

/** Posts through `connections` for `seconds`; `script` is a Lua file that shapes the requests, `args` is what its `init` gets. */
export async function wrk(options: {
  url: string
  script: string
  args?: readonly string[]
  connections: number
  seconds: number
  threads?: number
}): Promise<WrkResult> {
  const dir = await mkdtemp(join(tmpdir(), 'parley-wrk-'))
  // An interrupted bench leaves through process.exit, which skips what stands in finally.
  const remove = (): void => rmSync(dir, { recursive: true, force: true })
  process.once('exit', remove)
  try {
    const script = join(dir, 'script.lua')
    await writeFile(script, (await readFile(options.script, 'utf8')) + REPORT_LUA)
    return resultOf(await run({ ...options, script }))
  } finally {
    remove()
    process.off('exit', remove)
  }
}

async function run(options: Parameters<typeof wrk>[0]): Promise<Report> {
  const args = [
    ...['-t', String(Math.min(options.threads ?? 1, options.connections)), '-c', String(options.connections)],
    ...['-d', `${options.seconds}s`, '--timeout', '10s', '-s', options.script, options.url],
    ...['--', ...(options.args ?? [])],
  ]
  const child = spawn('wrk', args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const kill = (): void => void child.kill()
  process.once('exit', kill)
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]).catch(
    error => {
      throw new Error('wrk is needed for this bench: apt-get install wrk', { cause: error })
    },
  )
  process.off('exit', kill)
  const report = /^report (\{.*\})$/m.exec(output)?.[1]
  if (report === undefined) throw new Error(`wrk said: ${output}${errors}`)
  return JSON.parse(report) as Report
}

function resultOf(report: Report): WrkResult {
  const seconds = report.duration_us / 1e6
  return {
    requests: report.requests,
    requestsPerSecond: report.requests / seconds,
    p50Ms: report.p50_us / 1000,
    p99Ms: report.p99_us / 1000,
    p999Ms: report.p999_us / 1000,
    refused: report.refused,
    broken: report.broken,
    generatorCores: report.cpu_s / seconds,
  }
}
