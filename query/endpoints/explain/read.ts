// An event with its payload read again, by the rules and prices that the organization has now or is trying out.

import { contextOf, type ExplainedEvent, explainPayload } from '#processors/parsers/explain.ts'
import { ParleyError } from '#proto/errors.ts'
import { uuidText } from '#proto/ids.ts'
import type { PriceOverride } from '#proto/prices.ts'
import type { RuleDraft } from '#proto/rules.ts'
import type { Call } from '../../endpoint.ts'
import type { EventRecord } from '../../reads/events.ts'
import { findEvent } from '../../reads/events.ts'
import { readOrigin } from '../../reads/origins.ts'

/** What an organization says, as far as it decides how a payload is read. */
export interface Saying {
  readonly prices: readonly PriceOverride[]
  readonly rules: readonly RuleDraft[]
}

/** An event, and how its payload is read. */
export interface FoundEvent {
  readonly record: EventRecord
  /** Reads the payload by what is said; null when it is gone. */
  readonly read: ((saying: Saying) => ExplainedEvent | null) | null
}

/** Finds an event and its payload. @throws ParleyError QRY_NOT_FOUND. */
export async function findToExplain(
  { reader, organization, prices: list, payloads }: Pick<Call, 'reader' | 'organization' | 'prices' | 'payloads'>,
  eventId: string,
): Promise<FoundEvent> {
  const record = await findEvent(reader, eventId)
  if (record === undefined) throw new ParleyError('QRY_NOT_FOUND', 'no such event', { field: 'event_id' })
  const origin = await readOrigin(reader, record)
  const frame = origin === undefined ? null : await payloads(origin)
  // A position says where, not whose: streams that were made anew count from one again.
  if (frame === null || uuidText(frame.organization) !== organization.id.toLowerCase()) return { record, read: null }
  const { receivedAtMs, mintedId } = frame
  const where = { organization: organization.id.toLowerCase(), receivedAtMs, mintedId: uuidText(mintedId) }
  return {
    record,
    read: saying => explainPayload(frame, contextOf(where, { list, ...saying }), record.event_id),
  }
}
