// A request -> who asks, for which organization, what they may do there, and the request as it was sent. Refuses in this order: 401,
// 403, 400.
import type { Control } from '#control/members.ts'
import type { Organization, Role } from '#control/records.ts'
import { isLive, reaches } from '#control/records.ts'
import { ParleyError } from '#proto/errors.ts'
import { isUuid } from '#proto/ids.ts'
import type { Access } from './access.ts'
import type { Authenticator, Principal } from './auth.ts'
import type { PlainRequest } from './endpoint.ts'
import { openAddress } from './signed-address.ts'
import type { Issuer } from './tickets.ts'
import { openTicket } from './tickets.ts'

/** What an admitted request comes with. */
export interface Admitted {
  /** Null where everybody may ask. */
  readonly principal: Principal | null
  /** Null where the endpoint is about no organization. */
  readonly entered: { readonly organization: Organization; readonly role: Role } | null
  /** The request's value, before any check; rejects with what is wrong with its text. */
  readonly asked: (method: string) => Promise<unknown>
}

/** @throws ParleyError as Authenticator says; AUTH_ROLE (403) when the role does not reach; QRY_NOT_FOUND for a ticket or a signed address. */
export async function admit(
  { authenticator, control }: { readonly authenticator: Authenticator; readonly control: Control },
  access: Access,
  plain: PlainRequest,
  nowMs: number,
): Promise<Admitted> {
  const { headers, params, query, body } = plain
  if (access.credential === 'address' || access.credential === 'signed') {
    const { organization, by, request } =
      access.credential === 'address'
        ? await openTicket(control.records, params.ticket, nowMs)
        : await openAddress(control.view, params.token, nowMs)
    if (by !== undefined && !stillHolds(control, organization, by, nowMs)) {
      throw new ParleyError('QRY_NOT_FOUND', 'who asked for the address has no access any more')
    }
    const principal = { kind: 'ticket', organization } as const
    // Whatever else a browser sends along counts for nothing.
    const entered = enter(authenticator, access, principal, { ...plain, headers: {} })
    return { principal, entered, asked: async () => request }
  }
  const asked = async (method: string) => (method === 'GET' ? { ...(query as object) } : parseBody(await body()))
  if (access.credential === 'none') return { principal: null, entered: null, asked }
  const principal = await authenticator.principalOf(headers, access.credential)
  const entered = enter(authenticator, access, principal, plain)
  return { principal, entered, asked }
}

/** Who ordered still may: the key lives, the person is a member. */
function stillHolds({ view }: Control, organization: string, by: Issuer, nowMs: number): boolean {
  if ('user' in by) return view.membershipsOf(by.user).some(membership => membership.organization === organization)
  return view.apiKeysOf(organization).some(({ record }) => record.id === by.key && isLive(record, nowMs))
}

function enter(
  authenticator: Authenticator,
  access: Access,
  principal: Principal,
  { headers, params, query }: PlainRequest,
): Admitted['entered'] {
  if (access.role === null) return null
  const named = access.named ? (query as { org_id?: unknown }).org_id : undefined
  const { tellsUnknown } = access
  const organization =
    access.organization === 'path'
      ? authenticator.organizationNamed(principal, readParams(params).id ?? '')
      : authenticator.organizationOf(principal, headers, { named, tellsUnknown })
  const role = authenticator.roleIn(principal, organization.id)
  if (role === undefined || !reaches(role, access.role)) throw new ParleyError('AUTH_ROLE', `it takes ${access.role}`)
  return { organization, role }
}

/** Names of path values that are ids of records; a `user_id` is whatever senders say. */
const RECORD_ID = /^(id|member_id|invitation_id)$/

/** @throws ParleyError REQ_BODY_INVALID for an id that is no uuid. */
export function readParams(params: PlainRequest['params']): Readonly<Record<string, string>> {
  const read: Record<string, string> = {}
  for (const [name, value] of Object.entries(params)) {
    const isId = RECORD_ID.test(name)
    if (isId && !isUuid(value)) throw new ParleyError('REQ_BODY_INVALID', `${name} must be a uuid`, { field: name })
    read[name] = isId ? value.toLowerCase() : value
  }
  return read
}

/** An absent body stands for "all defaults". */
function parseBody(body: Uint8Array): unknown {
  if (body.length === 0) return {}
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'))
  } catch (cause) {
    throw new ParleyError('REQ_JSON_INVALID', undefined, { cause })
  }
}
