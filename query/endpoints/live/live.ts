// GET /dashboard/api/live: new events as they are stored, as server-sent events.
//   {"type":"start"}                 where the stream begins; its id is the place to go on from
//   {"type":"event","event":{…}}     an event without its texts, with their beginnings
//   {"type":"skipped"}               more was stored at once than is shown: raw-logs has it
//   {"type":"gap"}                   `after` is too long ago: raw-logs has what lies between
// An id stands in the last frame of a step, so who goes on from it misses nothing and may see events of one step twice.
import type { LiveRequest } from '#proto/dashboard/live.ts'
import { LIVE_EVENTS_MAX, PLACE, LiveRequest as Request } from '#proto/dashboard/live.ts'
import { ParleyError } from '#proto/errors.ts'
import { NIL_UUID } from '#proto/ids.ts'
import type { StoredRange } from '#streams/blocks.ts'
import { eventHead, previewOf } from '../../answers.ts'
import { withConversation } from '../../asked-conversation.ts'
import type { Call } from '../../endpoint.ts'
import { Chunks, endpoint } from '../../endpoint.ts'
import type { Conditions } from '../../filters.ts'
import { allOf, andAll, eventConditions, NOTHING } from '../../filters.ts'
import type { Parameters } from '../../reader.ts'
import type { EventRecord } from '../../reads/events.ts'
import { EVENT_COLUMNS } from '../../reads/events.ts'
import { readLenders } from '../../reads/lenders.ts'
import { readUsersOf } from '../../reads/sessions.ts'
import { OURS } from '../../reads/sql.ts'
import { frame, framed, heartbeat } from '../../sse.ts'
import { successCondition } from '../raw-logs/filters.ts'

/** Silence that proxies put up with. */
const HEARTBEAT_MS = 15_000
/** Ranges that one query looks into. */
const RANGES_MAX = 100

/** The endpoint; a client hears something every `heartbeatMs`, whatever others store meanwhile. */
export const liveEvery = (heartbeatMs: number) =>
  endpoint({
    method: 'GET',
    path: '/dashboard/api/live',
    auth: 'any',
    about:
      'New events as they are stored, as server-sent events; goes on after an id, `after` or the header Last-Event-ID.',
    request: Request,
    response: Chunks,
    produces: 'text/event-stream',
    work: async (call, request) => framed(frames(call, { ...request, ...placeOf(call, request) }, heartbeatMs)),
  })

export const live = liveEvery(HEARTBEAT_MS)

/** Where to go on from: a client that reconnects by itself says in a header what it read last. @throws ParleyError REQ_BODY_INVALID */
function placeOf({ visitor }: Call, { after }: LiveRequest): Pick<LiveRequest, 'after'> {
  const last = visitor.headers['last-event-id']
  if (after !== undefined || last === undefined || last === '') return {}
  if (typeof last === 'string' && new RegExp(PLACE).test(last)) return { after: last }
  throw new ParleyError('REQ_BODY_INVALID', 'Last-Event-ID is no id of this stream', { field: 'Last-Event-ID' })
}

async function* frames(call: Call, request: LiveRequest, heartbeatMs: number): AsyncGenerator<string> {
  const { stored, signal } = call
  const conditions = conditionsOf(withConversation(call.organization.id, request))
  yield ': open\n\n'
  await Promise.race([stored.ready, new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))])
  const asked = request.after === undefined ? stored.last() : Number(request.after)
  // A place ahead of the stream is one of another installation.
  let at = Math.min(asked, stored.last())
  yield frame({ type: 'start' }, at)
  if (stored.after(at).gap) yield frame({ type: 'gap' })
  let toldAtMs = performance.now()
  while (!signal.aborted) {
    const ranges = stored.after(at).ranges.slice(0, RANGES_MAX)
    const last = ranges.at(-1)
    if (last === undefined) await stored.changed(signal, toldAtMs + heartbeatMs - performance.now())
    else {
      for await (const told of step(call, ranges, conditions, last.position)) {
        yield told
        toldAtMs = performance.now()
      }
      at = last.position
    }
    // What is stored of others, or holds no events, says nothing here: this client's proxy still waits, and its place moves on.
    if (signal.aborted || performance.now() - toldAtMs < heartbeatMs) continue
    yield heartbeat(at)
    toldAtMs = performance.now()
  }
}

/** What some ranges hold for the organization, in the order of the streams. */
async function* step(
  call: Call,
  ranges: readonly StoredRange[],
  conditions: Conditions,
  id: number,
): AsyncGenerator<string> {
  const found = await readRanges(call, ranges, conditions)
  const records = found.slice(0, LIVE_EVENTS_MAX).reverse()
  const [userOf, lenders] = await Promise.all([readUsersOf(call.reader, records), readLenders(call.reader, records)])
  if (found.length > LIVE_EVENTS_MAX) yield frame({ type: 'skipped' })
  for (const [i, record] of records.entries()) {
    const preview = previewOf(record, lenders.get(record.event_id))
    const event = { ...eventHead(record, userOf(record)), preview }
    yield frame({ type: 'event', event }, i === records.length - 1 ? id : undefined)
  }
}

function conditionsOf({
  success,
  conversation_id,
  after: _after,
  ...filters
}: Omit<LiveRequest, 'session_id'>): Conditions {
  const conversation: Conditions =
    conversation_id === undefined
      ? NOTHING
      : { sql: ['conversation_id = {conversation:UUID}'], parameters: { conversation: conversation_id } }
  const outcome = success === undefined ? NOTHING : successCondition(success === 'true')
  return allOf(eventConditions({ time_range: 'all', ...filters }), conversation, outcome)
}

/** Rows of ranges as they came first: not what corrections wrote. Newest first, one more than is shown. */
async function readRanges(
  { reader }: Call,
  ranges: readonly StoredRange[],
  conditions: Conditions,
): Promise<EventRecord[]> {
  const parameters: Record<string, Parameters[string]> = { ...conditions.parameters }
  const places = ranges.map(({ partition, generation, from, to }, i) => {
    parameters[`range_${i}`] = [partition, generation, from, to]
    const part = (n: number): string => `{range_${i}:Array(UInt64)}[${n}]`
    return `(origin_sequence BETWEEN ${part(3)} AND ${part(4)} AND origin_partition = ${part(1)} AND origin_generation = ${part(2)})`
  })
  return reader.read<EventRecord>(
    'live',
    `SELECT ${EVENT_COLUMNS}
    FROM events
    WHERE ${OURS} AND sign = 1 AND move_id = toUUID('${NIL_UUID}') AND (${places.join('\n      OR ')})${andAll(conditions.sql)}
    ORDER BY origin_partition DESC, origin_sequence DESC, origin_frame DESC, origin_index DESC
    LIMIT 1 BY event_id
    LIMIT ${LIVE_EVENTS_MAX + 1}`,
    parameters,
  )
}
