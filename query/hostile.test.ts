// A statement that takes all it may: it ends, in the store as well, others are answered meanwhile, and its threads make room for them.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import t from 'tap'
import { isParleyError } from '#proto/errors.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { CLASSES, settingsOfClass } from '#store/classes.ts'
import { createStore, type Store } from '#store/client.ts'
import { sharedClickHouse } from '#test/engines.ts'
import { eventually, freshDatabase, silentLog, walledDatabase } from '#test/rig.ts'
import { createReaders } from './reader.ts'

const LIMITS = { maxMemoryMb: 256, maxRows: 0, organizationQueries: 2, organizationRows: 0, organizationSeconds: 0 }
const NEVER = new AbortController().signal

t.test('what runs for too long is ended in the store, and neighbours have their answers', async t => {
  const { url, database, store } = await freshDatabase(t)
  const asking = createStore({ url, database, application: 'test' })
  t.teardown(() => asking.close())
  const open = (maxSeconds: number) =>
    createReaders({
      ...{ storeOf: () => asking, metrics: createMetrics('query'), log: silentLog },
      limits: { ...LIMITS, maxSeconds },
    })
  const mark = randomUUID()
  // No index helps, and nothing is found: trillions of rows.
  const hostile = `SELECT count() FROM numbers(1000000000000000) WHERE cityHash64(number, '${mark}') = 0`
  const running = open(1)('a', NEVER)
    .read('chart', hostile)
    .then(
      () => 'answered',
      (error: unknown) => (isParleyError(error) ? error.code : String(error)),
    )
  const rows = await open(600)('b', NEVER).read<{ one: number }>('events', 'SELECT 1 AS one')
  t.strictSame(rows, [{ one: 1 }], 'a neighbour')
  t.equal(await running, 'QRY_LIMIT')
  await eventually('it has left the store', async () => {
    const left = await store.read(
      `SELECT 1 FROM system.processes WHERE position(query, {mark:String}) > 0 AND query NOT LIKE '%system.processes%'`,
      { parameters: { mark } },
    )
    return left.length === 0
  })
})

/** The niceness of a thread, or of a process: the field after its state and fourteen numbers (proc(5)). */
async function nicenessOf(thread: string): Promise<number> {
  const stat = await readFile(`/proc/${thread}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
}

/** CAP_SYS_NICE among what a process may do: capability 23. */
async function mayStepBack(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'
  return ((BigInt(`0x${effective}`) >> 23n) & 1n) === 1n
}

t.test('what nobody waits for has few threads, and they step back for those of others', async t => {
  const db = await walledDatabase(t)
  const [engine = 0] = (await sharedClickHouse()).pids
  const stepsBack = await mayStepBack(engine)
  if (!stepsBack) t.comment('the engine may not say how nice its threads are: only their number is looked at')
  /** Threads and niceness of those that work on a statement which would run for hours. */
  const f = async (store: Store, settings: object, threads: number, nice: number): Promise<void> => {
    const mark = randomUUID()
    const stop = new AbortController()
    // Few rows are read, and each is held against each.
    const endless = `SELECT count() FROM numbers_mt(1000000) AS a, numbers_mt(1000000) AS b
      WHERE cityHash64(a.number, b.number, '${mark}') = 0`
    const running = store.read(endless, { settings: { ...settings }, signal: stop.signal }).catch(() => 'cancelled')
    try {
      await eventually(`${threads} threads at ${nice}`, async () => {
        const [seen] = await db.store.read<{ threads: string[]; peak: string }>(
          `SELECT arrayMap(toString, thread_ids) AS threads, peak_threads_usage AS peak FROM system.processes
           WHERE position(query, {mark:String}) > 0 AND query NOT LIKE '%system.processes%'`,
          { parameters: { mark } },
        )
        // Where there are several, one more has taken the request and waits for them.
        if (seen === undefined || Number(seen.peak) !== (threads === 1 ? 1 : threads + 1)) return false
        if (!stepsBack) return true
        const all = await Promise.all(seen.threads.map(thread => nicenessOf(thread).catch(() => undefined)))
        return all.includes(nice)
      })
    } finally {
      stop.abort()
    }
    t.equal(await running, 'cancelled')
  }
  const half = Math.max(1, Math.floor(availableParallelism() / 2))
  await f(db.sql, {}, Math.min(half, CLASSES.sql.threads), CLASSES.sql.nice)
  await f(db.reader, { ...settingsOfClass('export'), readonly: '2' }, CLASSES.export.threads, CLASSES.export.nice)
  await f(db.reader, { ...settingsOfClass('figures', 2), readonly: '2' }, 2, CLASSES.figures.nice)
})
