// Shapes of /dashboard/api/raw-logs, raw-logs/count and event-io.
import type { Static } from 'typebox'
import Type from 'typebox'
import {
  conversationFields,
  EventRow,
  filterFields,
  Nullable,
  pageFields,
  pagingFields,
  placeFields,
  StringMap,
  Uuid,
} from '#proto/dashboard/shared.ts'

/** Longest preview of an input or output in lists, in bytes. */
export const IO_PREVIEW_MAX_BYTES = 65_536
/** Bytes of all inputs and outputs of one list at most: where there are more, all are cut shorter. */
export const LIST_IO_MAX_BYTES = 4_194_304

export const RawLogsRequest = Type.Object({
  ...filterFields,
  ...pagingFields,
  event_id: Type.Optional(Uuid),
  ...conversationFields,
  search_query: Type.Optional(Type.String({ maxLength: 1000 })),
  success: Type.Optional(Type.Boolean()),
  exclude_io: Type.Boolean({ default: false }),
})
export type RawLogsRequest = Static<typeof RawLogsRequest>

export const RawLogsResponse = Type.Object({ events: Type.Array(EventRow), ...pageFields })

/** Null: the daily aggregates cannot answer for these filters. */
export const RawLogsCountResponse = Type.Object({ total_count: Nullable(Type.Integer({ minimum: 0 })) })

/** The hint `session_id` of the contract is accepted and not needed. `raw`: texts as an SDK sent them, quotes of JSON and all. */
export const EventIoRequest = Type.Object({
  event_id: Uuid,
  session_id: Type.Optional(Type.String()),
  raw: Type.Optional(Type.Boolean()),
})

export const EventIoResponse = Type.Object({
  ...placeFields,
  input: Nullable(Type.String()),
  output: Nullable(Type.String()),
  input_bytes: Type.Integer({ minimum: 0 }),
  output_bytes: Type.Integer({ minimum: 0 }),
  /** What was said beyond them, as histories and instructions, by the keys under which it was sent. */
  content: StringMap,
})
