// Credential headers -> who asks, and for which organization. Asks the control view only: no I/O, and a revoked key or token
// stops working within the view's latency.
import type { CryptoKey } from 'jose'
import { importJWK, jwtVerify } from 'jose'
import { TOKEN_AUDIENCE, TOKEN_ISSUER } from '#control/admin.ts'
import type { ApiKey, Organization, Role, SigningKey, User } from '#control/records.ts'
import { API_KEY_FORMAT, hashApiKey, isLive, scopesOf } from '#control/records.ts'
import type { ControlView } from '#control/view.ts'
import { ParleyError } from '#proto/errors.ts'
import { isUuid } from '#proto/ids.ts'

/** Request headers as Node gives them. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>

/** An API key, which belongs to one organization. */
export interface KeyPrincipal {
  readonly kind: 'key'
  readonly organization: string
  readonly key: ApiKey
}

/** A user with the organization chosen last. */
export interface UserPrincipal {
  readonly kind: 'user'
  readonly user: User
  readonly chosen: string | undefined
}

/** Whoever holds a one-time address of an organization: see tickets.ts. */
export interface TicketPrincipal {
  readonly kind: 'ticket'
  readonly organization: string
}

/** Who asks. */
export type Principal = KeyPrincipal | UserPrincipal | TicketPrincipal

/** The author of what an API key made, as records keep it; which key it was stands in the audit log. */
export const KEY_AUTHOR = 'api-key'

/** Who made or changed a record, as the record keeps it. */
export const authorOf = (principal: Principal): string => (principal.kind === 'user' ? principal.user.id : KEY_AUTHOR)

/** What a request and its endpoint say about the organization beside `x-org-id`. */
export interface AskedOrganization {
  /** `org_id` as it was sent. */
  readonly named?: unknown
  /** An id of no organization is 404; otherwise it is one that the credential has no access to, 403. */
  readonly tellsUnknown?: boolean
}

/** The questions of every dashboard request. */
export interface Authenticator {
  /** @throws ParleyError AUTH_CREDENTIAL_MISSING or AUTH_CREDENTIAL_INVALID (401). */
  principalOf(headers: Headers, allowed: 'bearer' | 'any'): Promise<Principal>
  /** What a credential may do in an organization; undefined = nothing. An API key is as good as its scopes. */
  roleIn(principal: Principal, organization: string): Role | undefined
  /**
   * The organization that a path names.
   * @throws ParleyError QRY_NOT_FOUND (404), AUTH_FORBIDDEN (403) or AUTH_ORG_INACTIVE (401).
   */
  organizationNamed(principal: Principal, id: string): Organization
  /**
   * The organization of a request: the explicit one (`named` in query or body, or x-org-id), else that of the credential.
   * @throws ParleyError AUTH_ORG_INVALID or AUTH_ORG_INACTIVE (401), AUTH_FORBIDDEN (403), AUTH_ORG_AMBIGUOUS (400),
   * QRY_NOT_FOUND (404) when the credential's organization is gone, or with `tellsUnknown` when there is none of the id.
   */
  organizationOf(principal: Principal, headers: Headers, asked?: AskedOrganization): Organization
}

/** Seconds that clocks of one deployment may differ. */
const CLOCK_TOLERANCE_S = 5
const BEARER = /^Bearer +([\w.~+/-]+=*)$/i

