// Signing in by password, over HTTP: tokens, cookies, limits, and that no log line holds a secret.
import { Writable } from 'node:stream'
import { decodeJwt } from 'jose'
import { pino } from 'pino'
import t from 'tap'
import { createOrganization, createOwner } from '#control/admin.ts'
import { setPassword } from '#control/passwords.ts'
import type { Log } from '#runtime/log.ts'
import { eventually } from '#test/rig.ts'
import { startControlNode } from '../fixture-control.ts'

const lines: string[] = []
const sink = new Writable({
  write: (chunk, _encoding, done) => {
    lines.push(String(chunk))
    done()
  },
})
const log: Log = pino({ level: 'trace' }, sink)
let aheadMs = 0
const { ask, records, view, nats } = await startControlNode(t, { log, clock: () => Date.now() + aheadMs })
const EMAIL = 'owner@localhost'
const PASSWORD = 'correct horse battery'
const organization = await createOrganization(records, { name: 'local' })
const owner = await createOwner(records, organization.id, { email: EMAIL, name: 'Owner' })
await setPassword(records, owner.id, PASSWORD)
await eventually('the owner', () => view.membershipsOf(owner.id).length === 1)

const signIn = (body: object, headers: Record<string, string> = {}) => ask('POST', '/auth/sign-in', { body, headers })
const cookieOf = (answer: { headers: Headers }): string => answer.headers.getSetCookie()[0]?.split(';')[0] ?? ''
const profile = async (token: string) => (await ask('GET', '/dashboard/api/profile', { token })).status

t.test('a page learns which ways there are', async t => {
  t.strictSame((await ask('GET', '/auth/methods')).body, { password: true, oidc: null, sign_up: 'open' })
  t.match(await ask('GET', '/auth/login'), { status: 404, body: { code: 'AUTH_METHOD_OFF' } })
})

t.test('the right password opens the door; the token ends with the sign-in', async t => {
  const entered = await signIn({ email: 'Owner@Localhost', password: PASSWORD })
  t.match(entered, { status: 200, body: { token: /^ey/, expires_at: /^20/ } })
  t.match(entered.headers.getSetCookie(), [/^parley_session=[0-9a-f]{64}; .*HttpOnly; SameSite=Strict$/])
  const { token } = entered.body
  t.match(decodeJwt(token), { sub: owner.id, email: EMAIL, org_id: organization.id })
  t.match((await ask('GET', '/dashboard/api/profile', { token })).body.organization, { id: organization.id })
  const keys = (await ask('GET', '/auth/jwks.json')).body.keys
  t.match(keys, [{ alg: 'ES256', kty: 'EC', use: 'sig' }])
  t.notOk(
    keys.some((key: object) => 'd' in key),
    'the private halves stay',
  )

  const headers = { cookie: cookieOf(entered) }
  const other = await createOrganization(records, { name: 'other' })
  const again = await ask('POST', '/auth/refresh', { headers })
  t.match(again, { status: 200, body: { token: /^ey/ } })
  t.equal(await profile(again.body.token), 200)
  t.equal((await ask('POST', '/auth/refresh', { headers, body: { organization_id: other.id } })).status, 403)
  const evil = { ...headers, 'sec-fetch-site': 'cross-site' }
  t.match(await ask('POST', '/auth/refresh', { headers: evil }), { status: 403, body: { code: 'AUTH_CROSS_SITE' } })
  t.match(await ask('POST', '/auth/sign-out', { headers: evil }), { status: 403 })
  t.match(await signIn({ email: EMAIL, password: PASSWORD }, evil), { status: 403 })

  const left = await ask('POST', '/auth/sign-out', { headers })
  t.equal(left.status, 204)
  t.match(left.headers.getSetCookie(), [/^parley_session=; Max-Age=0/])
  t.equal(await profile(token), 401)
  t.equal(await profile(again.body.token), 401)
  t.match(await ask('POST', '/auth/refresh', { headers }), { status: 401, body: { code: 'AUTH_SIGNED_OUT' } })
  t.equal((await ask('POST', '/auth/refresh', { headers: { cookie: 'parley_session=x' } })).status, 401)
})

t.test('who is signed in stays so when NATS is restarted', async t => {
  const entered = await signIn({ email: EMAIL, password: PASSWORD })
  await nats.restart()
  const headers = { cookie: cookieOf(entered) }
  const again = await eventually('a token', async () => {
    const answer = await ask('POST', '/auth/refresh', { headers })
    return answer.status === 200 && answer
  })
  t.equal(await profile(again.body.token), 200)
  await eventually('writes arrive again', () => records.put('test.restarted', '1').then(() => true))
  // The first answer may be lost on the way back.
  await eventually('the end', async () =>
    [204, 401].includes((await ask('POST', '/auth/sign-out', { headers })).status),
  )
  await eventually('signed out', async () => (await profile(again.body.token)) === 401)
})

