// Shapes of /dashboard/api/organization/retention.
import Type from 'typebox'
import { Nullable } from '#proto/dashboard/shared.ts'

const DAYS_MAX = 3650
const EventsDays = Nullable(Type.Integer({ minimum: 7, maximum: DAYS_MAX }))
const TextsDays = Nullable(Type.Integer({ minimum: 1, maximum: DAYS_MAX }))

/** Days; null = for ever, of texts: as long as their events. */
export const Retention = Type.Object({ events_days: EventsDays, texts_days: TextsDays })

/** Absent fields stay as they are. */
export const RetentionUpdate = Type.Object({
  events_days: Type.Optional(EventsDays),
  texts_days: Type.Optional(TextsDays),
})
