// For tests of parsers: whether rows fit their columns, whatever bodies they were made of.
import type { EventRow, SessionRow, TextRow } from '#proto/rows.ts'
import type { Unit } from '../outcome.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const integers = ['duration_ns', 'latency_bucket', 'present', 'input_bytes', 'output_bytes', 'cost_nanos'] as const
const counts = ['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens'] as const

/** What is wrong with the rows of a unit, '' when they fit their columns. */
export function faultOf(unit: Unit): string {
  for (const row of unit.events) {
    for (const key of ['conversation_id', 'event_id', 'parent_id', 'trace_id'] as const)
      if (!UUID.test(row[key])) return key
    for (const key of [...integers, ...counts]) if (!Number.isSafeInteger(row[key])) return key
    for (const key of counts) if (row[key] < 0) return key
    if (row.cost_nanos < 0 || row.duration_ns < -1) return 'sign'
    if (!/^\d{1,20}$/.test(row.span_id) || !/^\d{1,20}$/.test(row.parent_span_id)) return 'span_id'
    if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9}$/.test(row.ts)) return `ts ${row.ts}`
    if (row.input_preview.length > 200 || row.output_preview.length > 200) return 'preview'
    if (Buffer.byteLength(row.error_message) > 2048) return 'error_message'
  }
  for (const row of unit.sessions) {
    if (!UUID.test(row.conversation_id)) return 'session conversation_id'
    if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/.test(row.started_at)) return 'started_at'
  }
  for (const row of [...unit.events, ...unit.sessions, ...unit.texts]) {
    const fault = unreadable(row)
    if (fault !== '') return fault
  }
  return ''
}

/** The first column whose text has no UTF-8. */
function unreadable(row: EventRow | SessionRow | TextRow): string {
  for (const [key, value] of Object.entries(row)) {
    const texts: unknown[] = typeof value === 'object' ? [...Object.keys(value), ...Object.values(value)] : [value]
    if (texts.some(text => typeof text === 'string' && !text.isWellFormed())) return `${key} is no Unicode`
  }
  return ''
}
