// What the publisher's tests stand on: a wire, a clock and the ends of turns in the test's hands.
import { randomBytes } from 'node:crypto'
import { createBudget } from '#ingest/budget.ts'
import type { PublishOutcome } from '#ingest/payload.ts'
import { createPublisher } from '#ingest/publish.ts'
import type { Wire, WireAnswer, WireMessage } from '#ingest/wire.ts'
import { FrameEncoding, FrameKind, readEnvelope } from '#proto/envelope.ts'
import { createLog } from '#runtime/log.ts'

interface Sent {
  readonly number: number
  readonly messageId: string
  readonly subject: string
  readonly sessions: string
  /** Payloads as text. */
  readonly payloads: string[]
}

/** A wire whose answers the test gives. */
function scriptedWire() {
  const sent: Sent[] = []
  let answered: (number: number, answer: WireAnswer) => void = () => {}
  let wentDown: () => void = () => {}
  let cameUp: () => void = () => {}
  const state = { up: true, maxPayloadBytes: 1024 * 1024 }
  const wire: Wire = {
    maxPayloadBytes: () => state.maxPayloadBytes,
    isUp: () => state.up,
    send: (number: number, message: WireMessage) => {
      const payloads = readEnvelope(message.bytes).map(frame => Buffer.from(frame.bytes).toString())
      sent.push({
        number,
        messageId: message.messageId,
        subject: message.subject,
        sessions: message.sessions,
        payloads,
      })
    },
    onAnswer: listener => {
      answered = listener
    },
    onDown: listener => {
      wentDown = listener
    },
    onUp: listener => {
      cameUp = listener
    },
    close: () => {},
  }
  const store = (message: Sent | undefined, duplicate = false): void => {
    answered(message?.number ?? -1, { kind: 'stored', sequence: 7, duplicate })
  }
  const refuse = (message: Sent | undefined, status: number, code: number): void => {
    answered(message?.number ?? -1, { kind: 'refused', status, code, description: 'no' })
  }
  const goDown = (): void => {
    state.up = false
    wentDown()
  }
  const comeUp = (): void => {
    state.up = true
    cameUp()
  }
  return { wire, sent, state, store, refuse, goDown, comeUp }
}

/** Whose payloads they are. */
export const organization = { id: '', bytes: randomBytes(16) }
const identity = randomBytes(16)

interface SetUp {
  partitions?: number
  envelopeBytes?: number
  budgetBytes?: number
  maxPending?: number
  maxHeldBytes?: number
  /** Runs at once unless given. */
  afterTurn?: (task: () => void) => void
}

/** A publisher over a wire whose answers the test gives, with a clock that stands still until the test moves it. */
export function setUp(t: { teardown(undo: () => unknown): unknown }, options: SetUp = {}) {
  const script = scriptedWire()
  const budget = createBudget(options.budgetBytes ?? 10_000_000)
  const clock = { ms: 0 }
  const counts = { acked: 0, resent: 0, failed: 0 }
  const afterTurn = options.afterTurn ?? (task => task())
  const publisher = createPublisher({
    wire: script.wire,
    budget,
    partitions: options.partitions ?? 1,
    envelopeBytes: options.envelopeBytes ?? 100_000,
    holdMs: 8_000,
    maxPending: options.maxPending ?? 10_000,
    maxHeldBytes: options.maxHeldBytes ?? 1_000_000,
    log: createLog({ part: 'test', level: 'silent' }),
    meter: { acked: () => counts.acked++, resent: () => counts.resent++, failed: () => counts.failed++ },
    now: () => clock.ms,
    afterTurn,
  })
  t.teardown(() => publisher.close(0))
  const outcomes = new Map<string, PublishOutcome & { frame: number }>()
  const offer = (text: string, creates: Uint8Array | null = null, identified: Uint8Array = identity, retries = false) =>
    publisher.offer(
      {
        organization,
        accepted: {
          ok: true,
          kind: FrameKind.event,
          content: 'json',
          identity: identified,
          requires: null,
          creates,
          mintedId: null,
          answer: '',
          echoAt: 0,
        },
        encoding: FrameEncoding.json,
        receivedAtMs: 1,
        retries,
        bytes: Buffer.from(text),
      },
      { settled: (outcome, frame) => outcomes.set(text, { ...outcome, frame }) },
    )
  const offerRetrying = (text: string) => offer(text, null, identity, true)
  return { ...script, budget, clock, counts, publisher, outcomes, offer, offerRetrying }
}
