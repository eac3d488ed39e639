// Senders in small: payloads of every surface go straight into the streams, are sent again under the same message id until they are
// acknowledged, and are entered in a ledger when they are.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { JetStreamClient } from '@nats-io/jetstream'
import { subjectOf } from '#proto/streams.ts'
import type { Random } from '#runtime/seeded.ts'
import { envelopeOf, type Ledger, type Payload, payload } from '#test/kill-points/ledger.ts'
import { call, event, POISON, trace } from '#test/kill-points/load.ts'

const EVENTS_AN_ENVELOPE = 64
const SPANS_A_TRACE = 4
/** Payloads of a partition from which repeats are taken. */
const REMEMBERED = 2_000
const EARLIER_MS = 40 * 86_400_000
const RETRY_MS = 50

/** What the senders have done. */
export interface Fed {
  envelopes: number
  /** Publishes that had no answer or a refusal, and were sent again under their id; and acknowledged ones sent once more. */
  resent: number
  again: number
}

/** What `feed` needs. */
export interface FeedOptions {
  readonly js: JetStreamClient
  readonly ledger: Ledger
  readonly organizations: readonly string[]
  readonly partition: number
  readonly random: Random
  /** True while another envelope should be sent now. */
  readonly wanted: () => boolean
  readonly finished: () => boolean
}

/** Sends until `finished`; returns the last acknowledged position. */
export async function feed(options: FeedOptions, fed: Fed): Promise<number> {
  const { js, ledger, partition, random, wanted, finished } = options
  const remembered: Payload[] = []
  let last = 0
  while (!finished()) {
    if (!wanted()) {
      await delay(5)
      continue
    }
    const now = Date.now()
    const payloads = somePayloads(options, remembered, now)
    const envelope = envelopeOf(payloads, now)
    const msgID = randomUUID()
    for (let tries = 0; ; tries++) {
      try {
        last = Math.max(last, (await js.publish(subjectOf(partition), envelope, { msgID })).seq)
        // Now and then an answer is taken for lost.
        if (tries > 0 || random(50) > 0) break
        fed.again++
      } catch {
        fed.resent++
        await delay(RETRY_MS)
      }
    }
    fed.envelopes++
    for (const one of payloads) {
      if (!ledger.enter(one, now)) continue
      if (one.kind !== 'session') remembered[random(REMEMBERED)] = one
    }
  }
  return last
}

/** A session's worth of everything: its capture, events of two months, a tenth of repeats, now and then a call, a trace, a poison. */
function somePayloads({ organizations, random }: FeedOptions, remembered: readonly Payload[], now: number): Payload[] {
  const organization = organizations[random(organizations.length)] as string
  const session_id = randomUUID()
  const known = remembered.filter(Boolean)
  const payloads = [payload('session', organization, { session_id, user_data: { user_id: `u-${random(1_000)}` } })]
  const before = random(5) === 0 ? EARLIER_MS : 0
  for (let i = 0; i < EVENTS_AN_ENVELOPE; i++) {
    const repeat = random(10) === 0 ? known[random(known.length)] : undefined
    const at = now - before - random(60_000)
    const fields = { primitive_name: `agent-${random(20)}`, success: random(20) > 0, latency: random(5_000) }
    payloads.push(repeat ?? payload('event', organization, event(session_id, at, fields)))
  }
  if (random(8) === 0) payloads.push(payload('voice', organization, call(randomUUID(), now - before)))
  if (random(4) === 0) {
    const body = trace(1 + random(2 ** 30) * 2 ** 20 + random(2 ** 20), SPANS_A_TRACE, now)
    payloads.push({ kind: 'otlp', organization, body })
  }
  if (random(40) === 0) payloads.splice(random(payloads.length), 0, payload('event', organization, POISON))
  return payloads
}
