// POST /dashboard/api/raw-logs/export and errors/export: what raw-logs and errors list, all of it, as CSV. Read in slices by cursor: a slow
// client holds one slice and no query, and a slice never reads more texts than fit the memory set aside for it.

import { readRecord } from '#control/lists.ts'
import { metadataKeysKey } from '#control/records.ts'
import { ErrorsRequest } from '#proto/dashboard/errors.ts'
import type { MetadataKeys } from '#proto/dashboard/metadata.ts'
import { RawLogsRequest } from '#proto/dashboard/raw-logs.ts'
import type { BaseFilters } from '#proto/dashboard/shared.ts'
import { isOurKey } from '#proto/metadata-keys.ts'
import { settingsOfClass } from '#store/classes.ts'
import { withConversation } from '../../asked-conversation.ts'
import type { Cell } from '../../csv.ts'
import { csvLine } from '../../csv.ts'
import type { Position } from '../../cursor.ts'
import type { Call } from '../../endpoint.ts'
import { Chunks, endpoint } from '../../endpoint.ts'
import type { Reader } from '../../reader.ts'
import type { EventRecord } from '../../reads/events.ts'
import { positionOf } from '../../reads/events.ts'
import { failureOf } from '../errors/list.ts'
import type { LogFilters } from './filters.ts'
import type { LogRow } from './list.ts'
import { fillRowsInParts, readOne, readSlice } from './list.ts'

/** Rows of an export at most; then a last line says `#truncated`. */
const EXPORT_MAX_ROWS = 1_000_000
/** Rows that are found at a time, and bytes of texts that are read at a time: a row may have 128 KiB. */
const SLICE_EVENTS = 2000
const SLICE_BYTES = 8 * 1024 * 1024

/** One column: its header and its cell. */
type Column = readonly [string, (row: LogRow) => Cell]

const HEAD: readonly Column[] = [
  ['event_id', ({ row }) => row.event_id],
  ['session_id', ({ row }) => row.session_id],
  ['timestamp', ({ row }) => row.timestamp],
  ['user_id', ({ row }) => row.user_id],
  ['primitive_type', ({ row }) => row.primitive_type],
  ['primitive_name', ({ row }) => row.primitive_name],
]
/** Behind all others, so that each of those stays where it was. */
const TAIL: readonly Column[] = [
  ['conversation_id', ({ row }) => row.conversation_id],
  ['kind', ({ row }) => row.kind],
  ['model', ({ row }) => row.model],
  ['input_tokens', ({ row }) => row.input_tokens],
  ['output_tokens', ({ row }) => row.output_tokens],
  ['cost', ({ row }) => row.cost],
]
const LOG_COLUMNS: readonly Column[] = [
  ...HEAD,
  ['success', ({ row }) => row.success],
  ['latency', ({ row }) => row.latency],
  ['input', ({ row }) => row.input],
  ['output', ({ row }) => row.output],
  ['parent_id', ({ row }) => row.parent_id],
]
const ERROR_COLUMNS: readonly Column[] = [
  ...HEAD,
  ['error_type', ({ record }) => record.error_type],
  ['error_message', ({ record, texts }) => failureOf(record, texts).error_message],
  ['latency', ({ row }) => row.latency],
  ['input', ({ row }) => row.input],
]

export const rawLogsExport = endpoint({
  method: 'POST',
  path: '/dashboard/api/raw-logs/export',
  auth: 'any',
  about: 'All events that the filters of raw-logs let through, newest first, as CSV.',
  request: RawLogsRequest,
  response: Chunks,
  produces: 'text/csv',
  work: exportLogs,
})

export const errorsExport = endpoint({
  method: 'POST',
  path: '/dashboard/api/errors/export',
  auth: 'any',
  about: 'All failed events that the filters let through, newest first, as CSV.',
  request: ErrorsRequest,
  response: Chunks,
  produces: 'text/csv',
  work: exportErrors,
})

/** The body of raw-logs/export. */
export async function exportLogs(asking: Call, asked: RawLogsRequest): Promise<AsyncGenerator<string>> {
  const call = unhurried(asking)
  const request = withConversation(call.organization.id, asked)
  const { event_id, exclude_io } = request
  const events = event_id === undefined ? slices(call, request) : oneSlice(await readOne(call, request, { event_id }))
  return lines(call, events, [...LOG_COLUMNS, await metadataColumn(call), ...TAIL], exclude_io)
}

/** The body of errors/export; of raw-logs' filters only the base ones count. */
export async function exportErrors(asked: Call, request: ErrorsRequest): Promise<AsyncGenerator<string>> {
  const call = unhurried(asked)
  const {
    conversation_id: _1,
    session_id: _2,
    search_query: _3,
    event_id: _4,
    ...base
  } = request as Partial<RawLogsRequest> & ErrorsRequest
  const events = slices(call, { ...base, failures: true })
  return lines(call, events, [...ERROR_COLUMNS, await metadataColumn(call), ...TAIL], request.exclude_io)
}

/** The same call, whose queries take one core each: nobody waits for the next slice of a file as for a page. */
function unhurried(call: Call): Call {
  const { reader } = call
  const read: Reader['read'] = (question, sql, parameters, settings) =>
    reader.read(question, sql, parameters, { ...settingsOfClass('export'), ...settings })
  return { ...call, reader: { ...reader, read } }
}

/** The metadata of an event, of which the organization may have said what leaves the house; parley's own keys where it names them. */
async function metadataColumn({ records, organization }: Call): Promise<Column> {
  const configured = await readRecord<MetadataKeys>(records, metadataKeysKey(organization.id, 'event'))
  const include = new Set(configured?.include_keys)
  return [
    'metadata',
    ({ record }) => {
      const isShown = (key: string): boolean => (include.size === 0 ? !isOurKey(key) : include.has(key))
      const entries = Object.entries(record.metadata).filter(([key]) => isShown(key))
      return JSON.stringify(Object.fromEntries(entries))
    },
  ]
}

async function* oneSlice(keys: readonly EventRecord[]): AsyncGenerator<readonly EventRecord[]> {
  yield keys
}

/** Keys of everything that the filters let through, a slice at a time. */
async function* slices(call: Call, request: LogFilters & BaseFilters): AsyncGenerator<readonly EventRecord[]> {
  let after: Position | undefined
  do {
    const events = await readSlice(call, request, { offset: 0, limit: SLICE_EVENTS, after })
    yield events
    const last = events.at(-1)
    after = events.length === SLICE_EVENTS && last !== undefined ? positionOf(last) : undefined
  } while (after !== undefined)
}

/**
 * The file in chunks. The next slice is read when the client has taken the one before. The header waits for the first rows, so that what
 * fails at once, a filter that cannot be among it, is still an error answer and no torn file.
 */
export async function* lines(
  call: Call,
  found: AsyncGenerator<readonly EventRecord[]>,
  columns: readonly Column[],
  excludeIo: boolean,
  maxRows = EXPORT_MAX_ROWS,
): AsyncGenerator<string> {
  let head = csvLine(columns.map(([header]) => header))
  let written = 0
  for await (const events of found) {
    const part = events.slice(0, maxRows - written)
    for await (const rows of fillRowsInParts(call, part, excludeIo, SLICE_BYTES)) {
      yield head + rows.map(row => csvLine(columns.map(([, cell]) => cell(row)))).join('')
      head = ''
    }
    written += part.length
    if (part.length < events.length) {
      yield head + csvLine(['#truncated'])
      return
    }
  }
  if (head !== '') yield head
}
