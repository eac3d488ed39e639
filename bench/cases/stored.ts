// From the stream to the store: envelopes of spans, published here, through one processor into ClickHouse. A fixed number of them, after
// others that warm everything, so that what a span costs each thread of the processor does not depend on how fast the machine is
// just now, nor on what else runs on it. One partition; the load keeps at most so many spans before the processor.
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { jetstream } from '@nats-io/jetstream'
import type { Cursor } from '#processors/protocol.ts'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { cursorKeyOf, subjectOf } from '#proto/streams.ts'
import { startPart, type Teardown } from '#test/rig.ts'
import { threadSeconds } from '../engine-work.ts'
import { startEngines } from '../engines.ts'
import { cpuSeconds, residentBytes } from '../process.ts'
import { numberSpans, spanTemplate } from '../span-template.ts'
import { table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'

const SPANS = 100
/** Requests of one envelope: what group commit makes of eight busy senders. */
const REQUESTS = 3
/** Spans before the processor: below what makes a backlog of them. */
const AHEAD = 50_000
const POLL_MS = 20
const END_MS = 900_000
const ORGANIZATION = '11111111-1111-4111-8111-111111111111'

/** Runs the case and prints its table. Options: --spans (400000), --warm (200000). */
export async function stored(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ args: [...args], options: { spans: text, warm: text } })
  await withTeardown(async t => {
    const wanted = { spans: Number(values.spans ?? 400_000), warm: Number(values.warm ?? 200_000) }
    await run(t, wanted)
  })
}

interface Wanted {
  readonly spans: number
  readonly warm: number
}

async function run(t: Teardown, { spans, warm }: Wanted): Promise<void> {
  const { nats, clickhouse, store, nc, buckets, env } = await startEngines(t, { partitions: 1 })
  const processor = await startPart(t, 'processors/main.ts', { ...env, PARLEY_LOG_LEVEL: 'warn' })
  const js = jetstream(nc, { timeout: 30_000 })
  const floor = async (): Promise<number> => {
    const cursor = (await buckets.cursors.get(cursorKeyOf(0)))?.json<Cursor>()
    return cursor?.floor ?? 0
  }
  const make = envelopes()
  let published = 0
  const feed = async (count: number): Promise<void> => {
    const until = published + count
    const deadline = performance.now() + END_MS
    let passed = await floor()
    while (passed * SPANS * REQUESTS < until) {
      if (performance.now() > deadline) throw new Error(`${published} spans published, stored up to position ${passed}`)
      while (published < until && published - passed * SPANS * REQUESTS < AHEAD) {
        await js.publish(subjectOf(0), make())
        published += SPANS * REQUESTS
      }
      await delay(POLL_MS)
      passed = await floor()
    }
  }
  await feed(warm)
  const pids = { processor: processor.pid, NATS: nats.pid(), ClickHouse: clickhouse.pid() }
  const before = await usage(pids)
  const threadsBefore = await threadSeconds(processor.pid)
  const from = published
  await feed(spans)
  const after = await usage(pids)
  const threadsAfter = await threadSeconds(processor.pid)
  const done = published - from
  const each = (s: number): string => ((s * 1e6) / done).toFixed(1)
  const threads = [...threadsAfter]
    .map(([name, s]) => [name, s - (threadsBefore.get(name) ?? 0)] as const)
    .filter(([, s]) => s > 0)
    .sort((a, b) => b[1] - a[1])
  const [row] = await store.read<{ n: string }>('SELECT sum(sign) AS n FROM events')
  console.log(
    table(
      ['', 'us of CPU a span'],
      [
        ...Object.keys(pids).map(name => [name, each((after[name] ?? 0) - (before[name] ?? 0))]),
        ...threads.map(([name, s]) => [`processor, ${name}`, each(s)]),
        ['resident, MiB', String(Math.round((await residentBytes(processor.pid)) / 1024 / 1024))],
        ['spans; rows', `${published}; ${row?.n}`],
      ],
    ),
  )
  await processor.stop()
}

async function usage(pids: Readonly<Record<string, number>>): Promise<Record<string, number>> {
  return Object.fromEntries(
    await Promise.all(Object.entries(pids).map(async ([name, pid]) => [name, await cpuSeconds(pid)])),
  )
}

/** Envelopes of requests that all differ. */
function envelopes(): () => Uint8Array {
  const template = spanTemplate(SPANS)
  const writer = new EnvelopeWriter(8 * 1024 * 1024)
  const organization = uuidBytes(ORGANIZATION)
  let number = 0
  return () => {
    writer.reset()
    for (let i = 0; i < REQUESTS; i++) {
      numberSpans(template, ++number)
      writer.append(FrameKind.otlp, FrameEncoding.protobuf, organization, Date.now(), null, template.body)
    }
    return writer.finish().slice()
  }
}
