// Keeps one ClickHouse for all test files of a run. It serves a Unix socket (first argument): whoever connects gets a line with the
// engine's address and holds the engine by staying connected. Without anyone for a while it removes everything and ends.
import { mkdtemp, rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClickHouseEngine, startClickHouse } from '#local/clickhouse.ts'
import { migrate } from '#store/migrate.ts'
import { FOR_FEW_ROWS } from './engines.ts'
import { prepareTemplate, TEMPLATE, WALLED } from './template.ts'

/** Longer than the gap between two test files, short enough to leave nothing behind. */
const UNUSED_MS = 10_000

const path = process.argv[2]
if (path === undefined) throw new Error('usage: engines-keeper.ts <socket>')

const users = new Set<Socket>()
let timer: NodeJS.Timeout | undefined
const whenUnused = (): void => {
  clearTimeout(timer)
  if (users.size === 0) timer = setTimeout(() => void end(), UNUSED_MS)
}

let started = (_engine: Promise<ClickHouseEngine>): void => {}
const engine = new Promise<ClickHouseEngine>(resolve => {
  started = resolve
})
let ending = false

// Whoever connects is served from the first moment on: a connection that nobody takes notice of would wait for ever.
const server = createServer(socket => {
  users.add(socket)
  clearTimeout(timer)
  socket.on('error', () => {})
  socket.once('close', () => {
    users.delete(socket)
    whenUnused()
  })
  engine.then(
    ({ url, readerUrl, sqlUrl, pid }) =>
      socket.write(`${JSON.stringify({ url, readerUrl, sqlUrl, pids: [process.pid, pid] })}\n`),
    (error: unknown) => socket.end(`${JSON.stringify({ error: String(error) })}\n`),
  )
})
// Listening is what decides between keepers that start at the same moment; a socket that nobody serves is left from a kill.
await listen(path).catch(async () => {
  if (await isServed(path)) process.exit(0)
  await rm(path, { force: true })
  await listen(path)
})
const dir = await mkdtemp(join(tmpdir(), 'parley-test-clickhouse-'))
started(
  startClickHouse({ dir, databases: WALLED, settings: FOR_FEW_ROWS, startTimeoutMs: 250_000 }).then(async running => {
    await migrate({ url: running.url, database: TEMPLATE, application: 'test' })
    await prepareTemplate(running.url)
    return running
  }),
)
whenUnused()
process.on('SIGTERM', () => void end())
process.on('SIGINT', () => void end())
await engine.then(
  ({ exited }) => exited,
  () => {},
)
await end()

async function end(): Promise<void> {
  if (ending) return
  ending = true
  server.close()
  for (const socket of users) socket.destroy()
  await engine.then(
    running => running.stop(),
    () => {},
  )
  await rm(dir, { recursive: true, force: true })
  process.exit(0)
}

/** True when another keeper answers there. */
function isServed(at: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = createConnection(at)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

function listen(at: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(at, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
