// Traces whose root comes last: their spans stand under stand-ins in the store, then the roots arrive and name the sessions. How long until
// every span is in the conversation of its trace, and is every sum exact meanwhile? With --kills, processors are killed all the while.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { jetstream } from '@nats-io/jetstream'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { subjectOf } from '#proto/streams.ts'
import type { Store } from '#store/client.ts'
import { applyStreams } from '#streams/apply.ts'
import { connectNats, freshDatabase, startClickHouse, startNats, startPart, type Teardown } from '#test/rig.ts'
import { table } from '../stats.ts'

const GiB = 1024 * 1024 * 1024
const PARTITIONS = 2
/** Spans of one export. */
const EXPORT = 500
const LOOK_MS = 1_000
const END_MS = 900_000
const ORGANIZATION = randomUUID()

interface Wanted {
  readonly traces: number
  readonly spans: number
  readonly kills: number
}

/** Runs the case and prints its table. Options: --traces, --spans (of each), --kills (of processors, while roots arrive). */
export async function late(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ args: [...args], options: { traces: text, spans: text, kills: text } })
  const ends: (() => unknown)[] = []
  try {
    const { traces = 20_000, spans = 10, kills = 0 } = values
    const wanted = { traces: Number(traces), spans: Number(spans), kills: Number(kills) }
    await run({ teardown: end => ends.push(end) }, wanted)
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

async function run(t: Teardown, { traces, spans, kills }: Wanted): Promise<void> {
  const [nats, clickhouse] = await Promise.all([startNats(t), startClickHouse(t)])
  const { store, database } = await freshDatabase(t, clickhouse.url)
  const nc = await connectNats(t, nats.url)
  const limits = { partitions: PARTITIONS, streamMaxBytes: 8 * GiB, deadMaxBytes: GiB, replicas: 1 }
  await applyStreams(nc, limits)
  const js = jetstream(nc, { timeout: 10_000 })
  const start = () =>
    startPart(t, 'processors/main.ts', {
      NATS_URL: nats.url,
      CLICKHOUSE_URL: clickhouse.url,
      PARLEY_DATABASE: database,
      PARLEY_LOG_LEVEL: 'error',
    })
  let processor = await start()
  const publish = async (from: number, each: readonly number[]): Promise<void> => {
    const perExport = Math.max(1, Math.floor(EXPORT / each.length))
    for (let first = 0; first < traces; first += perExport) {
      const some = Array.from({ length: Math.min(perExport, traces - first) }, (_, i) => first + i)
      const bytes = exportOf(some.flatMap(trace => each.map(span => spanOf(trace, span))))
      await js.publish(subjectOf((from + first / perExport) % PARTITIONS), bytes)
    }
  }
  const children = Array.from({ length: spans - 1 }, (_, i) => i + 2)
  await publish(0, children)
  await until(async () => (await seen(store)).events === traces * (spans - 1))

  let wrong = 0
  let looks = 0
  const startedAt = performance.now()
  const killing = (async () => {
    for (let i = 0; i < kills; i++) {
      await delay(200 + Math.random() * 800)
      processor.kill('SIGKILL')
      await processor.exited
      processor = await start()
    }
  })()
  // In the other partition than their children.
  await publish(1, [1])
  const arrivedAt = performance.now()
  await until(async () => {
    const now = await seen(store)
    looks++
    if (now.events !== now.distinct || now.events !== now.projected) wrong++
    return now.events === traces * spans && now.loose === 0
  })
  const homeAt = performance.now()
  await killing
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
  console.log(
    table(
      ['', ''],
      [
        ['traces', `${traces} of ${spans} spans, their roots last`],
        ['roots published in', seconds(arrivedAt - startedAt)],
        ['all at home, after the last root', seconds(homeAt - arrivedAt)],
        ['spans moved', `${traces * (spans - 1)}`],
        ['kills', `${kills}`],
        ['sums that were wrong', `${wrong} of ${looks} looks`],
      ],
    ),
  )
}

interface Seen {
  readonly events: number
  readonly distinct: number
  readonly projected: number
  readonly loose: number
}

/** What stands in the store; all of an answer speaks of one moment. */
async function seen(store: Store): Promise<Seen> {
  const [row] = await store.read<Record<keyof Seen, string>>(
    `SELECT sum(s) AS events, uniqExact(id) AS distinct, sum(s) AS projected, sumIf(s, provisional = 1) AS loose
     FROM (SELECT event_id AS id, provisional, sum(sign) AS s FROM events GROUP BY event_id, provisional HAVING s != 0)`,
  )
  const [sums] = await store.read<{ n: string }>('SELECT sum(sign) AS n FROM events')
  const events = Number(row?.events)
  // The projections are asked a moment later: more may have come, less never.
  const projected = Number(sums?.n) >= events ? events : Number(sums?.n)
  return { events, distinct: Number(row?.distinct), projected, loose: Number(row?.loose) }
}

async function until(done: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + END_MS
  while (!(await done())) {
    if (performance.now() > deadline) throw new Error('not within the time that a run may take')
    await delay(LOOK_MS)
  }
}

const hex = (n: number, digits: number): string => n.toString(16).padStart(digits, '0')
const startMs = Date.now() - 600_000

/** Span 1 is the root and names the session. */
function spanOf(trace: number, span: number): object {
  const ms = startMs + (trace % 1_000) + span
  const values = span === 1 ? { 'session.id': `session ${trace}` } : { input: `question ${span}`, output: 'answer' }
  return {
    traceId: hex(trace + 1, 32),
    spanId: hex((trace + 1) * 256 + span, 16),
    ...(span === 1 ? {} : { parentSpanId: hex((trace + 1) * 256 + 1, 16) }),
    name: 'chat model',
    startTimeUnixNano: `${ms}000000`,
    endTimeUnixNano: `${ms + 40}000000`,
    attributes: Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } })),
  }
}

const writer = new EnvelopeWriter(8 * 1024 * 1024)

/** One envelope with one export. */
function exportOf(spans: readonly object[]): Uint8Array {
  writer.reset()
  const bytes = Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }))
  writer.append(FrameKind.otlp, FrameEncoding.json, uuidBytes(ORGANIZATION), Date.now(), null, bytes)
  return writer.finish().slice()
}
