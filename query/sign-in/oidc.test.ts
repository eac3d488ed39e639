// Signing in through a real OpenID provider over HTTP, as a browser does: redirects, forms and cookies by hand.
import { decodeJwt } from 'jose'
import t from 'tap'
import { createOrganization, createOwner } from '#control/admin.ts'
import { addMember } from '#control/members.ts'
import { eventually } from '#test/rig.ts'
import { startControlNode } from '../fixture-control.ts'
import { CLIENT_SECRET, startProvider } from './fixture-provider.ts'
import { createOidc } from './oidc.ts'

const SITE = 'http://parley.example'
type Test = Pick<typeof t, 'equal' | 'match'>

const issuer = await startProvider(t, [`${SITE}/auth/callback`])
/** A slow machine is no provider that fails. */
const timeoutMs = 300_000
const redirectUri = `${SITE}/auth/callback`
const oidc = createOidc({ issuer, clientId: 'parley', clientSecret: CLIENT_SECRET, redirectUri, timeoutMs })
const signInOptions = { oidc, oidcName: 'Example', passwords: false, publicUrl: SITE }
const node = await startControlNode(t, { signIn: { ...signInOptions, signUp: 'invited' } })
const { ask, records, view } = node
const organization = await createOrganization(records, { name: 'shop' })
const owner = await createOwner(records, organization.id, { email: 'owner@example.org', name: 'Owner' })
await eventually('the organization', () => view.membershipsOf(owner.id).length === 1)
await addMember(
  { records, view },
  { organization: organization.id, email: 'ada@example.org', role: 'admin', by: owner.id },
)
await eventually('the invitation', () => view.invitationsTo('ada@example.org').length === 1)

/** A browser at the provider: from its authorization page to the address that it leads back to. */
async function browse(address: string, login: string): Promise<URL> {
  const jar = new Map<string, string>()
  let url = new URL(address)
  let form: URLSearchParams | undefined
  for (let step = 0; step < 20; step++) {
    if (url.origin === SITE) return url
    const answer = await fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === undefined ? {} : { body: form }),
    })
    for (const cookie of answer.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';')
      jar.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
    }
    const location = answer.headers.get('location')
    const page = await answer.text()
    if (location !== null) {
      url = new URL(location, url)
      form = undefined
      continue
    }
    const action = /action="([^"]+)"/.exec(page)?.[1]
    if (action === undefined) throw new Error(`no form: ${page.slice(0, 500)}`)
    url = new URL(action, url)
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? ''
    form = new URLSearchParams(prompt === 'login' ? { prompt, login, password: 'any' } : { prompt })
  }
  throw new Error('the provider leads nowhere')
}

/** The beginning of a way: where it leads, and its cookie. */
async function begin(t: Test, redirect = '/'): Promise<{ url: string; cookie: string }> {
  const answer = await ask('GET', `/auth/login?redirect=${encodeURIComponent(redirect)}`)
  t.equal(answer.status, 302)
  const [cookie = ''] = answer.headers.getSetCookie()
  t.match(cookie, /HttpOnly; SameSite=Lax$/)
  return { url: answer.headers.get('location') ?? '', cookie: cookie.split(';')[0] ?? '' }
}

/** What the site answers to the address that the provider leads to. */
const arrive = async (back: URL, cookie: string) => {
  const answer = await ask('GET', back.pathname + back.search, { headers: { cookie } })
  return { status: answer.status, to: answer.headers.get('location') ?? '', cookies: answer.headers.getSetCookie() }
}

/** The error that an answer leads on with. */
const errorOf = (to: string): string | undefined => /^\/\S*#error=(\w+)$/.exec(to)?.[1]

