// Signing in with a real browser at a real OpenID provider: redirects, forms and cookies are the browser's own. By hand, since it takes
// Debian's package `chromium`: `npm run test:browser`.
import t from 'tap'
import { createOrganization, createOwner } from '#control/admin.ts'
import { addMember } from '#control/members.ts'
import { freePort } from '#local/ports.ts'
import { startControlNode } from '#query/fixture-control.ts'
import { CLIENT_SECRET, startProvider } from '#query/sign-in/fixture-provider.ts'
import { createOidc } from '#query/sign-in/oidc.ts'
import { eventually } from '#test/rig.ts'
import { openPage } from './chromium.ts'

const port = await freePort()
const site = `http://localhost:${port}`
const redirectUri = `${site}/auth/callback`
const issuer = await startProvider(t, [redirectUri])
const oidc = createOidc({ issuer, clientId: 'parley', clientSecret: CLIENT_SECRET, redirectUri })
const signIn = { oidc, oidcName: 'Example', passwords: false, publicUrl: site, signUp: 'invited' } as const
const { records, view } = await startControlNode(t, { signIn, port })
const organization = await createOrganization(records, { name: 'shop' })
const owner = await createOwner(records, organization.id, { email: 'owner@example.org', name: 'Owner' })
await eventually('the organization', () => view.membershipsOf(owner.id).length === 1)
const invitation = { organization: organization.id, email: 'ada@example.org', role: 'admin', by: owner.id } as const
await addMember({ records, view }, invitation)
await eventually('the invitation', () => view.invitationsTo('ada@example.org').length === 1)
const page = await openPage(t)

/** Fills the provider's form and agrees to what it asks. */
async function enter(login: string): Promise<void> {
  await page.open(`${site}/auth/login?redirect=${encodeURIComponent('/?page=2')}`)
  await page.until('the form', `document.querySelector('[name=login]') !== null`)
  await page.evaluate(
    `document.querySelector('[name=login]').value = ${JSON.stringify(login)};
    document.querySelector('[name=password]').value = 'any';
    document.forms[0].requestSubmit()`,
  )
  await page.until('the consent', `document.querySelector('[name=prompt][value=consent]') !== null`)
  await page.evaluate('document.forms[0].requestSubmit()')
  await page.until('the way back', `location.origin === ${JSON.stringify(site)} && location.hash !== ''`)
}

/** Asks the site from its own page, with the browser's cookies. */
const ask = (method: string, path: string, token = ''): Promise<unknown> =>
  page.evaluate(
    `fetch(${JSON.stringify(path)}, { method: '${method}', headers: { authorization: 'Bearer ${token}' } })
      .then(async answer => ({ status: answer.status, body: await answer.json().catch(() => null) }))`,
  )

t.test('who comes back from the provider is signed in, can renew the token, and can leave', async t => {
  await enter('ada')
  const href = String(await page.evaluate('location.href'))
  const [, token = ''] = /^http:\/\/localhost:\d+\/\?page=2#token=([\w.-]+)$/.exec(href) ?? []
  t.not(token, '', href)
  t.match(await ask('GET', '/dashboard/api/profile', token), {
    status: 200,
    body: { user: { email: 'ada@example.org' }, organization: { id: organization.id, role: 'admin' } },
  })
  t.match(await page.cookies(site), [{ name: 'parley_session', httpOnly: true, sameSite: 'Strict' }])
  t.equal(await page.evaluate('document.cookie'), '', 'scripts see no cookie')
  t.match(await ask('POST', '/auth/refresh'), { status: 200, body: { token: /^ey/ } })
  t.match(await ask('POST', '/auth/sign-out'), { status: 204 })
  t.match(await ask('POST', '/auth/refresh'), { status: 401 })
  t.match(await ask('GET', '/dashboard/api/profile', token), { status: 401 })
})

t.test(
  'who is known to the provider comes in without a form, and pages of other sites cannot use the sign-in',
  async t => {
    await page.open(`${site}/auth/login`)
    await page.until('the way back', `location.origin === ${JSON.stringify(site)} && location.hash !== ''`)
    // Another port is the same site to a browser, which then sends the cookie along.
    for (const other of [issuer, issuer.replace('127.0.0.1', 'localhost')]) {
      await page.open(other)
      await page.until('the other site', `location.origin === ${JSON.stringify(other)}`)
      // The browser keeps the answer from the page, whatever it is.
      await page.evaluate(
        `fetch('${site}/auth/sign-out', { method: 'POST', credentials: 'include', mode: 'no-cors' }).catch(() => null)`,
      )
      await page.open(site)
      await page.until('the site again', `location.origin === ${JSON.stringify(site)}`)
      t.match(await ask('POST', '/auth/refresh'), { status: 200 }, `still signed in after ${other}`)
    }
  },
)
