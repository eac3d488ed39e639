// What signing in is made of, without engines: attempts, cookies, sites, keys.
import t from 'tap'
import type { SigningKey } from '#control/records.ts'
import { signingKeyNow } from '#control/signing.ts'
import { LoginRequest } from '#proto/dashboard/auth.ts'
import { createChecker } from '../validate.ts'
import { createAttempts } from './attempts.ts'
import { createCookies, isCrossSite } from './cookies.ts'

t.test('failures are counted by name until their window ends, and forgotten by success', async t => {
  let nowMs = 0
  const attempts = createAttempts({ most: 2, windowMs: 10_000, clock: () => nowMs })
  attempts.failed('a')
  t.equal(attempts.waitS('a'), 0)
  attempts.failed('a')
  t.equal(attempts.waitS('a'), 10)
  t.equal(attempts.waitS('b'), 0)
  nowMs = 9_500
  t.equal(attempts.waitS('a'), 1)
  nowMs = 10_000
  t.equal(attempts.waitS('a'), 0)
  attempts.failed('a')
  attempts.failed('a')
  attempts.passed('a')
  t.equal(attempts.waitS('a'), 0)
})

t.test('cookies are for the server alone, and over https for this host alone', async t => {
  const { session, login } = createCookies('https://parley.example')
  t.equal(session.set('x', 60), '__Host-parley_session=x; Max-Age=60; Path=/; HttpOnly; SameSite=Strict; Secure')
  t.match(login.set('x', 60), /SameSite=Lax; Secure$/)
  t.equal(session.read({ cookie: 'a=1; __Host-parley_session=abc; parley_session=other' }), 'abc')
  t.equal(session.read({ cookie: 'parley_session=other' }), undefined)
  t.equal(session.read({}), undefined)
  t.match(session.clear(), /=; Max-Age=0; /)
  t.notMatch(createCookies('http://localhost:8080').session.set('x', 1), /Secure|__Host/)
})

t.test('a request of another site is known by what browsers say', async t => {
  const f = (headers: Record<string, string>, expected: boolean) =>
    t.equal(isCrossSite(headers, 'https://parley.example'), expected, JSON.stringify(headers))
  f({}, false)
  f({ 'sec-fetch-site': 'same-origin', origin: 'http://localhost' }, false)
  f({ 'sec-fetch-site': 'none' }, false)
  f({ 'sec-fetch-site': 'same-site' }, true)
  f({ 'sec-fetch-site': 'cross-site', origin: 'https://parley.example' }, true)
  f({ origin: 'https://parley.example' }, false)
  f({ origin: 'http://127.0.0.1:8080', host: '127.0.0.1:8080' }, false)
  f({ origin: 'https://evil.example', host: 'parley.example' }, true)
  f({ origin: 'null', host: 'null' }, true)
})

t.test('the way back leads to a path of this site only', async t => {
  const { read } = createChecker(LoginRequest)
  for (const redirect of ['/', '/conversations?page=2', '/a/b']) t.equal(read({ redirect }).redirect, redirect)
  t.equal(read({}).redirect, '/')
  for (const redirect of ['//evil.example', '/\\evil.example', 'https://evil.example', 'a', '/a\nb', '/a\\b', '']) {
    t.throws(() => read({ redirect }), { code: 'REQ_BODY_INVALID' }, redirect)
  }
})

t.test('a new key signs once others know it, and an old one never', async t => {
  const DAY = 86_400_000
  const now = Date.UTC(2026, 0, 1)
  const key = (kid: string, ageMs: number): SigningKey => ({
    ...{ kid, alg: 'ES256', jwk: {} },
    created_at: new Date(now - ageMs).toISOString(),
  })
  t.equal(signingKeyNow([], now), undefined)
  t.equal(signingKeyNow([key('old', 31 * DAY)], now), undefined)
  t.equal(signingKeyNow([key('old', 31 * DAY), key('new', 1000)], now)?.kid, 'new')
  t.equal(signingKeyNow([key('fresh', 1000), key('known', DAY)], now)?.kid, 'known')
  t.equal(signingKeyNow([key('a', 3 * DAY), key('b', DAY)], now)?.kid, 'b')
})
