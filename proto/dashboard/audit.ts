// Shapes of the audit log.
import type { Static } from 'typebox'
import Type from 'typebox'
import { DateTime, Nullable, Uuid } from '#proto/dashboard/shared.ts'

export const AuditRequest = Type.Object({
  /** Only this action, for example conversation.read. */
  action: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  /** Only this user or API key, by id. */
  actor: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  /** The `next_cursor` of the page before. */
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 400 })),
})
export type AuditRequest = Static<typeof AuditRequest>

export const AuditEntry = Type.Object({
  id: Uuid,
  at: DateTime,
  actor_kind: Type.Enum(['user', 'key', 'ticket']),
  actor: Type.String(),
  /** The user's address, or the key's name, as it is now. */
  actor_name: Nullable(Type.String()),
  action: Type.String(),
  target: Type.String(),
  address: Type.String(),
  request: Type.String(),
})
export type AuditEntry = Static<typeof AuditEntry>

export const AuditPage = Type.Object({ entries: Type.Array(AuditEntry), next_cursor: Nullable(Type.String()) })
