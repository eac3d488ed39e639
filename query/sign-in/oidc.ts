// A relying party of OpenID Connect: discovery, authorization code with PKCE, state and nonce, and an ID token whose address is verified.
// On jose, which parley has anyway; what the provider says is checked before it is believed.
import type { JWTVerifyGetKey } from 'jose'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import type { Person } from '#control/identities.ts'
import { ParleyError } from '#proto/errors.ts'

/** What the operator has registered with the provider. */
export interface OidcOptions {
  /** As the provider spells it, for example https://accounts.google.com */
  readonly issuer: string
  readonly clientId: string
  /** '' = a public client, known by PKCE alone. */
  readonly clientSecret: string
  readonly redirectUri: string
  /** How long one answer of the provider may take. */
  readonly timeoutMs?: number
}

/** The two ends of the way through the provider. */
export interface Oidc {
  /** Where to send the browser. */
  authorizeUrl(way: { state: string; nonce: string; challenge: string }): Promise<string>
  /** @throws ParleyError AUTH_SIGN_IN_FAILED or AUTH_PROVIDER_FAILED. */
  finish(way: { code: string; verifier: string; nonce: string | undefined }): Promise<Person>
}

interface Discovered {
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly userinfoEndpoint: string | undefined
  readonly basicAuth: boolean
  readonly keys: JWTVerifyGetKey
}

