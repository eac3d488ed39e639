// Traces of 2 to 60 spans that arrive in pieces over two partitions: the root last in a third and never in a hundredth, the session on
// any of the spans. Until every span is where it belongs every sum is held against a recount; with --kills, while processors die.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { jetstream } from '@nats-io/jetstream'
import { conversationIdOf } from '#proto/ids.ts'
import { subjectOf } from '#proto/streams.ts'
import { createStore, type Store } from '#store/client.ts'
import { applyStreams } from '#streams/apply.ts'
import { connectNats, freshDatabase, startClickHouse, startNats, startPart, type Teardown } from '#test/rig.ts'
import { recount, type Wrong } from '../late/recount.ts'
import { exportOf, type SpanFields, sessionOf, spanOf } from '../late/spans.ts'
import { table } from '../stats.ts'

const GiB = 1024 * 1024 * 1024
const PARTITIONS = 2
const PROCESSORS = 2
const SPANS = { from: 2, to: 60 }
/** Spans of one export. */
const EXPORT = 500
const LOOK_MS = 1_000
const END_MS = 1_800_000
const ORGANIZATION = randomUUID()

interface Wanted {
  readonly traces: number
  readonly kills: number
  readonly seed: number
}

/** One span, and when it comes. */
interface Piece {
  readonly at: number
  readonly trace: number
  readonly span: number
  readonly fields: SpanFields
}

/** What is sent, and what must stand in the end. */
interface Plan {
  readonly pieces: readonly Piece[]
  /** Spans by conversation. */
  readonly homes: ReadonlyMap<string, number>
  /** Users by conversation. */
  readonly users: ReadonlyMap<string, string>
}

