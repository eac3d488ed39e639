// One-time addresses: a request that was authorized now, kept until whoever holds the address comes for its answer. The address is the
// credential: 32 random bytes, of which only the hash is kept; the record of the organization it names holds what waits.
import { createHash, randomBytes } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import { changeRecord } from '#control/lists.ts'
import { ticketsKey } from '#control/records.ts'
import { ParleyError } from '#proto/errors.ts'
import type { Principal } from './auth.ts'

/** The credential by which a ticket was ordered: its address is good for no longer. */
export type Issuer = { readonly key: string } | { readonly user: string }

/** The issuer of a request; an address issues none. */
export function issuerOf(principal: Principal): Issuer {
  return principal.kind === 'user'
    ? { user: principal.user.id }
    : { key: principal.kind === 'key' ? principal.key.id : '' }
}

/** A request that waits. */
interface Ticket {
  readonly hash: string
  /** Absent in those of earlier builds. */
  readonly by?: Issuer
  readonly request: unknown
  readonly expires_at_ms: number
}

/** What a ticket opened. */
export interface Opened {
  readonly organization: string
  readonly by: Issuer | undefined
  readonly request: unknown
}

/** Organization and secret, both in hex. */
const FORMAT = /^([0-9a-f]{32})([0-9a-f]{64})$/

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/**
 * Keeps a request; returns its ticket. Expired ones make room.
 * @throws ParleyError REQ_BODY_INVALID when `max` wait already.
 */
export async function issueTicket(
  records: KV,
  organization: string,
  request: unknown,
  limits: { readonly by: Issuer; readonly nowMs: number; readonly waitMs: number; readonly max: number },
): Promise<string> {
  const { by, nowMs, waitMs, max } = limits
  const secret = randomBytes(32).toString('hex')
  const ticket: Ticket = { hash: hashOf(secret), by, request, expires_at_ms: nowMs + waitMs }
  await changeRecord<Ticket[]>(records, ticketsKey(organization), (tickets = []) => {
    const waiting = tickets.filter(other => other.expires_at_ms > nowMs)
    if (waiting.length < max) return [...waiting, ticket]
    throw new ParleyError('REQ_BODY_INVALID', `${max} downloads wait already: fetch one first`)
  })
  return organization.replaceAll('-', '') + secret
}

/**
 * What a ticket was issued for; it opens once, whoever else comes at the same time.
 * @throws ParleyError QRY_NOT_FOUND for one that is unknown, expired or used.
 */
export async function openTicket(records: KV, ticket: string | undefined, nowMs: number): Promise<Opened> {
  const [, hex = '', secret = ''] = FORMAT.exec(ticket ?? '') ?? []
  const gone = new ParleyError('QRY_NOT_FOUND', 'the address is unknown, has expired or was used')
  if (secret === '') throw gone
  const organization = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  const hash = hashOf(secret)
  let opened: Ticket | undefined
  await changeRecord<Ticket[]>(records, ticketsKey(organization), (tickets = []) => {
    const found = tickets.find(other => other.hash === hash && other.expires_at_ms > nowMs)
    if (found === undefined) throw gone
    opened = found
    return tickets.filter(other => other !== found)
  })
  return { organization, by: opened?.by, request: opened?.request }
}
