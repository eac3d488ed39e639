// Pages of other origins: nothing without the setting, and with it the dashboard API alone, without cookies.
import t from 'tap'
import { querySettings } from './config.ts'
import { startControlNode } from './fixture-control.ts'

const PATH = '/dashboard/api/profile'
const ORIGIN = 'https://pages.example'
const preflight = { origin: ORIGIN, 'access-control-request-method': 'GET' }
const allowed = (answer: { headers: Headers }) => answer.headers.get('access-control-allow-origin')

t.test('an origin that is named may ask and read, errors as well', async t => {
  const { ask } = await startControlNode(t, { corsOrigins: [ORIGIN] })
  const before = await ask('OPTIONS', PATH, { headers: preflight })
  t.equal(before.status, 204)
  t.equal(allowed(before), ORIGIN)
  t.match(before.headers.get('access-control-allow-headers'), 'authorization')
  const answer = await ask('GET', PATH, { headers: { origin: ORIGIN } })
  t.equal(answer.status, 401)
  t.equal(allowed(answer), ORIGIN)
  t.equal(answer.headers.get('vary'), 'origin')
  t.equal(answer.headers.get('access-control-allow-credentials'), null)
  const other = await ask('OPTIONS', PATH, { headers: { ...preflight, origin: 'https://evil.example' } })
  t.equal(other.status, 405)
  t.equal(allowed(other), null)
  t.equal(allowed(await ask('GET', '/auth/methods', { headers: { origin: ORIGIN } })), null)
})

t.test('the setting takes whole origins only', async t => {
  const read = (text: string) => querySettings.corsOrigins.read(text)
  t.strictSame(read(''), [])
  t.strictSame(read('https://a.example, http://localhost:3000'), ['https://a.example', 'http://localhost:3000'])
  for (const wrong of ['*', 'a.example', 'https://a.example/', 'https://a.example/x', 'null', 'ftp://a.example']) {
    t.ok(read(wrong) instanceof Error, wrong)
  }
})
