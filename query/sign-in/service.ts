// Signing in: by password or by an identity provider -> a sign-in kept by cookie, and bearer tokens that end with it.
import { timingSafeEqual } from 'node:crypto'
import { signToken } from '#control/admin.ts'
import type { Person } from '#control/identities.ts'
import { userOfPerson } from '#control/identities.ts'
import type { Control } from '#control/members.ts'
import { claimInvitations, settled } from '#control/members.ts'
import { setPassword } from '#control/passwords.ts'
import type { SignInMethod, SignInSession, User } from '#control/records.ts'
import { createSession, endSession, findSession, SESSION_MS } from '#control/sessions.ts'
import { rotateSigningKeys, TOKEN_S } from '#control/signing.ts'
import { ParleyError } from '#proto/errors.ts'
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { Audit } from '../audit.ts'
import type { Headers } from '../auth.ts'
import type { Cookies } from './cookies.ts'
import { createCookies, isCrossSite } from './cookies.ts'
import type { Oidc } from './oidc.ts'
import type { Tries } from './tries.ts'
import { createTries } from './tries.ts'
import { challengeOf, createWays, newWay, WAY_S } from './way.ts'

/** What signing in is built from. */
export interface SignInOptions {
  readonly control: Control
  /** Null where no identity provider is set. */
  readonly oidc: Oidc | null
  /** What people read on the button. */
  readonly oidcName: string
  readonly passwords: boolean
  readonly signUp: 'open' | 'invited'
  /** Address of this site as browsers see it. */
  readonly publicUrl: string
  readonly audit?: Audit
  readonly metrics: Metrics
  readonly log: Log
  readonly clock?: () => number
}

/** Somebody who asks, before it is known who. */
export interface Visitor {
  readonly headers: Headers
  /** Address that the request came from, for counting attempts. */
  readonly address: string
}

/** A token, and the cookies that come with it. */
export interface SignedIn {
  readonly token: string
  readonly expires_at: string
  readonly cookies: readonly string[]
}

export type SignIn = ReturnType<typeof createSignIn>

/** Builds it. */
export function createSignIn(options: SignInOptions) {
  const { control, oidc, passwords, publicUrl, metrics, log, clock = Date.now } = options
  const { view } = control
  const parts: Parts = {
    ...{ options, clock, cookies: createCookies(publicUrl) },
    tries: createTries({ control, metrics, log, clock }),
  }
  return {
    /** Where browsers find this installation. */
    publicUrl,
    methods: () => ({
      password: passwords,
      oidc: oidc === null ? null : { name: options.oidcName, url: '/auth/login' },
      sign_up: options.signUp,
    }),
    ...passwordWay(parts),
    ...providerWay(parts),
    ...keptSignIn(parts),
    /** The public halves of the keys that sign tokens. */
    keys: () => ({
      keys: view.signingKeys().map(({ kid, alg, jwk: { d: _private, ...jwk } }) => ({ ...jwk, kid, alg, use: 'sig' })),
    }),
  }
}

/** What every way is built from. */
interface Parts {
  readonly options: SignInOptions
  readonly clock: () => number
  readonly cookies: Cookies
  readonly tries: Tries
}

/** A token for a sign-in; the organization has to be open to the user. */
async function tokenFor({ options, clock }: Parts, user: User, session: SignInSession, organization?: string) {
  const { control } = options
  if (organization !== undefined && control.view.membership(organization, user.id) === undefined) {
    throw new ParleyError('AUTH_FORBIDDEN')
  }
  const nowMs = clock()
  const key = await rotateSigningKeys(control.records, control.view, nowMs)
  const claims = { user, organization: organization ?? firstOf(control, user), session: session.id }
  const token = await signToken(key, claims, TOKEN_S)
  return { token, expires_at: new Date(nowMs + TOKEN_S * 1000).toISOString() }
}

/** Keeps a sign-in of somebody who is known now. */
async function enter(parts: Parts, user: User, method: SignInMethod, address: string): Promise<SignedIn> {
  const { options, clock, cookies, tries } = parts
  const { control, log } = options
  await claimInvitations(control, user)
  const kept = { user: user.id, method, nowMs: clock() }
  const { secret, session } = await createSession(control.records, control.view, kept)
  await settled(control)
  const issued = await tokenFor(parts, user, session)
  // It opens every organization of the user, so each of them is told.
  for (const { organization } of control.view.membershipsOf(user.id)) {
    const event = { organization, actor: { kind: 'user', id: user.id }, action: `sign-in.${method}` } as const
    await options.audit?.note({ ...event, target: session.id.slice(0, 16), address, request: '' })
  }
  tries.entered(method)
  log.info({ user: user.id, method }, 'somebody signed in')
  return { ...issued, cookies: [cookies.session.set(secret, SESSION_MS / 1000)] }
}

