// Mutated SDK bodies: the scanner against JSON.parse and the schemas. Same decision, same field and sentence, same ids.
import { isUuid } from '#proto/ids.ts'
import { captureEventProblem, eventShapeOf } from '#proto/sdk/capture-event.ts'
import { captureSessionProblem } from '#proto/sdk/capture-session.ts'
import { type IdPolicy, JSON_MAX_DEPTH, type Problem } from '#proto/sdk/fields.ts'
import { SdkScanner } from '../sdk.ts'
import { EVENT_FIELDS, SESSION_FIELDS } from '../sdk-fields.ts'
import { openBrackets, parsed } from './json.ts'
import { mutate } from './mutate.ts'
import type { Random } from './random.ts'

const ID = '0b0f2b1e-7a66-4d7e-9d3a-6a3f6f1e2b11'
const OTHER = 'F47AC10B-58CC-4372-A567-0E02B2C3D479'
const event = (fields: object): object => ({ event_id: ID, session_id: OTHER, primitive_name: 'support', ...fields })

const EVENTS = [
  event({}),
  event({
    args: 'where is my order?',
    result: 'on its way',
    metadata: { channel: 'web' },
    timestamp: 1_700_000_000_000,
  }),
  event({ timestamp: 1_700_000_000 }),
  event({ timestamp: -170_000_000 }),
  event({ timestamp: 999_999_999 }),
  event({
    event_id: undefined,
    primitive_type: 'tool',
    success: true,
    latency: 0,
    args: '{"q":"a\\b"}',
    result: '',
    parent_id: '',
  }),
  event({
    event_id: null,
    primitive_type: 'resource',
    success: false,
    latency: 12.345,
    parent_id: ID,
    checkpoints: null,
  }),
  event({
    checkpoints: [
      { name: 'a', timestamp: 1 },
      { name: 'b', timestamp: 2.5, metadata: { k: [1] } },
    ],
  }),
  event({ session_id: `conv_${ID}`, event_id: 'é😀', primitive_type: '', success: null, latency: null }),
  event({
    metadata: { headers: { a: 'b' }, list: [1, [2, { x: null }]] },
    org_id: 'x',
    unknown: { deep: [[[]]] },
    latency: 3,
  }),
].map(body => Buffer.from(JSON.stringify(body)))
const SESSIONS = [
  { session_id: ID, user_data: { user_id: 'u1', plan: 'pro' } },
  {
    session_id: OTHER,
    client_config: '',
    user_data: { userId: 'x' },
    tools: ['search', 'buy'],
    ip: '',
    connection_type: 'stdio',
  },
  { user_data: { user_id: '' }, session_id: 'oauth:7', metadata: { a: 'b' }, timestamp: 1_700_000_000_000 },
  { session_id: ID, client_config: 'x', user_data: null, tools: null, metadata: null },
].map(body => Buffer.from(JSON.stringify(body)))
const EVENT_KEYS = [...EVENT_FIELDS.map(field => field.name), 'a', '', '__proto__', 'name', 'user_id']
const SESSION_KEYS = [...SESSION_FIELDS.map(field => field.name), 'user_id', 'user_id', 'a', '__proto__']

/** What a run has met. */
export interface SdkTally {
  bodies: number
  taken: number
  refused: number
}

/** Judges `count` mutated bodies both ways. @throws Error with the body at the first difference. */
export function fuzzSdk(random: Random, count: number): SdkTally {
  const scanners = { strict: new SdkScanner('strict'), map: new SdkScanner('map') }
  const tally: SdkTally = { bodies: count, taken: 0, refused: 0 }
  for (let i = 0; i < count; i++) {
    const ids = random.below(2) === 0 ? 'strict' : 'map'
    const isEvent = random.below(3) > 0
    const body = mutate(random.pick(isEvent ? EVENTS : SESSIONS), isEvent ? EVENT_KEYS : SESSION_KEYS, random)
    const difference = isEvent ? compareEvent(body, scanners[ids], ids) : compareSession(body, scanners[ids], ids)
    if (difference === 'taken') tally.taken++
    else if (difference === 'refused') tally.refused++
    else throw new Error(`${difference}\n${ids} ${isEvent ? 'event' : 'session'}: ${body.toString('latin1')}`)
  }
  return tally
}

function compareEvent(body: Buffer, scanner: SdkScanner, ids: IdPolicy): string {
  const taken = scanner.scanEvent(body)
  const value = parsed(body)
  if (value === undefined) return comparedFault(taken, scanner, body)
  if (isTooDeep(taken, scanner)) return comparedDepth(body, scanner.refusal().detail)
  const shape = eventShapeOf(value)
  const problem = captureEventProblem(value, shape, ids)
  if (problem !== null) return comparedProblem(taken, scanner, problem)
  if (!taken) return `refused: ${scanner.refusal().detail}`
  const event = value as { session_id: string; event_id?: string | null }
  if (scanner.shape !== shape) return `shape ${scanner.shape}, not ${shape}`
  if (scanner.mintsEventId === Boolean(event.event_id)) return `mints ${scanner.mintsEventId}`
  if (!scanner.mintsEventId && !isSameId(scanner, scanner.eventId, event.event_id as string)) return 'another event id'
  return isSameId(scanner, scanner.sessionId, event.session_id) ? 'taken' : 'another session id'
}

function compareSession(body: Buffer, scanner: SdkScanner, ids: IdPolicy): string {
  const taken = scanner.scanSession(body)
  const value = parsed(body)
  if (value === undefined) return comparedFault(taken, scanner, body)
  if (isTooDeep(taken, scanner)) return comparedDepth(body, scanner.refusal().detail)
  const problem = captureSessionProblem(value, ids)
  if (problem !== null) return comparedProblem(taken, scanner, problem)
  if (!taken) return `refused: ${scanner.refusal().detail}`
  return isSameId(scanner, scanner.sessionId, (value as { session_id: string }).session_id)
    ? 'taken'
    : 'another session id'
}

/** No JSON: both say so, unless depth was met first. */
function comparedFault(taken: boolean, scanner: SdkScanner, body: Buffer): string {
  if (taken) return 'taken, but no JSON'
  const { code, detail } = scanner.refusal()
  if (isTooDeep(taken, scanner)) return comparedDepth(body, detail)
  return code === 'REQ_JSON_INVALID' ? 'refused' : `refused with ${code}: ${detail}`
}

function isTooDeep(taken: boolean, scanner: SdkScanner): boolean {
  return !taken && scanner.refusal().detail.startsWith('nested')
}

function comparedDepth(body: Buffer, detail: string): string {
  const at = Number(/at byte (\d+)$/.exec(detail)?.[1])
  return openBrackets(body.subarray(0, at)) === JSON_MAX_DEPTH ? 'refused' : 'refused for a depth that is not there'
}

function comparedProblem(taken: boolean, scanner: SdkScanner, problem: Problem): string {
  if (taken) return `taken, but ${problem.sentence}`
  const { code, field, detail } = scanner.refusal()
  if (code !== 'REQ_BODY_INVALID' || field !== problem.field)
    return `refused with ${code} of ${field}, not of ${problem.field}`
  const said = /^(.*), at byte \d+$/.exec(detail)?.[1]
  return said === problem.sentence ? 'refused' : `refused with "${detail}", not "${problem.sentence}"`
}

function isSameId(scanner: SdkScanner, id: SdkScanner['sessionId'], text: string): boolean {
  if (scanner.textOf(id) !== text || id.isUuid !== isUuid(text)) return false
  return !id.isUuid || Buffer.from(id.bytes).toString('hex') === text.replaceAll('-', '').toLowerCase()
}
