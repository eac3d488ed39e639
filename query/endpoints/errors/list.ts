// POST /dashboard/api/errors: failed events, newest first.
import type { ErrorRow } from '#proto/dashboard/errors.ts'
import { ERROR_MESSAGE_ROW_BYTES, ErrorsResponse } from '#proto/dashboard/errors.ts'
import { QueryFilters } from '#proto/dashboard/shared.ts'
import { type AskedFailures, type FailedEvent, readKeptFailures } from '../../days/failed-page.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import { eventConditions, type KeyFilter, onlyMetadataOf } from '../../filters.ts'
import { pageOf, sliceOf } from '../../page.ts'
import type { Reader } from '../../reader.ts'
import { type EventKey, type EventRecord, positionOf, readEvents } from '../../reads/events.ts'
import type { Texts } from '../../reads/texts.ts'
import { windowOf } from '../../window.ts'
import { fillRows, type LogRow, readPage } from '../raw-logs/list.ts'

export const errorsList = endpoint({
  method: 'POST',
  path: '/dashboard/api/errors',
  auth: 'any',
  polled: true,
  about: 'Failed events, newest first, with type, message and severity of the failure.',
  request: QueryFilters,
  response: ErrorsResponse,
  work: readErrors,
})

/** The body of the endpoint. */
export async function readErrors(call: Call, request: QueryFilters) {
  const { found, rows } = (await readKept(call, request)) ?? (await readAsked(call, request))
  return {
    errors: rows.map(({ row, record, texts }): ErrorRow => ({ ...row, ...failureOf(record, texts) })),
    ...pageOf(request, found, positionOf),
  }
}

/** A page, and what was found of it and of the next one. */
interface Page {
  readonly found: readonly EventKey[]
  readonly rows: readonly LogRow[]
}

async function readAsked(call: Call, request: QueryFilters): Promise<Page> {
  const found = await readPage(call, { ...request, success: false })
  return { found, rows: await fillRows(call, found.slice(0, request.page_size), false) }
}

/** The page from kept days, which know what failed and whose it is. Null: they don't. */
async function readKept(call: Call, request: QueryFilters): Promise<Page | null> {
  const { kept, reader, organization, nowMs } = call
  const filters = onlyMetadataOf(request)
  if (filters.length === 0 && eventConditions(request).sql.length > 0) return null
  const asked = { organization: organization.id, window: windowOf(request, nowMs), filters, slice: sliceOf(request) }
  const failures = await readKeptFailures(kept, reader, asked)
  if (failures === null) return null
  const { found, records } = await readFailures(reader, failures, asked)
  const users = failures.flatMap(({ conversation_id, user }) => (user === '' ? [] : { conversation_id, user_id: user }))
  const known = new Map(users.map(one => [one.conversation_id, one]))
  return { found, rows: await fillRows(call, records.slice(0, request.page_size), false, known) }
}

/** The slice of failures, and the rows of its page. Those that only may pass are looked at first. */
async function readFailures(
  reader: Reader,
  failures: readonly FailedEvent[],
  { slice: { offset, limit }, filters }: Pick<AskedFailures, 'slice' | 'filters'>,
): Promise<{ found: readonly EventKey[]; records: readonly EventRecord[] }> {
  if (failures.every(({ captured }) => captured === undefined)) {
    const found = failures.slice(offset, offset + limit)
    return { found, records: await readEvents(reader, found.slice(0, limit - 1)) }
  }
  const placeOf = ({ event_id, conversation_id, ts }: EventKey): string => `${event_id} ${conversation_id} ${ts}`
  const captured = new Map(failures.map(failure => [placeOf(failure), failure.captured]))
  const records = await readEvents(reader, failures)
  const passes = (record: EventRecord): boolean =>
    captured.get(placeOf(record))?.every((met, i) => met || saysOne(record.metadata, filters[i] as KeyFilter)) ?? true
  const found = records.filter(passes).slice(offset, offset + limit)
  return { found, records: found.slice(0, limit - 1) }
}

/** What `saysOneOf` asks the store. */
const saysOne = (metadata: EventRecord['metadata'], { key, values }: KeyFilter): boolean =>
  Object.hasOwn(metadata, key) && values.includes(metadata[key] as string)

/** What a failed event says of its failure: the exception's message, else its output. */
export function failureOf(
  record: EventRecord,
  texts: Texts,
): Pick<ErrorRow, 'error_type' | 'error_message' | 'severity'> {
  return {
    error_type: record.error_type,
    // Its own output, not one that a call below it lends: that says nothing of the failure.
    error_message:
      record.error_message || cut((record.output_bytes > 0 ? texts.output : null) ?? record.output_preview),
    severity: severityOf(record),
  }
}

function severityOf({ kind }: EventRecord): ErrorRow['severity'] {
  if (kind === 'agent') return 'critical'
  return kind === 'tool' || kind === 'llm' ? 'error' : 'warning'
}

/** At most 2 KiB, on a character. */
function cut(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= ERROR_MESSAGE_ROW_BYTES) return text
  let end = ERROR_MESSAGE_ROW_BYTES
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
