// A processor that is stopped in the middle of its inserts for longer than its lease, and then goes on where it was: others take its
// partitions over within ten seconds, and what it still sends does no harm. A third one joins, and gets its share as quickly.
import { randomInt, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { jetstream } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import t from 'tap'
import type { Cursor } from '#processors/protocol.ts'
import { cursorKeyOf, LEASE_TTL_MS, subjectOf } from '#proto/streams.ts'
import { applyStreams } from '#streams/apply.ts'
import { connectNats, eventually, freshDatabase, startNats, testLimits } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'
import { describe, differences, envelopeOf, Ledger, type Payload, payload } from './kill-points/ledger.ts'
import { event } from './kill-points/load.ts'
import { startWired, type WiredProcessor } from './kill-points/processor.ts'
import type { Step } from './kill-points/steps.ts'

const PARTITIONS = 6
/** Leases are taken over within ten seconds where a machine is not busy; what is waited for here is that they are. */
const TAKEOVER_MS = 60_000
const EVENTS_AN_ENVELOPE = 5
/** Between the envelopes of a partition. The test lasts as long as leases do, and each envelope is three inserts. */
const PAUSE_MS = scaled({ sample: 2_500, full: 40 })
const NTH_MAX = scaled({ sample: 6, full: 12 })

/** Where the stopped ones stand: before an insert leaves, when the guard of the lease has let it pass; and after it has left. */
const STOPS: readonly Step[] = [
  { phase: 'send', what: 'insert of events', nth: randomInt(2, NTH_MAX) },
  { phase: 'sent', what: 'insert of texts', nth: randomInt(2, NTH_MAX) },
]

t.setTimeout(1_200_000)

t.test('whoever is stopped for longer than a lease harms nobody', { timeout: 1_200_000 }, async t => {
  const [nats, { store, database, url }] = await Promise.all([startNats(t), freshDatabase(t)])
  const nc = await connectNats(t, nats.url)
  const { buckets } = await applyStreams(nc, { ...testLimits, partitions: PARTITIONS })
  const js = jetstream(nc)
  const env = {
    NATS_URL: nats.url,
    CLICKHOUSE_URL: url,
    PARLEY_DATABASE: database,
    PARLEY_INSERT_INTERVAL_MS: '0',
    PARLEY_PARSE_THREADS: '1',
    PARLEY_LOG_LEVEL: 'info',
  }

  const ledger = new Ledger()
  const organization = randomUUID()
  let arriving = true
  const arrive = async (partition: number): Promise<number> => {
    let last = 0
    let earlier: Payload | undefined
    while (arriving) {
      const session_id = randomUUID()
      const now = Date.now()
      const events = Array.from({ length: EVENTS_AN_ENVELOPE }, () =>
        payload('event', organization, event(session_id, now)),
      )
      const captured = payload('session', organization, { session_id, user_data: { user_id: `u-${partition}` } })
      const payloads = [captured, ...events, ...(earlier ? [earlier] : [])]
      last = (await js.publish(subjectOf(partition), envelopeOf(payloads, now), { msgID: randomUUID() })).seq
      for (const one of payloads) ledger.enter(one, now)
      earlier = events[0]
      await delay(PAUSE_MS)
    }
    return last
  }

  const processors = [startWired(t, env), startWired(t, env)]
  const halves = async (): Promise<boolean> => (await shares(buckets.cursors, processors)) === '3,3'
  // Two starts beside everything else that runs: nothing is measured here.
  await eventually('half of the partitions for each', halves, 60_000)
  const arrivals = Array.from({ length: PARTITIONS }, (_, partition) => arrive(partition))

  for (const [i, step] of STOPS.entries()) {
    const victim = processors[i] as WiredProcessor
    const told = victim.steps.length
    await victim.arm({ step, signal: 'SIGSTOP' })
    await eventually(`a stop before ${step.what}`, () => victim.steps.length > told, TAKEOVER_MS)
    const stoppedAt = performance.now()
    const held = await heldBy(buckets.cursors, victim)
    t.comment(`it is stopped in possession of ${held.length} partitions`)
    await eventually('a takeover', async () => (await heldBy(buckets.cursors, victim)).length === 0, TAKEOVER_MS)
    const tookMs = Math.round(performance.now() - stoppedAt)
    t.comment(`everything it held is taken over after ${tookMs} ms`)
    // Its lease is gone for sure, and its heirs may be anywhere in the same blocks.
    await delay(Math.max(0, LEASE_TTL_MS + randomInt(1_000) - tookMs))
    victim.kill('SIGCONT')
    await eventually('its share again', async () => (await shares(buckets.cursors, processors)) === '3,3', TAKEOVER_MS)
  }

  const joinedAt = performance.now()
  processors.push(startWired(t, env))
  await eventually('thirds', async () => (await shares(buckets.cursors, processors)) === '2,2,2', TAKEOVER_MS)
  const spreadMs = Math.round(performance.now() - joinedAt)
  t.comment(`a third one has its share after ${spreadMs} ms`)

  arriving = false
  const last = await Promise.all(arrivals)
  await eventually(
    'every floor',
    async () => {
      const cursors = await cursorsOf(buckets.cursors)
      return cursors.every((cursor, partition) => (cursor?.floor ?? 0) >= (last[partition] as number))
    },
    30_000,
  )
  t.same(describe(await differences(store, ledger)), [], `${ledger.events.size} events exactly once`)
  t.ok(ledger.repeats > 0, `${ledger.repeats} repeats dropped`)
  const lost = processors.map(processor => processor.logs().match(/partition lost to another process/g)?.length ?? 0)
  t.comment(`${lost.join(' and ')} partitions found to be another's on waking up`)
})

async function cursorsOf(kv: KV): Promise<(Cursor | undefined)[]> {
  return Promise.all(
    Array.from({ length: PARTITIONS }, async (_, partition) => (await kv.get(cursorKeyOf(partition)))?.json<Cursor>()),
  )
}

/** Partitions that a processor was the last to take. */
async function heldBy(kv: KV, processor: WiredProcessor): Promise<number[]> {
  const member = String((await processor.ready).about.member)
  return (await cursorsOf(kv)).flatMap((cursor, partition) =>
    cursor?.owner.startsWith(`${member}.`) ? [partition] : [],
  )
}

async function shares(kv: KV, processors: readonly WiredProcessor[]): Promise<string> {
  const held = await Promise.all(processors.map(processor => heldBy(kv, processor)))
  return held.map(partitions => partitions.length).join()
}