/** An authenticator over the live copy of the control plane; `onKey` hears of every use of an API key. */
export function createAuthenticator(
  view: ControlView,
  options: { onKey?: (key: ApiKey) => void; clock?: () => number } = {},
): Authenticator {
  const { onKey, clock = Date.now } = options
  const publicKey = publicKeysOf(view)

  const userOf = async (token: string): Promise<Principal> => {
    let claims: { sub?: string; org_id?: unknown; sid?: unknown }
    try {
      const { payload } = await jwtVerify(token, header => publicKey(header.kid), {
        issuer: TOKEN_ISSUER,
        audience: TOKEN_AUDIENCE,
        // Pinned: the token's own header must not choose how it is checked.
        algorithms: ['ES256'],
        requiredClaims: ['sub', 'iat', 'exp'],
        clockTolerance: CLOCK_TOLERANCE_S,
      })
      claims = payload
    } catch (cause) {
      throw new ParleyError('AUTH_CREDENTIAL_INVALID', undefined, { cause })
    }
    const user = view.user(claims.sub ?? '')
    // A token of a sign-in ends with it; one that the launcher signed has none.
    const ended = claims.sid !== undefined && (typeof claims.sid !== 'string' || view.session(claims.sid) === undefined)
    if (user === undefined || ended) throw new ParleyError('AUTH_CREDENTIAL_INVALID')
    return { kind: 'user', user, chosen: typeof claims.org_id === 'string' ? claims.org_id : undefined }
  }

  const belongs = (principal: Principal, organization: string): boolean =>
    principal.kind === 'user'
      ? view.membership(organization, principal.user.id) !== undefined
      : principal.organization === organization
  const roleIn = (principal: Principal, organization: string): Role | undefined => {
    if (!belongs(principal, organization)) return undefined
    if (principal.kind === 'user') return view.membership(organization, principal.user.id)?.role
    // What a ticket opens was allowed when it was issued.
    return principal.kind === 'ticket' ? 'viewer' : roleOfKey(principal.key)
  }

  return {
    principalOf: async (headers, allowed) => {
      const { authorization } = headers
      if (authorization !== undefined) {
        const token = BEARER.exec(String(authorization))?.[1]
        if (token === undefined) throw new ParleyError('AUTH_CREDENTIAL_INVALID')
        return userOf(token)
      }
      const apiKey = headers['x-api-key']
      if (apiKey === undefined || apiKey === '') throw new ParleyError('AUTH_CREDENTIAL_MISSING')
      if (allowed === 'bearer')
        throw new ParleyError('AUTH_CREDENTIAL_INVALID', 'this endpoint takes a bearer token only')
      const text = String(apiKey)
      const record = API_KEY_FORMAT.test(text) ? view.apiKey(hashApiKey(text)) : undefined
      if (record === undefined || !isLive(record, clock())) throw new ParleyError('AUTH_CREDENTIAL_INVALID')
      onKey?.(record)
      return { kind: 'key', organization: record.organization, key: record }
    },
    roleIn,
    organizationNamed: (principal, id) => {
      const organization = view.organization(id)
      if (organization === undefined) throw new ParleyError('QRY_NOT_FOUND', 'the organization does not exist')
      if (!belongs(principal, id)) throw new ParleyError('AUTH_FORBIDDEN')
      if (!organization.active) throw new ParleyError('AUTH_ORG_INACTIVE')
      return organization
    },
    organizationOf: (principal, headers, { named, tellsUnknown = false } = {}) => {
      const id = explicit(headers, named) ?? implied(view, principal)
      const organization = view.organization(id)
      const isTold = tellsUnknown && organization === undefined
      if (!isTold && !belongs(principal, id)) throw new ParleyError('AUTH_FORBIDDEN')
      if (organization === undefined) throw new ParleyError('QRY_NOT_FOUND', 'the organization does not exist')
      if (!organization.active) throw new ParleyError('AUTH_ORG_INACTIVE')
      return organization
    },
  }
}

/** Public halves of signing keys by their ids; a private one would verify as well, but has no business in here. */
function publicKeysOf(view: ControlView): (kid: string | undefined) => Promise<CryptoKey | Uint8Array> {
  const keys = new Map<string, { record: SigningKey; key: CryptoKey | Uint8Array }>()
  return async kid => {
    const record = kid === undefined ? undefined : view.signingKey(kid)
    if (record === undefined) throw new ParleyError('AUTH_CREDENTIAL_INVALID')
    const cached = keys.get(record.kid)
    // The view makes a new object for every change of a record, so identity tells a changed key from the cached one.
    if (cached?.record === record) return cached.key
    const { d: _private, ...jwk } = record.jwk
    const key = await importJWK(jwk, record.alg)
    keys.set(record.kid, { record, key })
    return key
  }
}

/** What the scopes of a key amount to. `write` is for ingestion and opens nothing here. */
function roleOfKey(key: ApiKey): Role | undefined {
  const scopes = scopesOf(key)
  if (scopes.includes('admin')) return 'admin'
  return scopes.includes('read') ? 'viewer' : undefined
}

/** The organization that the request names, in lower case. */
function explicit(headers: Headers, named: unknown): string | undefined {
  const header = headers['x-org-id']
  const inHeader = header === undefined || header === '' ? undefined : String(header).toLowerCase()
  if (inHeader !== undefined && !isUuid(inHeader)) throw new ParleyError('AUTH_ORG_INVALID')
  if (named !== undefined && (typeof named !== 'string' || !isUuid(named))) {
    throw new ParleyError('REQ_BODY_INVALID', 'org_id must be a uuid', { field: 'org_id' })
  }
  const inRequest = named?.toLowerCase()
  if (inRequest !== undefined && inHeader !== undefined && inRequest !== inHeader) {
    throw new ParleyError('AUTH_ORG_AMBIGUOUS', 'org_id and x-org-id differ', { field: 'org_id' })
  }
  return inRequest ?? inHeader
}

/** The organization that the credential stands for. */
function implied(view: ControlView, principal: Principal): string {
  if (principal.kind !== 'user') return principal.organization
  if (principal.chosen !== undefined) return principal.chosen
  const memberships = view.membershipsOf(principal.user.id)
  const only = memberships.length === 1 ? memberships[0] : undefined
  if (only === undefined) throw new ParleyError('AUTH_ORG_AMBIGUOUS')
  return only.organization
}
