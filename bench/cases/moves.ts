// A tenant with millions of rows at home; then traces whose roots come last. How long from their roots to every span being in the
// conversation of its trace, where does the time go, and does every sum stay exact?
import { randomUUID } from 'node:crypto'
import { cpus, loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { jetstream } from '@nats-io/jetstream'
import { subjectOf } from '#proto/streams.ts'
import { type Store } from '#store/client.ts'
import { startPart, type Teardown } from '#test/rig.ts'
import { startEngines } from '../engines.ts'
import { emptyEnvelope, exportOf, spanOf } from '../late/spans.ts'
import { cpuSeconds } from '../process.ts'
import { table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'

const PARTITIONS = 2
/** Spans of one export. */
const EXPORT = 500
const LOOK_MS = 250
const WHOLE_LOOK_MS = 1_000
const END_MS = 900_000
/** Positions of each partition that rows at home are said to come from. */
const HOME_POSITIONS = 1_000
const HOME_DAYS = 60

interface Wanted {
  readonly traces: number
  readonly spans: number
  readonly home: number
  /** Roots come only when merges have done with what their spans brought. */
  readonly rest: boolean
}

/** Runs the case and prints its tables. Options: --traces, --spans (of each), --home (rows that the tenant has already), --rest. */
export async function moves(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: { traces: text, spans: text, home: text, rest: { type: 'boolean' } },
  })
  const { traces = 20_000, spans = 11, home = 4_000_000, rest = false } = values
  await withTeardown(async t => {
    const wanted = { traces: Number(traces), spans: Number(spans), home: Number(home), rest }
    await run(t, wanted)
  })
}

async function run(t: Teardown, { traces, spans, home, rest }: Wanted): Promise<void> {
  const { clickhouse, store, nc, env } = await startEngines(t, { partitions: PARTITIONS })
  const js = jetstream(nc, { timeout: 10_000 })
  const organization = randomUUID()
  const publish = async (first: number, each: readonly number[]): Promise<void> => {
    const perExport = Math.max(1, Math.floor(EXPORT / each.length))
    for (let from = 0, n = first; from < traces; from += perExport, n++) {
      const some = Array.from({ length: Math.min(perExport, traces - from) }, (_, i) => from + i)
      const parsed = some.flatMap(trace => each.map(span => spanOf(trace, span)))
      await js.publish(subjectOf(n % PARTITIONS), exportOf(organization, parsed))
    }
  }
  for (let n = 0; n < HOME_POSITIONS * PARTITIONS; n++) await js.publish(subjectOf(n % PARTITIONS), emptyEnvelope())
  await settle(store, organization, home)
  // They are at home since long: what merges them has been done.
  await until(async () => (await merging(store)) === 0)
  const { opsPort, pid } = await startPart(t, 'processors/main.ts', { ...env, PARLEY_LOG_LEVEL: 'error' })
  const children = Array.from({ length: spans - 1 }, (_, i) => i + 2)
  await publish(0, children)
  const stored = home + traces * (spans - 1)
  await until(async () => (await look(store)).rows === stored)
  if (rest) await until(async () => (await merging(store)) === 0)

  const before = await phases(opsPort)
  const cpu = async (): Promise<number[]> => Promise.all([cpuSeconds(clickhouse.pid()), cpuSeconds(pid)])
  const cpuBefore = await cpu()
  const startedAt = performance.now()
  // In the other partition than their children.
  await publish(1, [1])
  const publishedAt = performance.now()
  let [rootsAt, wholeAt, homeAt] = [0, 0, 0]
  let wrong = 0
  let looks = 0
  await until(async () => {
    // Looking at all sums takes as much of two cores as some thousand spans that go home, so it is done once a second.
    const isHome = (await loose(store)) === 0
    if (!isHome && performance.now() - wholeAt < WHOLE_LOOK_MS) return false
    wholeAt = performance.now()
    const { rows, projected } = await look(store)
    looks++
    if (rows !== projected) wrong++
    if (rows === stored + traces && rootsAt === 0) rootsAt = wholeAt
    if (!isHome || rows !== stored + traces) return false
    homeAt = wholeAt
    return true
  })
  const spentCpu = (await cpu()).map((s, i) => s - (cpuBefore[i] as number))
  const [texts] = await store.read<{ n: string }>('SELECT count() AS n FROM texts')
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
  const sums = [
    ['rows of the tenant at home before', `${home}`],
    ['traces', `${traces} of ${spans} spans, their roots last`],
    ['roots published in', seconds(publishedAt - startedAt)],
    ['from the last root published to the last one stored', seconds(rootsAt - publishedAt)],
    ['from the last root published to the last span at home', seconds(homeAt - publishedAt)],
    ['from the first root published to the last span at home', seconds(homeAt - startedAt)],
    ['CPU meanwhile: ClickHouse; processor', spentCpu.map(s => `${s.toFixed(1)} s`).join('; ')],
    ['load of the machine; its cores', `${loadavg()[0]?.toFixed(0)}; ${cpus().length}`],
    ['spans moved; texts', `${traces * (spans - 1)}; ${texts?.n}`],
    ['sums that were wrong', `${wrong} of ${looks} looks`],
  ]
  console.log(table(['', ''], sums))
  const spent = [...(await phases(opsPort))].map(([step, { n, s }]) => {
    const was = before.get(step) ?? { n: 0, s: 0 }
    return [step, `${n - was.n}`, (s - was.s).toFixed(2)]
  })
  console.log(`\n${table(['step, both partitions', 'times', 'seconds'], spent)}`)
}

