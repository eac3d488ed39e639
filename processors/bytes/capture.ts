// What a span says about its conversation -> the row of its capture, straight into the columns: what sessionRow (parsers/rows.ts) would have
// made. Only of spans that say nothing but session, user, address and service; what says more is a row first (reveal.ts).
import type { Origin } from '#proto/rows.ts'
import type { TableSets } from '../columns/tables.ts'
import type { Capture } from './metadata.ts'
import type { Plan } from './plan.ts'
import type { ByteReading } from './reading.ts'
import { msAt, placeOfTime } from './times.ts'
import { addIdText, addOrigin, addSessionText, type Shared, W } from './write.ts'

const NO_TOOLS: readonly string[] = []

/** Adds the capture of a span whose words stand at `at`. Precondition: the span is finished, `capture` is that of its variant. */
export function writeCapture(
  c: TableSets['sessions'],
  reading: ByteReading,
  { capture, shared, at }: { readonly capture: Capture; readonly shared: Shared; readonly at: number },
  origin: Origin,
): void {
  const { spans, row } = reading
  const { user, email } = reading.plan as Plan
  c.organization.addFrom(shared.organization, 0)
  c.conversation_id.addFrom(shared.words, at + W.conversation)
  addSessionText(c.session_id, reading, shared.words, at)
  c.source.add('otlp')
  if (user === null) c.user_id.add('')
  else addIdText(c.user_id, reading, user)
  if (email === null) c.user_email.add('')
  else addIdText(c.user_email, reading, email)
  c.user_data.endRow()
  c.metadata.keys.addRun(capture.keys)
  c.metadata.values.addEncoded(capture.texts.encoded, capture.texts.count)
  c.metadata.endRow()
  c.client_config.add('')
  c.connection_type.add('')
  c.ip.add('')
  c.tools.add(NO_TOOLS)
  c.started_at.addInstant(msAt(spans, row, placeOfTime(spans, row)), 0)
  c.recording_url.add('')
  c.received_at.add(shared.receivedAt)
  c.retention.add(shared.context.retention)
  c.report.add('')
  addOrigin(c, origin)
}
