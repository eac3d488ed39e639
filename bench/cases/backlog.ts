// After an outage: a backlog stands in the streams, events go on arriving at the live rate, and a processor starts. How long until an
// event that arrives now can be read, while the backlog is caught up on, and how fast is that? Everything but the receiver is real.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { jetstream } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import type { Cursor } from '#processors/protocol.ts'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { cursorKeyOf, subjectOf } from '#proto/streams.ts'
import type { Store } from '#store/client.ts'
import { startPart, type Teardown } from '#test/rig.ts'
import { startEngines } from '../engines.ts'
import { percentile, table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'

const PARTITIONS = 2
/** Envelopes of one partition a second: what group commit makes of a busy receiver. */
const ENVELOPES_PER_SECOND = 50
const PROBE_MS = 400
const POLL_MS = 200
const END_MS = 900_000

interface Wanted {
  readonly seconds: number
  readonly perSecond: number
}

/** Runs the case and prints its table. Options: --seconds (of backlog), --rate (events a second). */
export async function backlog(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { seconds: { type: 'string' }, rate: { type: 'string' } } })
  await withTeardown(async t => {
    const wanted = { seconds: Number(values.seconds ?? 60), perSecond: Number(values.rate ?? 3_000) }
    await run(t, wanted)
  })
}

async function run(t: Teardown, { seconds, perSecond }: Wanted): Promise<void> {
  const { store, nc, buckets, env } = await startEngines(t, { partitions: PARTITIONS })
  const js = jetstream(nc, { timeout: 10_000 })
  const each = Math.round(perSecond / ENVELOPES_PER_SECOND / PARTITIONS)
  const made = createEnvelopes()
  const publish = async (partition: number, events: number, conversation?: string): Promise<void> => {
    await js.publish(subjectOf(partition), made.envelope(events, conversation))
  }

  const old = seconds * ENVELOPES_PER_SECOND
  for (let i = 0; i < old; i++) {
    await Promise.all(Array.from({ length: PARTITIONS }, (_, partition) => publish(partition, each)))
  }
  const before = made.count()
  console.log(`${before} events wait; a processor starts`)

  let arriving = true
  const arrivals = Array.from({ length: PARTITIONS }, async (_, partition) => {
    const startedAt = performance.now()
    for (let i = 0; arriving; i++) {
      await publish(partition, each)
      const due = startedAt + ((i + 1) * 1_000) / ENVELOPES_PER_SECOND
      await delay(Math.max(0, due - performance.now()))
    }
  })
  await startPart(t, 'processors/main.ts', { ...env, PARLEY_LOG_LEVEL: 'warn' })
  const startedAt = performance.now()
  const probes = new Probes(store)
  const probing = (async () => {
    for (let i = 0; arriving; i++) {
      const conversation = randomUUID()
      await publish(i % PARTITIONS, 1, conversation)
      probes.sent(conversation)
      await delay(PROBE_MS)
    }
    await probes.settled()
  })()
  const caughtUpMs = await caughtUp(buckets.cursors, startedAt)
  const arrived = made.count() - before
  arriving = false
  await Promise.all([...arrivals, probing])
  const perSecondStored = (before + arrived) / (caughtUpMs / 1000)
  const exact = await settledCount(store, made.count())

  const ms = (p: number): number => Math.round(percentile(probes.times, p))
  console.log(
    table(
      ['', ''],
      [
        ['backlog', `${before} events, ${seconds} s at ${perSecond}/s`],
        ['arrived meanwhile', `${arrived} events, ${Math.round(arrived / (caughtUpMs / 1000))}/s`],
        ['caught up after', `${(caughtUpMs / 1000).toFixed(1)} s`],
        ['stored', `${Math.round(perSecondStored)}/s, ${(perSecondStored / perSecond).toFixed(1)} × the live rate`],
        ['new event visible', `p50 ${ms(50)} ms, p95 ${ms(95)} ms, max ${ms(100)} ms of ${probes.times.length} probes`],
        ['rows', `${exact} of ${made.count()} sent`],
      ],
    ),
  )
}

/** Events of conversations of their own: from the stream's answer until the store shows them. One question for all of them. */
class Probes {
  /** Milliseconds of those that were seen. */
  readonly times: number[] = []
  readonly #store: Store
  readonly #waiting = new Map<string, number>()
  #asking: Promise<void> | undefined

  constructor(store: Store) {
    this.#store = store
  }

  sent(conversation: string): void {
    this.#waiting.set(conversation, performance.now())
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
  }

  async settled(): Promise<void> {
    await this.#asking
  }

  async #ask(): Promise<void> {
    while (this.#waiting.size > 0) {
      const rows = await this.#store.read<{ id: string }>(
        `SELECT DISTINCT toString(conversation_id) AS id FROM events
          WHERE organization = {organization:UUID} AND conversation_id IN {ids:Array(UUID)}`,
        { parameters: { organization: ORGANIZATION, ids: [...this.#waiting.keys()] } },
      )
      for (const { id } of rows) {
        this.times.push(performance.now() - (this.#waiting.get(id) ?? Number.NaN))
        this.#waiting.delete(id)
      }
      await delay(POLL_MS)
    }
  }
}

/** Milliseconds since `startedAt` at which no partition had a backlog any more; each must have had one. */
async function caughtUp(cursors: KV, startedAt: number): Promise<number> {
  const had = new Set<number>()
  for (;;) {
    let open = 0
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const lanes = (await cursors.get(cursorKeyOf(partition)))?.json<Cursor>().lanes ?? []
      if (!lanes.some(lane => lane.kind === 'backlog')) continue
      had.add(partition)
      open++
    }
    if (had.size === PARTITIONS && open === 0) return performance.now() - startedAt
    if (performance.now() - startedAt > END_MS) throw new Error(`not caught up; ${had.size} partitions had a backlog`)
    await delay(100)
  }
}

async function settledCount(store: Store, expected: number): Promise<number> {
  const deadline = performance.now() + 60_000
  for (;;) {
    const rows = await store.read<{ n: string }>('SELECT sum(sign) AS n FROM events')
    const n = Number(rows[0]?.n)
    if (n === expected || performance.now() > deadline) return n
    await delay(200)
  }
}

const ORGANIZATION = randomUUID()

/** Makes envelopes of new events of some 700 bytes each, in one buffer: the ids are written into a template. */
function createEnvelopes(): { envelope(events: number, conversation?: string): Uint8Array; count(): number } {
  const writer = new EnvelopeWriter(4 * 1024 * 1024)
  const sessions = Array.from({ length: 500 }, () => randomUUID())
  const id = '0'.repeat(36)
  const event = {
    event_id: id,
    session_id: id,
    primitive_name: 'bench-agent',
    args: 'what is the state of my order? '.repeat(8),
    result: 'it is on its way. '.repeat(12),
    latency: 120,
  }
  const template = Buffer.from(JSON.stringify(event))
  const idAt = template.indexOf(id)
  const sessionAt = template.indexOf(id, idAt + 36)
  let count = 0
  return {
    envelope: (events, conversation) => {
      writer.reset()
      for (let i = 0; i < events; i++) {
        template.write(randomUUID(), idAt)
        template.write(conversation ?? (sessions[count % sessions.length] as string), sessionAt)
        writer.append(FrameKind.event, FrameEncoding.json, uuidBytes(ORGANIZATION), Date.now(), null, template)
        count++
      }
      return writer.finish().slice()
    },
    count: () => count,
  }
}
