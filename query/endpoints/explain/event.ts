// POST /dashboard/api/explain-event: why the fields of an event are what they are, or empty.
import { type ExplainedEvent, explainRow, fieldsOfRow } from '#processors/parsers/explain.ts'
import { ExplainRequest, ExplainResponse } from '#proto/dashboard/explain.ts'
import { endpoint } from '../../endpoint.ts'
import type { EventRecord } from '../../reads/events.ts'
import { readOwn } from '../prices/own.ts'
import { findToExplain } from './read.ts'

export const explainEvent = endpoint({
  method: 'POST',
  path: '/dashboard/api/explain-event',
  auth: 'any',
  about:
    'Why each field of an event is what it is: the attribute that gave it, by which rule, and what was passed over.',
  request: ExplainRequest,
  response: ExplainResponse,
  work: async (call, { event_id }) => {
    const { record, read } = await findToExplain(call, event_id.toLowerCase())
    const said = await readOwn(call.records, call.organization.id)
    const explained = read?.({ prices: said?.prices ?? [], rules: said?.rules ?? [] }) ?? null
    if (explained !== null) return answer(record, explained, 'payload', '')
    const because =
      read === null
        ? 'the payload is no longer held: only what is stored can be told'
        : 'the payload is not read as this event any more: only what is stored can be told'
    return answer(record, explainRow(record, 'as it is stored'), 'stored', because)
  },
})

function answer(
  record: EventRecord,
  explained: ExplainedEvent,
  read_from: 'payload' | 'stored',
  because: string,
): ExplainResponse {
  const stored = fieldsOfRow(record)
  const { span } = explained
  return {
    event_id: record.event_id,
    ...{ read_from, because, source: record.source },
    span: span && { trace_id: span.traceId, span_id: span.spanId, name: span.spanName },
    dialects: [...explained.dialects],
    fields: explained.fields.map(({ from, ignored, looked, ...field }) => ({
      ...field,
      stored: stored[field.field] ?? null,
      from: from && { ...from },
      ignored: [...ignored],
      looked: [...looked],
    })),
    attributes: [...explained.attributes],
  }
}