/** Runs the case and prints its table. Options: --traces, --kills (of processors, while spans arrive and move), --seed. */
export async function late(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ args: [...args], options: { traces: text, kills: text, seed: text } })
  const { traces = 100_000, kills = 0, seed = 1 } = values
  const ends: (() => unknown)[] = []
  try {
    await run({ teardown: end => ends.push(end) }, { traces: Number(traces), kills: Number(kills), seed: Number(seed) })
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

async function run(t: Teardown, wanted: Wanted): Promise<void> {
  const plan = planOf(wanted.traces, wanted.seed)
  const [nats, clickhouse] = await Promise.all([startNats(t), startClickHouse(t)])
  const { database } = await freshDatabase(t, clickhouse.url)
  const store = createStore({ url: clickhouse.url, database, application: 'bench', requestTimeoutMs: 600_000 })
  t.teardown(() => store.close())
  const nc = await connectNats(t, nats.url)
  await applyStreams(nc, { partitions: PARTITIONS, streamMaxBytes: 8 * GiB, deadMaxBytes: GiB, replicas: 1 })
  const js = jetstream(nc, { timeout: 10_000 })
  const start = () =>
    startPart(t, 'processors/main.ts', {
      NATS_URL: nats.url,
      CLICKHOUSE_URL: clickhouse.url,
      PARLEY_DATABASE: database,
      PARLEY_LOG_LEVEL: 'error',
    })
  const processors = await Promise.all(Array.from({ length: PROCESSORS }, start))
  const killing = (async () => {
    for (let i = 0; i < wanted.kills; i++) {
      await delay(200 + Math.random() * 1_300)
      const at = i % PROCESSORS
      const victim = processors[at] as Awaited<ReturnType<typeof start>>
      victim.kill('SIGKILL')
      await victim.exited
      processors[at] = await start()
    }
  })()
  const startedAt = performance.now()
  let publishedAt = 0
  const publishing = (async () => {
    for (let from = 0, n = 0; from < plan.pieces.length; from += EXPORT, n++) {
      const spans = plan.pieces.slice(from, from + EXPORT).map(({ trace, span, fields }) => spanOf(trace, span, fields))
      await js.publish(subjectOf(n % PARTITIONS), exportOf(ORGANIZATION, spans))
    }
    publishedAt = performance.now()
  })()
  // Why a run ends is told by what is awaited first.
  for (const beside of [killing, publishing]) beside.catch(() => {})

  const seen = { looks: 0, storedAt: 0, homeAt: 0, wrong: [] as Wrong[] }
  while (seen.homeAt === 0) {
    if (performance.now() - startedAt > END_MS) throw new Error('not within the time that a run may take')
    await delay(LOOK_MS)
    const now = await recount(store)
    if (!now) continue
    seen.looks++
    seen.wrong.push(...now.wrong)
    if (now.rows > plan.pieces.length)
      seen.wrong.push({ what: 'rows that nobody sent', is: now.rows, counted: plan.pieces.length })
    if (now.rows < plan.pieces.length) continue
    seen.storedAt ||= performance.now()
    if (await isHome(store, plan)) seen.homeAt = performance.now()
  }
  await Promise.all([publishing, killing])
  const [moved] = await store.read<{ n: string }>('SELECT countIf(sign = -1) AS n FROM corrections')
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
  console.log(
    table(
      ['', ''],
      [
        ['traces; spans', `${wanted.traces} of ${SPANS.from} to ${SPANS.to}; ${plan.pieces.length}`],
        ['published in', seconds(publishedAt - startedAt)],
        ['all stored, after the last was published', seconds(seen.storedAt - publishedAt)],
        ['all at home, after all were seen stored', seconds(seen.homeAt - seen.storedAt)],
        ['moves of a span', `${moved?.n}`],
        ['kills of processors', `${wanted.kills}`],
        ['looks while no row changed meanwhile', `${seen.looks}`],
        ['of these with a sum that was wrong', `${seen.wrong.length}`],
      ],
    ),
  )
  for (const { what, is, counted } of seen.wrong.slice(0, 20))
    console.log(`NOT EXACT: ${what}: ${is}, recounted ${counted}`)
  if (seen.wrong.length > 0) process.exitCode = 1
}

/** True when each conversation has its spans, each span is there once, and each home knows the user that was named anywhere. */
async function isHome(store: Store, { homes, users }: Plan): Promise<boolean> {
  const rows = await store.read<{ id: string; n: string }>(
    'SELECT conversation_id AS id, sum(sign) AS n FROM events GROUP BY conversation_id HAVING n != 0',
  )
  if (rows.length !== homes.size || rows.some(({ id, n }) => homes.get(id) !== Number(n))) return false
  const captured = await store.read<{ id: string; user: string }>(
    "SELECT DISTINCT conversation_id AS id, user_id AS user FROM sessions WHERE user_id != ''",
  )
  const known = new Set(captured.map(({ id, user }) => `${id} ${user}`))
  return [...users].every(([id, user]) => known.has(`${id} ${user}`))
}

function planOf(traces: number, seed: number): Plan {
  const random = randomOf(seed)
  const pieces: Piece[] = []
  const homes = new Map<string, number>()
  const users = new Map<string, string>()
  for (let trace = 0; trace < traces; trace++) {
    const spans = SPANS.from + Math.floor(random() * (SPANS.to - SPANS.from + 1))
    const kind = random()
    const without = kind < 0.01 ? 1 : 0
    const last = kind < 0.01 + 1 / 3
    const named = 1 + Math.floor(random() * spans)
    const user = random() < 0.5 ? 1 + Math.floor(random() * spans) : 0
    const begins = random() * traces
    // Pieces of one trace come among those of many others.
    const width = traces / 20
    for (let span = 1 + without; span <= spans; span++) {
      const at = begins + (span === 1 && last ? width : random() * width)
      const fields = {
        ...(span === named ? { session: sessionOf(trace) } : {}),
        ...(span === user ? { user: `user ${trace % 1_000}` } : {}),
      }
      pieces.push({ at, trace, span, fields })
    }
    const revealed = named > without
    const home = conversationIdOf(ORGANIZATION, revealed ? sessionOf(trace) : traceOf(trace))
    homes.set(home, spans - without)
    if (user > without) users.set(home, `user ${trace % 1_000}`)
  }
  return { pieces: pieces.sort((a, b) => a.at - b.at), homes, users }
}

const traceOf = (trace: number): string => (trace + 1).toString(16).padStart(32, '0')

/** The same numbers for the same seed. */
function randomOf(seed: number): () => number {
  let a = seed
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let h = Math.imul(a ^ (a >>> 15), 1 | a)
    h = (h + Math.imul(h ^ (h >>> 7), 61 | h)) ^ h
    return ((h ^ (h >>> 14)) >>> 0) / 4294967296
  }
}