function passwordWay(parts: Parts) {
  const { tries } = parts
  const { control, passwords, publicUrl, log } = parts.options
  const { records, view } = control
  const requirePasswords = (): void => {
    if (!passwords) throw new ParleyError('AUTH_METHOD_OFF')
  }
  return {
    withPassword: async ({ headers, address }: Visitor, email: string, password: string): Promise<SignedIn> => {
      requirePasswords()
      // Somebody else's page must not sign a browser in as somebody else.
      if (isCrossSite(headers, publicUrl)) throw new ParleyError('AUTH_CROSS_SITE')
      const user = view.userByEmail(email)
      const by = { method: 'password', address, account: `${address} ${email.toLowerCase()}` } as const
      const entered = await tries.attempt(by, () => tries.checked(user, password))
      tries.passed(by.account)
      return enter(parts, entered, 'password', address)
    },

    changePassword: async (user: User, before: string, after: string): Promise<void> => {
      requirePasswords()
      const by = { method: 'password', address: user.id, account: user.id } as const
      await tries.attempt(by, () => tries.checked(user, before))
      await setPassword(records, user.id, after)
      for (const session of view.sessionsOf(user.id)) await endSession(records, session.id)
      await settled(control)
      log.info({ user: user.id }, 'a password was changed; its sign-ins ended')
    },
  }
}

function providerWay(parts: Parts) {
  const { cookies, tries } = parts
  const { control, oidc, signUp } = parts.options
  const ways = createWays(control.records)
  const requireOidc = (): Oidc => {
    if (oidc === null) throw new ParleyError('AUTH_METHOD_OFF')
    return oidc
  }
  return {
    /** Where to send the browser, and what it carries. */
    begin: async (redirect: string): Promise<{ url: string; cookie: string }> => {
      const provider = requireOidc()
      const way = newWay(redirect)
      const url = await provider.authorizeUrl({ ...way, challenge: challengeOf(way.verifier) })
      return { url, cookie: cookies.login.set(await ways.seal(way), WAY_S) }
    },

    /** The end of the way: `redirect` is where it was to lead to. */
    finish: async ({ headers, address }: Visitor, code: string, state: string) => {
      const provider = requireOidc()
      const way = await ways.open(cookies.login.read(headers))
      const by = { method: 'oidc', address, account: address } as const
      const person = await tries.attempt(by, async (): Promise<Person> => {
        if (way === undefined || !isSame(way.state, state)) throw new ParleyError('AUTH_SIGN_IN_FAILED', 'begin again')
        return provider.finish({ code, verifier: way.verifier, nonce: way.nonce })
      })
      const entered = await enter(parts, await userOfPerson(control, person, signUp), 'oidc', address)
      return { ...entered, cookies: [...entered.cookies, cookies.login.clear()], redirect: way?.redirect ?? '/' }
    },

    /** The path that a failed way was to lead to. */
    leave: async (headers: Headers) => {
      const way = await ways.open(cookies.login.read(headers))
      return { redirect: way?.redirect ?? '/', cookies: [cookies.login.clear()] }
    },
  }
}

function keptSignIn(parts: Parts) {
  const { cookies, clock } = parts
  const { control, publicUrl, log } = parts.options
  const { records, view } = control
  const sessionOf = (headers: Headers): SignInSession => {
    if (isCrossSite(headers, publicUrl)) throw new ParleyError('AUTH_CROSS_SITE')
    const session = findSession(view, cookies.session.read(headers), clock())
    if (session === undefined) throw new ParleyError('AUTH_SIGNED_OUT')
    return session
  }
  return {
    refresh: async (headers: Headers, organization: string | undefined) => {
      const session = sessionOf(headers)
      const user = view.user(session.user)
      if (user === undefined) throw new ParleyError('AUTH_SIGNED_OUT')
      return tokenFor(parts, user, session, organization)
    },

    signOut: async (headers: Headers): Promise<string[]> => {
      const session = sessionOf(headers)
      await endSession(records, session.id)
      await settled(control)
      log.info({ user: session.user }, 'somebody signed out')
      return [cookies.session.clear()]
    },
  }
}

/** The organization that a token chooses where nobody said: the one the user has been in longest. */
function firstOf({ view }: Control, user: User): string | undefined {
  const memberships = view.membershipsOf(user.id).filter(({ organization }) => view.organization(organization)?.active)
  return memberships.sort((a, b) => (a.created_at < b.created_at ? -1 : 1))[0]?.organization
}

function isSame(a: string, b: string): boolean {
  const [x, y] = [Buffer.from(a), Buffer.from(b)]
  return x.length === y.length && timingSafeEqual(x, y)
}
