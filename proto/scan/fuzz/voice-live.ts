// Mutated voice messages: the scanner against JSON.parse and `liveKindOf`. Where it names a kind, they name the same.
import { JSON_MAX_DEPTH, withinDepth } from '#proto/sdk/fields.ts'
import { liveKindOf, liveKinds } from '#proto/voice/kinds.ts'
import { VoiceLiveScanner } from '../voice-live.ts'
import { parsed } from './json.ts'
import { mutate } from './mutate.ts'
import type { Random } from './random.ts'

const CALL = { id: 'call-1', customer: { number: '+4912345' } }
const CONVERSATION = [
  { role: 'system', content: 'You are "Ada" of \u00e9toile.\n' },
  { role: 'user', content: 'Where is my order?' },
]
const BODIES = [
  { message: { type: 'conversation-update', timestamp: 1_789_999_990_000, call: CALL, conversation: CONVERSATION } },
  { message: { call: CALL, status: 'started', role: 'user', type: 'speech-update' }, extra: [1, {}] },
  { message: { type: 'transcript[transcriptType="final"]', transcriptType: 'final', transcript: 'hello' } },
  { message: { type: 'hang', timestamp: '1789999990000.5', call: null } },
  { message: { type: 'assistant-request', timestamp: 1.7e12 } },
  { message: { type: 'user-interrupted', turnId: null, timestamp: null } },
  { message: { type: 'status-update', status: 'ended', artifact: { messages: CONVERSATION } } },
  { message: { type: 'end-of-call-report', call: CALL, artifact: { transcript: 'User: hi' } } },
  { message: { type: 'Status-Update', status: 'ended' } },
].map(value => Buffer.from(JSON.stringify(value)))
const KEYS = ['message', 'type', 'timestamp', 'status', 'role', 'conversation', 'transcriptType', 'call', 'turnId', 'a']
const TYPES = liveKinds.map(kind => Buffer.from(`"type":"${kind}"`))

/** What a run has met. */
export interface VoiceTally {
  bodies: number
  /** Named by the scanner. */
  live: number
  /** Live, but left to JSON.parse. */
  unusual: number
  others: number
}

/** Judges `count` mutated bodies both ways. @throws Error with the body at the first difference. */
export function fuzzVoiceLive(random: Random, count: number): VoiceTally {
  const scanner = new VoiceLiveScanner()
  const tally: VoiceTally = { bodies: count, live: 0, unusual: 0, others: 0 }
  for (let i = 0; i < count; i++) {
    const seed = random.below(4) === 0 ? withType(random.pick(BODIES), random.pick(TYPES)) : random.pick(BODIES)
    const body = mutate(seed, KEYS, random)
    const value = parsed(body)
    const kind = value !== undefined && withinDepth(value, JSON_MAX_DEPTH) ? liveKindOf(value) : null
    const scanned = scanner.kindOf(body)
    if (scanned !== null && scanned !== kind) throw new Error(`${scanned}, not ${kind}\n${body.toString('latin1')}`)
    if (scanned !== null) tally.live++
    else if (kind !== null) tally.unusual++
    else tally.others++
  }
  return tally
}

function withType(body: Buffer, type: Buffer): Buffer {
  const at = body.indexOf('{', 1) + 1
  return Buffer.concat([body.subarray(0, at), type, Buffer.from(','), body.subarray(at)])
}
