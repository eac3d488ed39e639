// Shapes of /dashboard/api/organization/*.
import Type from 'typebox'
import { DateTime, Nullable, Uuid } from '#proto/dashboard/shared.ts'

/** `has_data` and the times are those of its events; null without any. */
export const OrganizationSummary = Type.Object({
  id: Uuid,
  name: Type.String(),
  has_data: Type.Boolean(),
  first_event_at: Nullable(DateTime),
  last_event_at: Nullable(DateTime),
})

export const DisplayId = Type.Object({ display_id: Type.String({ minLength: 1 }) })
