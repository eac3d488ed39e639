// POST /dashboard/api/raw-logs: captured events, newest first.
import { IO_PREVIEW_MAX_BYTES, LIST_IO_MAX_BYTES, RawLogsRequest, RawLogsResponse } from '#proto/dashboard/raw-logs.ts'
import type { BaseFilters, EventRow } from '#proto/dashboard/shared.ts'
import { eventHead, NO_PREVIEW, NO_TEXTS, previewOf } from '../../answers.ts'
import { withConversation } from '../../asked-conversation.ts'
import { readCaptured } from '../../days/captured.ts'
import { eventsEachFailure } from '../../days/failing.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import { allOf, andAll, byKey, NOTHING } from '../../filters.ts'
import type { Slice } from '../../page.ts'
import { pageOf, sliceOf } from '../../page.ts'
import { boundsOf } from '../../reads/conversation-facts.ts'
import type { EventRecord } from '../../reads/events.ts'
import { findEvent, positionOf, readEvents } from '../../reads/events.ts'
import { findBySentId, findTrace, uuidOf } from '../../reads/ids.ts'
import { readLenders } from '../../reads/lenders.ts'
import { readLogPage } from '../../reads/log-page.ts'
import { readFoundKeys, searchFor } from '../../reads/search.ts'
import { readUsersOf, type UserOf } from '../../reads/sessions.ts'
import { OURS, sqlTime } from '../../reads/sql.ts'
import type { Lenders, Texts } from '../../reads/texts.ts'
import { readTexts, WHOLE } from '../../reads/texts.ts'
import type { Window } from '../../window.ts'
import { windowFrom, windowOf } from '../../window.ts'
import type { LogFilters } from './filters.ts'
import { logConditions } from './filters.ts'

const TEXT_LIMITS = { each: IO_PREVIEW_MAX_BYTES, total: LIST_IO_MAX_BYTES }

export const rawLogs = endpoint({
  method: 'POST',
  path: '/dashboard/api/raw-logs',
  auth: 'any',
  polled: true,
  about: 'Events of the organization, newest first, with previews of input and output.',
  request: RawLogsRequest,
  response: RawLogsResponse,
  work: async (call, asked) => {
    const request = withConversation(call.organization.id, asked)
    const { event_id } = request
    const read = (slice: Slice): Promise<EventRecord[]> =>
      event_id === undefined ? readSlice(call, request, slice) : readOne(call, request, { event_id, slice })
    const found = await read(sliceOf(request))
    const known = event_id === undefined ? {} : { valueUnits: Number.POSITIVE_INFINITY }
    const rows = await fillRows(call, found.slice(0, request.page_size), request.exclude_io, known)
    return { events: rows.map(({ row }) => row), ...(await pageOf(request, found, { position: positionOf, read })) }
  },
})

/** An event as lists show it, and what that was made of. */
export interface LogRow {
  readonly row: EventRow
  readonly record: EventRecord
  /** Null = not asked for. */
  readonly texts: Texts | null
}

/** What needs not be asked for: who lends texts to events; and how much is shown of values of metadata, where that is not as in all lists. */
interface Known {
  readonly lenders?: ReadonlyMap<string, Lenders>
  readonly valueUnits?: number
}

const NO_LENDERS: ReadonlyMap<string, Lenders> = new Map()

/** Events as lists show them, in their order. */
export async function fillRows(
  { reader }: Call,
  records: readonly EventRecord[],
  excludeIo: boolean,
  known: Known = {},
): Promise<LogRow[]> {
  const textsOf = async (): Promise<ShownTexts> => {
    const lenders = known.lenders ?? (await readLenders(reader, records))
    return { lenders, found: await readTexts(reader, records, TEXT_LIMITS, lenders) }
  }
  const [userOf, texts] = await Promise.all([readUsersOf(reader, records), excludeIo ? null : textsOf()])
  return rowsOf(records, userOf, texts, known.valueUnits)
}

/** The same a part at a time, so that the texts of a part take at most about `maxBytes`. */
export async function* fillRowsInParts(
  { reader }: Call,
  records: readonly EventRecord[],
  excludeIo: boolean,
  maxBytes: number,
): AsyncGenerator<LogRow[]> {
  const [userOf, lenders] = await Promise.all([
    readUsersOf(reader, records),
    excludeIo ? NO_LENDERS : readLenders(reader, records),
  ])
  const bytesOf = (record: EventRecord): number => {
    const { input = record, output = record }: Lenders = lenders.get(record.event_id) ?? {}
    return Math.min(input.input_bytes, IO_PREVIEW_MAX_BYTES) + Math.min(output.output_bytes, IO_PREVIEW_MAX_BYTES)
  }
  for (let from = 0; from < records.length; ) {
    let to = from
    for (let bytes = 0; to < records.length && (bytes === 0 || bytes < maxBytes); to++) {
      bytes += bytesOf(records[to] as EventRecord)
    }
    const part = records.slice(from, to)
    const found = excludeIo ? null : await readTexts(reader, part, { ...WHOLE, each: IO_PREVIEW_MAX_BYTES }, lenders)
    yield rowsOf(part, userOf, found && { lenders, found })
    from = to
  }
}

