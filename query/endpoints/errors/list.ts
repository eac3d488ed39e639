// POST /dashboard/api/errors: failed events, newest first.
import type { ErrorRow } from '#proto/dashboard/errors.ts'
import { ERROR_MESSAGE_ROW_BYTES, ErrorsRequest, ErrorsResponse } from '#proto/dashboard/errors.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import { pageOf, type Slice, sliceOf } from '../../page.ts'
import { cutText } from '../../reads/cut.ts'
import { type EventRecord, positionOf } from '../../reads/events.ts'
import type { Texts } from '../../reads/texts.ts'
import { fillRows, readSlice } from '../raw-logs/list.ts'
import { type FailurePage, readKeptPage } from './kept.ts'

export const errorsList = endpoint({
  method: 'POST',
  path: '/dashboard/api/errors',
  auth: 'any',
  polled: true,
  about: 'Failed events, newest first, with type, message and severity of the failure.',
  request: ErrorsRequest,
  response: ErrorsResponse,
  work: readErrors,
})

/** The body of the endpoint. */
export async function readErrors(call: Call, request: ErrorsRequest) {
  const read = (slice: Slice): Promise<EventRecord[]> => readSlice(call, { ...request, failures: true }, slice)
  const { found, rows } = (await readKeptPage(call, request)) ?? (await readAsked(call, request, read))
  return {
    errors: rows.map(({ row, record, texts }): ErrorRow => ({ ...row, ...failureOf(record, texts) })),
    ...(await pageOf(request, found, { position: positionOf, read })),
  }
}

async function readAsked(
  call: Call,
  request: ErrorsRequest,
  read: (slice: Slice) => Promise<EventRecord[]>,
): Promise<FailurePage> {
  const found = await read(sliceOf(request))
  return { found, rows: await fillRows(call, found.slice(0, request.page_size), request.exclude_io) }
}

/** What a failed event says of its failure: the exception's message, else its output, unless texts are not asked for. */
export function failureOf(
  record: EventRecord,
  texts: Texts | null,
): Pick<ErrorRow, 'error_type' | 'error_message' | 'severity'> {
  return {
    error_type: record.error_type,
    error_message: messageOf(record, texts),
    severity: severityOf(record),
  }
}

function messageOf({ error_message, output_bytes, output_preview }: EventRecord, texts: Texts | null): string {
  // What came without a message has its output stored as one.
  if (texts === null) return output_bytes > 0 && error_message.startsWith(output_preview) ? '' : error_message
  // Its own output, not one that a call below it lends: that says nothing of the failure.
  return error_message || cutText((output_bytes > 0 ? texts.output : null) ?? output_preview, ERROR_MESSAGE_ROW_BYTES)
}

function severityOf({ kind }: EventRecord): ErrorRow['severity'] {
  if (kind === 'agent') return 'critical'
  return kind === 'tool' || kind === 'llm' ? 'error' : 'warning'
}
