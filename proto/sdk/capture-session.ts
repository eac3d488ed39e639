// The body of POST /api/v1/capture-session: one session, in the conversation shape (session_id, user_data with user_id) or the
// server-primitive shape (session_id, client_config). Unknown fields are allowed and kept.
import type { Static } from 'typebox'
import { Type } from 'typebox'
import type { IdPolicy, Problem } from '#proto/sdk/fields.ts'
import { compileCheck, idField, optional, optionalMap, optionalText, optionalTime } from '#proto/sdk/fields.ts'

const sessionSchema = (ids: IdPolicy) =>
  Type.Object(
    {
      session_id: idField(ids),
      user_data: optionalMap(),
      client_config: optionalText(),
      metadata: optionalMap(),
      timestamp: optionalTime(),
      connection_type: optionalText(),
      ip: optionalText(),
      tools: optional(Type.Array(Type.String({ expected: 'a string' })), 'an array of strings'),
    },
    { expected: 'a JSON object' },
  )

/** A body as the contract says it. */
export const CaptureSessionBody = sessionSchema('strict')

/** A checked body. */
export type CaptureSession = Static<ReturnType<typeof sessionSchema>>

const checks = { strict: compileCheck(sessionSchema('strict')), map: compileCheck(sessionSchema('map')) }

/** The first problem of a body, or null when it is a CaptureSession in one of its two shapes. */
export function captureSessionProblem(body: unknown, ids: IdPolicy): Problem | null {
  const problem = checks[ids](body)
  if (problem !== null) return problem
  const session = body as CaptureSession
  // Present is enough: published clients send "" for both.
  if (typeof session.client_config === 'string') return null
  const userId = session.user_data?.user_id
  if (typeof userId === 'string') return null
  const field = session.user_data ? 'user_data.user_id' : 'user_data'
  const sentence =
    userId === undefined || userId === null
      ? `${field} is required (or client_config, in the server-primitive shape)`
      : `${field} must be a string`
  return { field, sentence }
}
