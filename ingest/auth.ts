// Organization header -> organization, or the refusal that the surface's rules ask for; and where the organization demands it, API key
// -> may it write. Answers from the live copy of the control records: no I/O.
import type { ApiKey } from '#control/records.ts'
import { API_KEY_FORMAT, hashApiKey, isLive, scopesOf } from '#control/records.ts'
import type { ControlView } from '#control/view.ts'
import type { Organization } from '#ingest/verdict.ts'
import type { ErrorCode } from '#proto/errors.ts'
import { isUuid, uuidBytes } from '#proto/ids.ts'

/** Why a header names no organization that may ingest. */
export type AuthProblem = 'missing' | 'malformed' | 'unknown' | 'inactive'

/** Checks a header value ('' = absent). */
export type Authenticate = (header: string) => Organization | AuthProblem

/** Header texts whose organization is remembered. */
const MAX_REMEMBERED = 10_000

/** A check against the live control records. */
export function createAuthenticate(view: Pick<ControlView, 'organization' | 'onOrganization'>): Authenticate {
  // Active organizations by header text as it came: upper and lower case of one id are two entries.
  const remembered = new Map<string, Organization>()
  // Senders come in runs: comparing with the last text costs a fraction of hashing a new string for the map.
  let lastHeader = ''
  let last: Organization | undefined
  view.onOrganization(() => {
    remembered.clear()
    lastHeader = ''
    last = undefined
  })
  const check = (header: string): Organization | AuthProblem => {
    if (header === '') return 'missing'
    if (!isUuid(header)) return 'malformed'
    const id = header.toLowerCase()
    const record = view.organization(id)
    if (record === undefined) return 'unknown'
    if (!record.active) return 'inactive'
    const organization = { id, bytes: uuidBytes(id), needsKey: record.require_write_key === true }
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(header, organization)
    return organization
  }
  return header => {
    if (last !== undefined && header === lastHeader) return last
    const organization = remembered.get(header) ?? check(header)
    if (typeof organization === 'string') return organization
    lastHeader = header
    last = organization
    return organization
  }
}

/** Checks the headers `x-api-key` and `authorization` ('' = absent); null = the key may write into the organization. */
export type CheckWriteKey = (organization: string, apiKey: string, authorization: string) => ErrorCode | null

const BEARER = /^Bearer +(\S+)$/i

/** A check of write keys. A revoked key is gone from the live copy, so nothing is remembered here. */
export function createCheckWriteKey(deps: {
  view: Pick<ControlView, 'apiKey'>
  onKey: (key: ApiKey) => void
  clock?: () => number
}): CheckWriteKey {
  const { view, onKey, clock = Date.now } = deps
  return (organization, apiKey, authorization) => {
    const text = apiKey === '' ? (BEARER.exec(authorization)?.[1] ?? authorization) : apiKey
    if (text === '') return 'AUTH_CREDENTIAL_MISSING'
    const record = API_KEY_FORMAT.test(text) ? view.apiKey(hashApiKey(text)) : undefined
    if (record === undefined || !isLive(record, clock()) || !scopesOf(record).includes('write')) {
      return 'AUTH_CREDENTIAL_INVALID'
    }
    if (record.organization !== organization) return 'AUTH_FORBIDDEN'
    onKey(record)
    return null
  }
}

/** Codes of the SDK endpoints and the collector. */
export const credentialCodes: Readonly<Record<AuthProblem, ErrorCode>> = {
  missing: 'AUTH_ORG_MISSING',
  malformed: 'AUTH_ORG_INVALID',
  unknown: 'AUTH_ORG_UNKNOWN',
  inactive: 'AUTH_ORG_INACTIVE',
}

/** Codes of the voice endpoint, whose callers know 400 and 422 only. */
export const voiceCodes: Readonly<Record<AuthProblem, ErrorCode>> = {
  missing: 'ING_VOICE_ORG_MISSING',
  malformed: 'ING_VOICE_ORG_INVALID',
  unknown: 'ING_VOICE_ORG_INVALID',
  inactive: 'ING_VOICE_ORG_INVALID',
}
