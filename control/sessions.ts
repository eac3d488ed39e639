// Sign-ins: a secret for the browser's cookie, of which only the hash is kept. Tokens name the hash, so that they end with the sign-in.
import { createHash, randomBytes } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import type { SignInMethod, SignInSession } from '#control/records.ts'
import { sessionKey } from '#control/records.ts'
import type { ControlView } from '#control/view.ts'

/** How long a browser stays signed in. */
export const SESSION_MS = 30 * 86_400_000
/** Sign-ins of one user; the oldest end. */
const SESSIONS_MAX = 20

/** The id of a sign-in: the hash of its secret. 256 random bits need no salt. */
export const sessionId = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/** Keeps a new sign-in; the secret is in the answer only. Ended ones of the user, and too many, make room. */
export async function createSession(
  records: KV,
  view: ControlView,
  fields: { user: string; method: SignInMethod; nowMs: number },
): Promise<{ secret: string; session: SignInSession }> {
  const { user, method, nowMs } = fields
  const secret = randomBytes(32).toString('hex')
  const session: SignInSession = {
    id: sessionId(secret),
    user,
    method,
    created_at: new Date(nowMs).toISOString(),
    expires_at: new Date(nowMs + SESSION_MS).toISOString(),
  }
  const others = view.sessionsOf(user).sort((a, b) => (a.created_at < b.created_at ? 1 : -1))
  const ended = others.filter(other => Date.parse(other.expires_at) <= nowMs)
  for (const other of new Set([...ended, ...others.slice(SESSIONS_MAX - 1)])) await records.delete(sessionKey(other.id))
  await records.put(sessionKey(session.id), JSON.stringify(session))
  return { secret, session }
}

/** The sign-in of a secret, while it lasts. */
export function findSession(view: ControlView, secret: string | undefined, nowMs: number): SignInSession | undefined {
  if (secret === undefined || !/^[0-9a-f]{64}$/.test(secret)) return undefined
  const session = view.session(sessionId(secret))
  return session !== undefined && Date.parse(session.expires_at) > nowMs ? session : undefined
}

/** Ends a sign-in and every token of it. */
export async function endSession(records: KV, id: string): Promise<void> {
  await records.delete(sessionKey(id))
}