const TIMEOUT_MS = 10_000
const DISCOVERY_MS = 3_600_000
const CLOCK_TOLERANCE_S = 30
/** What may sign an ID token: never `none`, never a shared secret. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']

/** A relying party; asks the provider for nothing before somebody signs in. */
export function createOidc(options: OidcOptions & { clock?: () => number }): Oidc {
  const { issuer, clientId, clientSecret, redirectUri, timeoutMs = TIMEOUT_MS, clock = Date.now } = options
  const ask = createAsk(timeoutMs)
  let known: { at: number; discovered: Promise<Discovered> } | undefined
  const discovered = (): Promise<Discovered> => {
    if (known === undefined || clock() - known.at > DISCOVERY_MS) {
      const asked = { at: clock(), discovered: discover(ask, issuer, timeoutMs) }
      // A provider that was away is asked again by the next one who signs in.
      asked.discovered.catch(() => {
        if (known === asked) known = undefined
      })
      known = asked
    }
    return known.discovered
  }
  return {
    authorizeUrl: async ({ state, nonce, challenge }) => {
      const url = new URL((await discovered()).authorizationEndpoint)
      const parameters = {
        ...{ response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope: 'openid email profile' },
        ...{ state, nonce, code_challenge: challenge, code_challenge_method: 'S256' },
      }
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
      return url.href
    },
    finish: async ({ code, verifier, nonce }) => {
      const provider = await discovered()
      const form = new URLSearchParams({
        ...{ grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
        ...(clientSecret !== '' && provider.basicAuth ? {} : { client_id: clientId }),
        ...(clientSecret !== '' && !provider.basicAuth ? { client_secret: clientSecret } : {}),
      })
      const basic = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`
      const tokens = await ask(provider.tokenEndpoint, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          ...(clientSecret !== '' && provider.basicAuth
            ? { authorization: `Basic ${Buffer.from(basic).toString('base64')}` }
            : {}),
        },
        body: form.toString(),
      })
      const claims = await readIdToken(textOf(tokens.id_token), provider.keys, { issuer, clientId, nonce })
      const all =
        claims.email === undefined && provider.userinfoEndpoint !== undefined
          ? { ...(await userinfo(ask, provider.userinfoEndpoint, textOf(tokens.access_token), claims.sub)), ...claims }
          : claims
      return personOf(issuer, all)
    },
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

type Claims = Readonly<Record<string, unknown>>

async function readIdToken(
  token: string,
  keys: JWTVerifyGetKey,
  expected: { issuer: string; clientId: string; nonce: string | undefined },
): Promise<Claims> {
  const { issuer, clientId, nonce } = expected
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: clientId,
      algorithms: ALGORITHMS,
      requiredClaims: ['sub', 'iat', 'exp'],
      clockTolerance: CLOCK_TOLERANCE_S,
    })
    if (payload.nonce !== nonce) throw new Error('the nonce is another one')
    if (Array.isArray(payload.aud) && payload.aud.length > 1 && payload.azp !== clientId) {
      throw new Error('the token was issued to another party')
    }
    return payload
  } catch (cause) {
    throw new ParleyError('AUTH_SIGN_IN_FAILED', 'the ID token is not valid', { cause })
  }
}

async function userinfo(ask: Ask, url: string, accessToken: string, subject: unknown): Promise<Claims> {
  const claims = await ask(url, { headers: { authorization: `Bearer ${accessToken}` } })
  // A mixed-up answer would be somebody else's address.
  if (claims.sub !== subject) throw new ParleyError('AUTH_SIGN_IN_FAILED', 'userinfo speaks of somebody else')
  return claims
}

function personOf(issuer: string, claims: Claims): Person {
  const { sub, email, email_verified, name, picture } = claims
  if (typeof email !== 'string' || !/^[^\s@]+@[^\s@]+$/.test(email) || email.length > 254) {
    throw new ParleyError('AUTH_SIGN_IN_FAILED', 'the provider names no address')
  }
  if (email_verified !== true && email_verified !== 'true') {
    throw new ParleyError('AUTH_SIGN_IN_FAILED', 'the address is not verified')
  }
  return {
    issuer,
    subject: textOf(sub),
    email,
    name: typeof name === 'string' && name !== '' ? name.slice(0, 200) : email,
    picture_url: typeof picture === 'string' && picture.startsWith('https://') ? picture.slice(0, 2000) : null,
  }
}

async function discover(ask: Ask, issuer: string, timeoutMs: number): Promise<Discovered> {
  const found = await ask(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {})
  if (found.issuer !== issuer) throw failed(`it calls itself ${JSON.stringify(found.issuer)}, not ${issuer}`)
  const address = (name: string): string => {
    const value = found[name]
    if (typeof value === 'string' && URL.canParse(value)) return value
    throw failed(`its discovery document has no ${name}`)
  }
  const methods = found.token_endpoint_auth_methods_supported
  return {
    authorizationEndpoint: address('authorization_endpoint'),
    tokenEndpoint: address('token_endpoint'),
    userinfoEndpoint: found.userinfo_endpoint === undefined ? undefined : address('userinfo_endpoint'),
    // The default where a provider does not say.
    basicAuth: !Array.isArray(methods) || methods.includes('client_secret_basic'),
    keys: createRemoteJWKSet(new URL(address('jwks_uri')), { timeoutDuration: timeoutMs }),
  }
}

type Ask = (url: string, init: RequestInit) => Promise<Claims>

/** Fetches objects from the provider. A refused POST is a sign-in that failed, everything else a provider that did. */
function createAsk(timeoutMs: number): Ask {
  return async (url, init) => {
    let response: Response
    let body: unknown
    try {
      response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
      body = await response.json()
    } catch (cause) {
      throw failed(`${new URL(url).origin} does not answer with JSON`, cause)
    }
    if (response.status >= 400 && response.status < 500 && init.method === 'POST') {
      const { error } = Object(body) as { error?: unknown }
      throw new ParleyError('AUTH_SIGN_IN_FAILED', `the provider refused it: ${textOf(error).slice(0, 100)}`)
    }
    if (!response.ok || typeof body !== 'object' || body === null) {
      throw failed(`${new URL(url).origin} answers ${response.status}`)
    }
    return body as Claims
  }
}

const failed = (detail: string, cause?: unknown): ParleyError =>
  new ParleyError('AUTH_PROVIDER_FAILED', detail, { cause })