t.test('the way asks for code, PKCE, state and nonce', async t => {
  t.match((await ask('GET', '/auth/methods')).body, { password: false, oidc: { name: 'Example' }, sign_up: 'invited' })
  const { searchParams } = new URL((await begin(t)).url)
  t.match(Object.fromEntries(searchParams), {
    response_type: 'code',
    client_id: 'parley',
    redirect_uri: redirectUri,
    scope: 'openid email profile',
    code_challenge_method: 'S256',
    code_challenge: /^[\w-]{43}$/,
    state: /^[\w-]{43}$/,
    nonce: /^[\w-]{43}$/,
  })
  t.equal((await ask('GET', '/auth/login?redirect=//evil.example')).status, 400)
})

t.test('who was invited comes in, is a member then, and is known again', async t => {
  const way = await begin(t, '/conversations?page=2')
  const back = await browse(way.url, 'ada')
  const { status, to, cookies } = await arrive(back, way.cookie)
  t.equal(status, 302)
  const [, token = ''] = /^\/conversations\?page=2#token=(.+)$/.exec(to) ?? []
  t.match(decodeJwt(token), { email: 'ada@example.org', org_id: organization.id })
  t.match(cookies, [/^parley_session=[0-9a-f]{64};/, /^parley_login=; Max-Age=0/])
  const { body } = await ask('GET', '/dashboard/api/profile', { token })
  t.match(body, {
    user: { email: 'ada@example.org', name: 'Ada', picture_url: 'https://pictures.example/ada.png' },
    organization: { id: organization.id, role: 'admin' },
  })

  t.equal(errorOf((await arrive(back, way.cookie)).to), 'AUTH_SIGN_IN_FAILED')
  const second = await begin(t)
  const again = await browse(second.url, 'ada')
  // Pages that take the code themselves.
  const code = { code: again.searchParams.get('code'), state: again.searchParams.get('state') }
  const answer = await ask('POST', '/auth/callback', { body: code, headers: { cookie: second.cookie } })
  t.equal(answer.status, 200)
  t.equal(decodeJwt(answer.body.token).sub, body.user.id)
})

t.test('another state, no cookie, a foreign cookie, a refusal: nobody comes in', async t => {
  const way = await begin(t, '/x')
  const back = await browse(way.url, 'ada')
  const other = await begin(t)
  t.equal(errorOf((await arrive(back, other.cookie)).to), 'AUTH_SIGN_IN_FAILED')
  t.equal(errorOf((await arrive(back, '')).to), 'AUTH_SIGN_IN_FAILED')
  t.equal(errorOf((await arrive(back, 'parley_login=eyJhbGciOiJkaXIifQ..a.b.c')).to), 'AUTH_SIGN_IN_FAILED')
  const forged = new URL(back)
  forged.searchParams.set('code', 'guessed')
  t.match((await arrive(forged, way.cookie)).to, '/x#error=AUTH_SIGN_IN_FAILED')
  const refused = new URL(`${SITE}/auth/callback?error=access_denied&state=s`)
  t.match((await arrive(refused, way.cookie)).to, '/x#error=AUTH_SIGN_IN_FAILED')
})

t.test('an address that is not verified, or that nobody invited, does not count', async t => {
  const mallory = await begin(t)
  t.equal(errorOf((await arrive(await browse(mallory.url, 'mallory'), mallory.cookie)).to), 'AUTH_SIGN_IN_FAILED')
  const stranger = await begin(t)
  t.equal(errorOf((await arrive(await browse(stranger.url, 'stranger'), stranger.cookie)).to), 'AUTH_NOT_INVITED')
})

t.test('a provider that is another one, or away, is told apart from a wrong sign-in', async t => {
  const f = async (issuer: string) => {
    const broken = createOidc({ issuer, clientId: 'x', clientSecret: '', redirectUri, timeoutMs })
    const way = { state: 's', nonce: 'n', challenge: 'c' }
    await t.rejects(broken.authorizeUrl(way), { code: 'AUTH_PROVIDER_FAILED' })
  }
  await f(`${issuer}/`)
  await f(node.url)
})
