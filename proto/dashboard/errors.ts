// Shapes of /dashboard/api/errors: failed events and what they have in common.
import type { Static } from 'typebox'
import Type from 'typebox'
import { Count, DateTime, EventRow, filterFields, pageFields, QueryFilters } from '#proto/dashboard/shared.ts'
import { ErrorGroup } from '#proto/dashboard/tools.ts'

/** Longest error message of a row, in bytes. */
export const ERROR_MESSAGE_ROW_BYTES = 2048

/** critical: a turn of an agent failed; error: a tool or a model call; warning: anything else. */
export const severities = ['critical', 'error', 'warning'] as const

/** The base filters; `exclude_io` leaves out texts, their beginnings, and messages that are outputs. */
export const ErrorsRequest = Type.Object({ ...QueryFilters.properties, exclude_io: Type.Boolean({ default: false }) })
export type ErrorsRequest = Static<typeof ErrorsRequest>

export const ErrorRow = Type.Object({
  ...EventRow.properties,
  error_message: Type.String(),
  error_type: Type.String(),
  severity: Type.Enum([...severities]),
})
export type ErrorRow = Static<typeof ErrorRow>

export const ErrorsResponse = Type.Object({ errors: Type.Array(ErrorRow), ...pageFields })
export type ErrorsResponse = Static<typeof ErrorsResponse>

/** Groups of an answer at most. */
export const ERROR_GROUPS_MAX = 200

export const ErrorGroupsRequest = Type.Object(filterFields)

/** Most frequent first. */
export const ErrorGroupsResponse = Type.Object({
  total_errors: Count,
  groups: Type.Array(
    Type.Object({
      ...ErrorGroup.properties,
      primitive_names: Type.Array(Type.String()),
      conversations: Count,
      first_seen_at: DateTime,
    }),
  ),
})
