// A query node for tests of sign-in, organizations and access: real NATS and HTTP, and a store that is empty.
import type { KV } from '@nats-io/kv'
import { createKeyUse } from '#control/key-use.ts'
import type { ControlView } from '#control/view.ts'
import { openControlView } from '#control/view.ts'
import type { Log } from '#runtime/log.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { openBuckets } from '#streams/apply.ts'
import type { Teardown, TestEngine } from '#test/rig.ts'
import { connectNats, silentLog, startNats } from '#test/rig.ts'
import { createAuthenticator } from './auth.ts'
import type { Endpoint } from './endpoint.ts'
import { createRunner } from './endpoint.ts'
import type { Answer } from './fixture.ts'
import type { Reader } from './reader.ts'
import { routes as allRoutes } from './routes.ts'
import { startServer } from './server.ts'
import type { SignInOptions } from './sign-in/service.ts'
import { createSignIn } from './sign-in/service.ts'

/** The node, and what it stands on. */
export interface ControlNode {
  readonly url: string
  readonly nats: TestEngine
  readonly records: KV
  readonly view: ControlView
  ask(
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string>; token?: string; key?: string },
  ): Promise<Answer>
}

const noReader: Reader = { read: async () => [], bounded: () => noReader }

/** Starts it; every answer is compared with its schema unless its routes are the test's own. */
export async function startControlNode(
  t: Teardown,
  options: {
    corsOrigins?: readonly string[]
    routes?: readonly Endpoint[]
    signIn?: Partial<SignInOptions>
    clock?: () => number
    log?: Log
    /** That of another node, for one that is started beside or after it. */
    nats?: TestEngine
    /** A free one where it is left out. */
    port?: number
  } = {},
): Promise<ControlNode> {
  const { log = silentLog, clock = Date.now, port = 0 } = options
  const nats = options.nats ?? (await startNats(t))
  // Tests restart this server: a question that is lost with it is given up as in production.
  const { control: records, cursors, rejects } = await openBuckets(await connectNats(t, nats.url, { hasty: true }))
  const view = await openControlView(records, silentLog)
  t.teardown(() => view.close())
  const metrics = createMetrics('query')
  const control = { records, view }
  const signIn = createSignIn({
    ...{ control, metrics, log, clock, oidc: null, oidcName: '', passwords: true, signUp: 'open' },
    ...{ publicUrl: 'http://localhost:8080', ...options.signIn },
  })
  const bind = createRunner({
    authenticator: createAuthenticator(view, { clock, onKey: createKeyUse({ records, view, log }) }),
    openReader: () => noReader,
    control,
    signIn,
    clock,
    rejects,
    cursors,
    stored: undefined as never,
    prices: { version: 'none', entries: [] },
    payloads: async () => null,
    journal: undefined as never,
    outgoing: undefined as never,
    metrics,
    log,
    checkResponses: options.routes === undefined,
  })
  const routes = options.routes ?? allRoutes
  const server = await startServer(
    { routes, bind, notReady: async () => [], maxBodyBytes: 64 * 1024, log, corsOrigins: options.corsOrigins ?? [] },
    '127.0.0.1',
    port,
  )
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${server.port}`
  return {
    url,
    nats,
    records,
    view,
    ask: async (method, path, { body, headers, token, key } = {}) => {
      const response = await fetch(url + path, {
        method,
        redirect: 'manual',
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(key === undefined ? {} : { 'x-api-key': key }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      const json = response.headers.get('content-type')?.startsWith('application/json') ?? false
      return { status: response.status, headers: response.headers, body: json && text !== '' ? JSON.parse(text) : text }
    },
  }
}