/** Rows at home, as if the first positions of each partition had brought them: conversations of ten over the last weeks. */
async function settle(store: Store, organization: string, rows: number): Promise<void> {
  const step = 500_000
  for (let from = 0; from < rows; from += step) {
    const n = Math.min(step, rows - from)
    await store.command(
      `INSERT INTO events (organization, conversation_id, session_id, event_id, trace_id, span_id, ts, duration_ns, latency_bucket,
         source, kind, name, user_id, model, provider, input_tokens, output_tokens, cost_nanos, present, input_preview,
         output_preview, metadata, received_at, origin_partition, origin_generation, origin_sequence, origin_index, sign)
       SELECT '${organization}', reinterpretAsUUID(sipHash128(intDiv(number, 10), 'c')), toString(intDiv(number, 10)),
         reinterpretAsUUID(sipHash128(number, 'e')), reinterpretAsUUID(sipHash128(intDiv(number, 10), 't')), number,
         toDateTime64(now(), 9, 'UTC') - (sipHash64(intDiv(number, 10)) % ${HOME_DAYS * 86_400}) - 3600 - (number % 10),
         1e9, 100, 'otlp', ['agent', 'llm', 'tool'][number % 3 + 1], ['chat', 'search', 'plan'][number % 3 + 1],
         concat('user ', toString(intDiv(number, 1000))), 'a-model', 'a-provider', 1000, 100, 5000, 12,
         concat('question ', toString(number)), concat('answer ', toString(number)), map('channel', 'web'),
         toDateTime64(now(), 3, 'UTC'), number % ${PARTITIONS}, 1, 1 + intDiv(number, ${PARTITIONS}) % ${HOME_POSITIONS},
         intDiv(number, ${PARTITIONS * HOME_POSITIONS}), 1
       FROM numbers(${from}, ${n})`,
      { settings: { max_execution_time: 600 } },
    )
  }
}

/** Merges that run. */
async function merging(store: Store): Promise<number> {
  const [row] = await store.read<{ n: string }>('SELECT count() AS n FROM system.merges')
  return Number(row?.n)
}

interface Seen {
  readonly rows: number
  readonly projected: number
}

/** What is watched comes first. */
const WATCHING = { settings: { os_threads_nice_value_query: 5 } } as const

/** What stands in the store; all of an answer speaks of one moment. */
async function look(store: Store): Promise<Seen> {
  const [row] = await store.read<Record<keyof Seen, string>>(
    `SELECT (SELECT sum(sign) FROM events SETTINGS optimize_use_projections = 0) AS rows,
       (SELECT sum(sign) FROM events SETTINGS preferred_optimize_projection_name = 'metrics_15m') AS projected`,
    WATCHING,
  )
  return { rows: Number(row?.rows), projected: Number(row?.projected) }
}

/** Spans that are not at home. */
async function loose(store: Store): Promise<number> {
  const sql = 'SELECT sum(sign) AS n FROM events WHERE provisional = 1 SETTINGS optimize_use_projections = 0'
  const [row] = await store.read<{ n: string }>(sql, WATCHING)
  return Number(row?.n)
}

/** Seconds and times of each step of moves, so far. */
async function phases(opsPort: number): Promise<Map<string, { readonly n: number; readonly s: number }>> {
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text()
  const found = new Map<string, { n: number; s: number }>()
  for (const [, which, labels = '', value] of text.matchAll(/^parley_move_seconds_(sum|count)\{([^}]*)\} (\S+)/gm)) {
    const step = /step="(\w+)"/.exec(labels)?.[1] ?? '?'
    const one = found.get(step) ?? { n: 0, s: 0 }
    if (which === 'sum') one.s = Number(value)
    else one.n = Number(value)
    found.set(step, one)
  }
  return found
}

async function until(done: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + END_MS
  while (!(await done())) {
    if (performance.now() > deadline) throw new Error('not within the time that a run may take')
    await delay(LOOK_MS)
  }
}
