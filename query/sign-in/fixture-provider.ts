// A certified OpenID provider on a free port, with three people and one client. What it asks of a browser is a name and a consent.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import type { Teardown } from '#test/rig.ts'

const require = createRequire(import.meta.url)
const { Provider } = require('oidc-provider') as {
  Provider: new (
    issuer: string,
    configuration: object,
  ) => { callback(): RequestListener; on(name: string, listener: () => void): void }
}

/** What the client `parley` is known by. */
export const CLIENT_SECRET = 'secret of parley'

/** People of the provider; the account id is the name in the form. */
const people: Readonly<Record<string, object>> = {
  ada: { email: 'Ada@example.org', email_verified: true, name: 'Ada', picture: 'https://pictures.example/ada.png' },
  mallory: { email: 'ada@example.org', email_verified: false, name: 'Mallory' },
  stranger: { email: 'stranger@example.org', email_verified: true },
}

/** Starts it; resolves with its issuer. */
export async function startProvider(t: Teardown, redirect_uris: readonly string[]): Promise<string> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'parley', client_secret: CLIENT_SECRET, redirect_uris }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'picture'] },
    pkce: { required: () => true },
    cookies: { keys: ['test'] },
    findAccount: (_context: unknown, sub: string) => ({ accountId: sub, claims: () => ({ sub, ...people[sub] }) }),
  })
  server.on('request', provider.callback())
  return issuer
}