t.test('a node that is started anew knows who is signed in, and what was changed through another', async t => {
  const entered = await signIn({ email: EMAIL, password: PASSWORD })
  const made = await ask('POST', '/dashboard/api/organizations', { token: entered.body.token, body: { name: 'kept' } })
  t.equal(made.status, 201)
  const next = await startControlNode(t, { nats })
  const headers = { cookie: cookieOf(entered) }
  const again = await next.ask('POST', '/auth/refresh', { headers })
  t.equal(again.status, 200)
  for (const { token } of [entered.body, again.body]) {
    const { status, body } = await next.ask('GET', '/dashboard/api/organizations', { token })
    t.equal(status, 200)
    t.match(JSON.stringify(body), '"kept"')
  }
})

t.test('a sign-in ends after thirty days', async t => {
  const headers = { cookie: cookieOf(await signIn({ email: EMAIL, password: PASSWORD })) }
  aheadMs = 31 * 86_400_000
  t.match(await ask('POST', '/auth/refresh', { headers }), { status: 401, body: { code: 'AUTH_SIGNED_OUT' } })
  aheadMs = 0
})

t.test('a changed password is the only one, and ends what the old one opened', async t => {
  const { token } = (await signIn({ email: EMAIL, password: PASSWORD })).body
  const change = (current_password: string, new_password: string) =>
    ask('POST', '/auth/password', { token, body: { current_password, new_password } })
  t.equal((await change('wrong', 'another long password')).status, 401)
  t.equal((await change(PASSWORD, 'short')).status, 400)
  t.equal((await change(PASSWORD, 'another long password')).status, 204)
  t.equal(await profile(token), 401)
  t.equal((await signIn({ email: EMAIL, password: PASSWORD })).status, 401)
  const back = await signIn({ email: EMAIL, password: 'another long password' })
  t.equal(back.status, 200)
})

t.test('guessing is limited by account and address, and says nothing about who exists', async t => {
  const wrong = { status: 401, body: { error: 'The sign-in failed', code: 'AUTH_SIGN_IN_FAILED' } }
  const from = { 'x-forwarded-for': '1.2.3.4, 192.0.2.7' }
  t.match(await signIn({ email: 'nobody@example.org', password: 'x' }, from), wrong)
  for (let i = 0; i < 10; i++) t.match(await signIn({ email: EMAIL, password: 'x' }, from), wrong)
  const limited = await signIn({ email: EMAIL, password: 'another long password' }, from)
  t.match(limited, { status: 429, body: { code: 'AUTH_ATTEMPTS' } })
  const afterS = limited.headers.get('retry-after')
  t.ok(Number(afterS) > 60, 'as long as it takes until the next attempt counts')
  t.match(limited.body, { error: `in ${afterS} s` })
  const forged = { 'x-forwarded-for': '9.9.9.9, 192.0.2.7' }
  t.equal((await signIn({ email: EMAIL, password: 'x' }, forged)).status, 429, 'what a client forges in front')
  const elsewhere = { 'x-forwarded-for': '192.0.2.8' }
  t.equal((await signIn({ email: EMAIL, password: 'another long password' }, elsewhere)).status, 200)
})

t.test('who signs in while many others do is asked to wait, and has not guessed', async t => {
  const from = { 'x-forwarded-for': '192.0.2.10' }
  // More at once than passwords are looked at: most are sent away, and more than may fail.
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, i) => signIn({ email: `${Math.min(i, 4)}@example.org`, password: 'x' }, from)),
  )
  const limited = answers.filter(({ status }) => status === 429)
  t.ok(limited.length > 0, `${limited.length} of 16`)
  for (const { headers } of limited) t.equal(headers.get('retry-after'), '1')
  t.equal((await signIn({ email: '4@example.org', password: 'x' }, from)).status, 401, 'looked at')
})

t.test('no log line holds a secret', async t => {
  const entered = await signIn({ email: EMAIL, password: 'another long password' }, { 'x-forwarded-for': '192.0.2.9' })
  const { body: key } = await ask('POST', '/dashboard/api/organization/api-keys', {
    token: entered.body.token,
    body: { name: 'k' },
  })
  await ask('GET', '/dashboard/api/organization/displayId', { key: key.api_key })
  const text = lines.join('')
  t.match(text, /somebody signed in/)
  t.match(text, /an API key was made/)
  const secrets = [PASSWORD, 'another long password', entered.body.token, key.api_key, cookieOf(entered).split('=')[1]]
  for (const secret of secrets) t.notOk(text.includes(secret), 'a secret in the log')
})