/** Texts of events, and who lent them. */
interface ShownTexts {
  readonly lenders: ReadonlyMap<string, Lenders>
  readonly found: ReadonlyMap<string, Texts>
}

/** `shown`: null where neither texts nor their beginnings are asked for. */
function rowsOf(
  records: readonly EventRecord[],
  userOf: UserOf,
  shown: ShownTexts | null,
  valueUnits?: number,
): LogRow[] {
  return records.map(record => {
    const texts = shown?.found.get(record.event_id) ?? null
    const preview = shown === null ? NO_PREVIEW : previewOf(record, shown.lenders.get(record.event_id))
    const head = eventHead(record, userOf(record), valueUnits)
    return { row: { ...head, ...(texts ?? NO_TEXTS), preview }, record, texts: shown && (texts ?? NO_TEXTS) }
  })
}

/** A slice of what the filters let through, newest first. */
export async function readSlice(call: Call, request: LogFilters & BaseFilters, slice: Slice): Promise<EventRecord[]> {
  const { search_query, ...others } = request
  const found = search_query ? await readNamed(call, others, search_query, slice) : null
  return found ?? readIn(call, request, windowOf(request, call.nowMs), slice)
}

async function readIn(
  call: Call,
  request: LogFilters & BaseFilters,
  window: Window,
  slice: Slice,
  more = NOTHING,
): Promise<EventRecord[]> {
  const { search_query, ...others } = request
  const filters = byKey(request.metadata_filters)
  const captured = await readCaptured(call.kept, call.reader, { organization: call.organization.id, filters })
  const search = searchFor(search_query ?? '')
  // What has no words that an index knows, or is looked for in one conversation, is looked for in what a page reaches.
  if (search.words.sql.length > 0 && request.conversation_id === undefined) {
    const conditions = allOf(logConditions(others, captured), more)
    const found = await readFoundKeys(call.reader, { search, window, conditions, slice, nowMs: call.nowMs })
    return readEvents(call.reader, found)
  }
  return readLogPage(call.reader, {
    ...(request.success === false || request.failures === true
      ? { each: eventsEachFailure(call.kept, call.organization.id, window) }
      : {}),
    window,
    conditions: allOf(logConditions(request, captured), more),
    conversation: request.conversation_id,
    slice,
    nowMs: call.nowMs,
    newest: call.newest(call.organization.id),
  })
}

/** What an id that was searched for names, whatever its time: an event, or all of a conversation or trace; null when it names none. */
async function readNamed(
  call: Call,
  request: LogFilters & BaseFilters,
  text: string,
  slice: Slice,
): Promise<EventRecord[] | null> {
  const { reader } = call
  const ofConversation = (id: string): Promise<EventRecord[]> | EventRecord[] => {
    return (request.conversation_id ?? id) === id
      ? readIn(call, { ...request, conversation_id: id }, windowFrom(0), slice)
      : []
  }
  const id = uuidOf(text)
  if (id === null) {
    const conversation = await findBySentId(reader, text)
    return conversation === undefined ? null : ofConversation(conversation)
  }
  if ((await findEvent(reader, id)) !== undefined) {
    return slice.after === undefined ? readOne(call, request, { event_id: id, slice }) : []
  }
  if ((await boundsOf(reader, [id])) !== null) return ofConversation(id)
  const trace = await findTrace(reader, id)
  const ofTrace = { sql: ['trace_id = {trace:UUID}'], parameters: { trace: id } }
  return trace === null ? null : readIn(call, request, trace, slice, ofTrace)
}

/** One event, whatever its time, when it passes the other filters; it is all that the list has. */
export async function readOne(
  call: Call,
  request: LogFilters & BaseFilters,
  { event_id: event, slice }: { readonly event_id: string; readonly slice?: Slice },
): Promise<EventRecord[]> {
  if (slice !== undefined && slice.offset > 0) return []
  const found = await findEvent(call.reader, event)
  if (found === undefined) return []
  const conditions = logConditions(request)
  if (request.conversation_id !== undefined && request.conversation_id !== found.conversation_id) return []
  if (conditions.sql.length === 0) return [found]
  const passes = await call.reader.read(
    'event_filtered',
    `SELECT event_id
     FROM events FINAL
     PREWHERE ${OURS} AND ts = {lower:DateTime64(9, 'UTC')} AND conversation_id = {conversation:UUID} AND event_id = {event:UUID}
     WHERE 1${andAll(conditions.sql)}`,
    { ...conditions.parameters, lower: sqlTime(found.ts), conversation: found.conversation_id, event: found.event_id },
  )
  return passes.length === 0 ? [] : [found]
}
