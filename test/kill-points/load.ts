// A small load that touches everything: each of the three tables, two months of events, every surface, a repeat and a payload that
// is no use to anybody. Whose it is decides nothing else, so that loads of different organizations never meet.
import { randomUUID } from 'node:crypto'
import { jsonBytes, request, span } from '#proto/otlp/fixture.ts'
import { type Payload, payload } from './ledger.ts'

const DAY_MS = 86_400_000
/** Surely in another month, surely not clamped. */
const EARLIER_MS = 40 * DAY_MS
const PER_MONTH = 3

/** An event of the SDK surface. */
export function event(session_id: string, at: number, fields: Record<string, unknown> = {}) {
  const body = { event_id: randomUUID(), session_id, primitive_name: 'agent', latency: 120, timestamp: at }
  return { ...body, args: `question at ${at}`, result: `answer at ${at}`, ...fields }
}

/** A finished phone call: a session and one event for each exchange, at `at`. */
export function call(id: string, at: number) {
  const messages = [
    { role: 'bot', message: 'Hello!', time: at + 1_000, endTime: at + 2_000 },
    { role: 'user', message: 'A table for two.', time: at + 3_000, endTime: at + 4_500 },
    { role: 'bot', message: 'Booked.', time: at + 5_250, endTime: at + 7_000 },
  ]
  const customer = { number: '+15550001', name: 'Eve' }
  return {
    message: {
      type: 'end-of-call-report',
      timestamp: at + 60_000,
      startedAt: new Date(at).toISOString(),
      endedAt: new Date(at + 60_000).toISOString(),
      endedReason: 'customer-ended-call',
      call: { id, type: 'inboundPhoneCall', customer, assistant: { id: 'a-1', name: 'Ada' } },
      artifact: { messages },
    },
  }
}

/** An export request of a conversation's model calls; `trace` and the spans' numbers make their ids. */
export function trace(trace: number, spans: number, at: number): Buffer {
  const start = BigInt(at) * 1_000_000n
  const values = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'model-1',
    'gen_ai.conversation.id': `conversation-${trace}`,
    'gen_ai.usage.input_tokens': 12,
    'gen_ai.usage.output_tokens': 34,
  }
  const times = (i: number) => ({
    name: 'chat model-1',
    startTimeUnixNano: String(start + BigInt(i) * 1_000_000n),
    endTimeUnixNano: String(start + BigInt(i + 5) * 1_000_000n),
  })
  return Buffer.from(jsonBytes(request(Array.from({ length: spans }, (_, i) => span(trace, i + 1, times(i), values)))))
}

/** A body that ends in the middle of a string. */
export const POISON = '{"event_id":"0190'

/** The payloads of one kill, in the order of one envelope. */
export function smallLoad(organization: string, nowMs: number): Payload[] {
  const [one, other] = [randomUUID(), randomUUID()]
  const sdk = (body: object | string) => payload('event', organization, body)
  const recent = Array.from({ length: PER_MONTH }, (_, i) => sdk(event(one, nowMs - i * 1_000)))
  const earlier = Array.from({ length: PER_MONTH }, (_, i) => sdk(event(other, nowMs - EARLIER_MS - i * 1_000)))
  return [
    payload('session', organization, { session_id: one, user_data: { user_id: 'u-1', plan: 'free' } }),
    payload('session', organization, { session_id: other, user_data: { user_id: 'u-2' } }),
    ...recent,
    sdk(POISON),
    ...earlier,
    recent[0] as Payload,
    payload('voice', organization, call(randomUUID(), nowMs)),
    { kind: 'otlp', organization, body: trace(1, 2, nowMs) },
  ]
}
