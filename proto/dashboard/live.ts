// Shapes of /dashboard/api/live.
import type { Static } from 'typebox'
import Type from 'typebox'
import { conversationFields } from '#proto/dashboard/shared.ts'

/** A place in the stream, as text. */
export const PLACE = '^\\d{1,15}$'

/** Filters as a query string. `after`: the id of the last frame that was read. */
export const LiveRequest = Type.Object({
  after: Type.Optional(Type.String({ pattern: PLACE })),
  agent_name: Type.Optional(Type.String()),
  connection_type: Type.Optional(Type.String()),
  ...conversationFields,
  success: Type.Optional(Type.Enum(['true', 'false'])),
})
export type LiveRequest = Static<typeof LiveRequest>

/** Events of one step of the stream; what is beyond is only counted as skipped. */
export const LIVE_EVENTS_MAX = 500
