// The control plane's records: what stands under which key of the control bucket. One key a record; keys are derived, so that a
// half-done pair can be finished by any reader.
import { createHash } from 'node:crypto'
import type { PriceOverride } from '#proto/prices.ts'
import type { Keep } from '#proto/retention.ts'
import type { Rule } from '#proto/rules.ts'

/** Key `organization.<id>`. */
export interface Organization {
  readonly id: string
  readonly name: string
  /** Short, public, stable. */
  readonly display_id: string
  readonly subscription: string
  readonly active: boolean
  /** Class of retention that its rows are stored under. */
  readonly retention: number
  /** How long its rows are kept. Absent: for ever. */
  readonly keep?: Keep
  readonly created_at: string
  /** Ingestion needs an API key with the scope `write` beside the organization id. Absent: it does not. */
  readonly require_write_key?: boolean
}

/** Key `user.<id>`. */
export interface User {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly created_at: string
  readonly picture_url?: string | null
}

/** Key `email.<hash of the address>`: whose address it is. Made by `create`, so an address has one user. */
export interface EmailClaim {
  readonly user: string
}

/** Each can do what those before it can. */
export const roles = ['viewer', 'member', 'admin', 'owner'] as const
export type Role = (typeof roles)[number]

/** True when `role` can do what `least` can. */
export const reaches = (role: Role, least: Role): boolean => roles.indexOf(role) >= roles.indexOf(least)

/** Key `member.<organization>.<user>`. */
export interface Membership {
  readonly organization: string
  readonly user: string
  readonly role: Role
  readonly created_at: string
  /** That of the invitation it came from; absent: the user's. */
  readonly id?: string
}

/** Key `invitation.<organization>.<hash of the address>`: a membership that waits for its user's first sign-in. */
export interface Invitation {
  readonly id: string
  readonly organization: string
  readonly email: string
  readonly role: Role
  readonly created_at: string
  readonly created_by: string
}

/** read = what a viewer may, admin = what an admin may, write = ingestion where the organization demands a key. */
export const scopes = ['read', 'write', 'admin'] as const
export type Scope = (typeof scopes)[number]

/** Key `apikey.<sha256 of the key>`: the key itself is stored nowhere. */
export interface ApiKey {
  readonly id: string
  readonly organization: string
  readonly name: string
  readonly created_at: string
  readonly created_by: string
  /** Absent in keys that are older than scopes: all. */
  readonly scopes?: readonly Scope[]
  /** ISO 8601; null or absent = never. */
  readonly expires_at?: string | null
}

/** Key `apikey-use.<id>`: when a key was last used, some minutes exact. */
export interface ApiKeyUse {
  readonly at: string
}

/** Key `signing.<kid>`: a private JWK for bearer tokens. */
export interface SigningKey {
  readonly kid: string
  readonly alg: 'ES256'
  readonly jwk: Readonly<Record<string, unknown>>
  readonly created_at: string
}

/** Key `password.<user>`: scrypt with its cost. */
export interface Password {
  readonly N: number
  readonly r: number
  readonly p: number
  readonly salt: string
  readonly hash: string
  readonly changed_at: string
}

/** Key `identity.<hash of issuer and subject>`: whose identity it is. */
export interface Identity {
  readonly user: string
  readonly issuer: string
  readonly subject: string
}

export type SignInMethod = 'password' | 'oidc'

/** Key `session.<id>`: a browser that is signed in. */
export interface SignInSession {
  readonly id: string
  readonly user: string
  readonly method: SignInMethod
  readonly created_at: string
  readonly expires_at: string
}

/** Key `secret.<use>`: random bytes that every node has to share, in base64url. */
export interface SharedSecret {
  readonly secret: string
}

/** Key `guard`: whether there is room for new payloads, as whoever sees the disk says. `low`: for these, and not for work that can wait. */
export interface Guard {
  readonly disk: 'ok' | 'low' | 'full'
  readonly free_percent: number
  readonly at: string
}

/** What an organization says about how its payloads become rows. Its hash names it in the recipes of what was stored by it. */
export interface Reading {
  readonly prices: readonly PriceOverride[]
  readonly rules: readonly Rule[]
}

/** Key `reading.<organization>`: what holds now. */
export interface ReadingRecord extends Reading {
  readonly hash: string
  /** Hashes of what held before, newest first: as long as one is listed, its copy is kept. */
  readonly earlier: readonly string[]
  readonly updated_at: string
  readonly updated_by: string
}

export const GUARD_KEY = 'guard'
export const organizationKey = (id: string): string => `organization.${id}`
export const userKey = (id: string): string => `user.${id}`
export const membershipKey = (organization: string, user: string): string => `member.${organization}.${user}`
export const emailKey = (email: string): string => `email.${hashEmail(email)}`
export const invitationKey = (organization: string, email: string): string =>
  `invitation.${organization}.${hashEmail(email)}`
/** The users who own an organization: a list changed by compare-and-set, so that two owners cannot leave at once. */
export const ownersKey = (organization: string): string => `owners.${organization}`
/** What is left of a closed organization, until its rows are gone. */
export const closedKey = (organization: string): string => `closed.${organization}`
export const displayKey = (displayId: string): string => `display.${displayId}`
export const passwordKey = (user: string): string => `password.${user}`
export const identityKey = (hash: string): string => `identity.${hash}`
export const sessionKey = (id: string): string => `session.${id}`
export const secretKey = (use: string): string => `secret.${use}`
export const apiKeyUseKey = (id: string): string => `apikey-use.${id}`
export const apiKeyKey = (hash: string): string => `apikey.${hash}`
export const readingKey = (organization: string): string => `reading.${organization}`
/** The same by its hash, written once: what was stored by it can be stored in the same way again. */
export const readingCopyKey = (organization: string, hash: string): string => `reading-copy.${organization}.${hash}`
export const signingKeyKey = (kid: string): string => `signing.${kid}`

/** `<prefix>_<64 hex>` */
export const API_KEY_FORMAT = /^[a-z]+_[0-9a-f]{64}$/
export const API_KEY_PREFIX = 'parley'

/** The hash under which an API key is stored: SHA-256 in hex. The key has 256 random bits, so no salt is needed. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/** An address as it is compared: people write their own in several ways. */
export const plainEmail = (email: string): string => email.trim().toLowerCase()

/** Keys of a bucket have no room for every character of an address. */
function hashEmail(email: string): string {
  return createHash('sha256').update(plainEmail(email)).digest('hex')
}

/** True for a key that may still be used. */
export function isLive(key: ApiKey, nowMs: number): boolean {
  return key.expires_at === undefined || key.expires_at === null || Date.parse(key.expires_at) > nowMs
}

/** What a key may do. */
export const scopesOf = (key: ApiKey): readonly Scope[] => key.scopes ?? scopes

/** Keys of lists that the dashboard keeps for an organization, one record a list. */
export const chartsKey = (organization: string): string => `charts.${organization}`
export const viewsKey = (organization: string): string => `views.${organization}`
export const ticketsKey = (organization: string): string => `tickets.${organization}`
export const metadataKeysKey = (organization: string, of: 'event' | 'conversation'): string =>
  `metadata-keys.${organization}.${of}`
