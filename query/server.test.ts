import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import Type from 'typebox'
import type { ErrorCode } from '#proto/errors.ts'
import { errors } from '#proto/errors.ts'
import { type Line, openLine } from '#test/edge/raw.ts'
import { createTenant, eventually } from '#test/rig.ts'
import { endpoint } from './endpoint.ts'
import { startNode } from './fixture.ts'
import { OURS } from './reads/sql.ts'
import { routes } from './routes.ts'

const slow = endpoint({
  method: 'POST',
  path: '/test/slow',
  auth: 'any',
  about: 'A store query that takes long.',
  request: Type.Object({ mark: Type.String() }),
  response: Type.Object({}),
  work: async ({ reader }, { mark }) => {
    await reader.read(
      'events',
      `SELECT sleepEachRow(0.5), {mark:String} AS mark FROM numbers(200) SETTINGS max_block_size = 1`,
      {
        mark,
      },
    )
    return {}
  },
})
const greedy = endpoint({
  method: 'GET',
  path: '/test/greedy',
  auth: 'any',
  about: 'A result that is larger than any page.',
  response: Type.Object({}),
  work: async ({ reader }) => ({ rows: await reader.read('events', 'SELECT number FROM numbers(1000000)') }),
})
const misshapen = endpoint({
  method: 'GET',
  path: '/test/misshapen',
  auth: 'any',
  about: 'An answer that breaks its own schema.',
  response: Type.Object({ id: Type.String() }),
  work: async () => ({ id: 7 }) as unknown as { id: string },
})
const careless = endpoint({
  method: 'GET',
  path: '/test/careless',
  auth: 'any',
  about: 'A read that forgets the organization of one of its tables.',
  response: Type.Object({}),
  work: async ({ reader }) => {
    await reader.read('events', `SELECT 1 FROM events WHERE ${OURS} AND event_id IN (SELECT event_id FROM texts)`)
    return {}
  },
})
const writing = endpoint({
  method: 'GET',
  path: '/test/writing',
  auth: 'any',
  about: 'A read that writes.',
  response: Type.Object({}),
  work: async ({ reader }) => {
    await reader.read('events', 'DROP TABLE texts')
    return {}
  },
})

const node = await startNode(t, { routes: [...routes, slow, greedy, misshapen, careless, writing] })
const tenant = await createTenant(node.buckets)
const headers = { 'x-api-key': tenant.apiKey }
const { ask } = node
await eventually(
  'the tenant',
  async () => (await ask('GET', '/dashboard/api/organization/summary', { headers })).status === 200,
)

t.test('health needs no credential, and the page says what this is', async t => {
  t.match(await ask('GET', '/healthz'), { status: 200, body: 'ok' })
  t.match(await ask('GET', '/readyz'), { status: 200, body: { ready: true, reasons: [] } })
  const page = await ask('GET', '/')
  t.match(page.headers.get('content-type'), 'text/html')
  t.match(page.body, /parley/)
  const links = [...String(page.body).matchAll(/href="([^"]+)"/g)].map(([, path = '']) => path)
  t.ok(links.includes('/openapi.json'))
  for (const path of links) t.match(await ask('GET', path), { status: 200 }, path)
})

t.test('every error is {error} with the right status', async t => {
  const f = async (status: number, error: RegExp, method: string, path: string, body?: unknown): Promise<void> => {
    const answer = await ask(method, path, { headers, body })
    t.equal(answer.status, status, `${method} ${path}`)
    const { error: text, code, field, request_id, ...others } = answer.body
    t.match(text, error)
    t.strictSame(others, {})
    t.equal(errors[code as ErrorCode]?.status, status, `${code}`)
    if (field !== undefined) t.ok(text.includes(`: ${field} `), 'the sentence names the field')
    t.equal(request_id, answer.headers.get('x-request-id'))
  }
  await f(404, /Not found/, 'GET', '/dashboard/api/nothing')
  await f(404, /Not found/, 'GET', '/%zz')
  await f(404, /Not found/, 'POST', '/dashboard/api/raw-logs/')
  await f(405, /use POST/, 'GET', '/dashboard/api/raw-logs')
  await f(405, /use GET/, 'DELETE', '/dashboard/api/organization/summary')
  await f(405, /use GET/, 'POST', '/healthz', {})
  await f(405, /use POST/, 'OPTIONS', '/dashboard/api/raw-logs')
  await f(400, /Invalid JSON/, 'POST', '/dashboard/api/raw-logs', '{"page":')
  await f(400, /must be of type object/, 'POST', '/dashboard/api/raw-logs', '[]')
  await f(400, /page must be of type integer/, 'POST', '/dashboard/api/raw-logs', { page: 'one' })
  await f(400, /page_size must be <= 200/, 'POST', '/dashboard/api/raw-logs', { page_size: 201 })
  await f(400, /agent_name must be a string or an array of up to 1000 strings/, 'POST', '/dashboard/api/raw-logs', {
    agent_name: 7,
  })
  await f(400, /metadata_filters\.0\.value is required/, 'POST', '/dashboard/api/raw-logs', {
    metadata_filters: [{ key: 'a' }],
  })
  await f(400, /event_id must be a uuid/, 'POST', '/dashboard/api/event-io', { event_id: 'x' })
  await f(413, /too large/, 'POST', '/dashboard/api/raw-logs', { search_query: 'x'.repeat(70_000) })
  t.equal((await ask('GET', '/dashboard/api/raw-logs', { headers })).headers.get('allow'), 'POST')
  t.equal((await ask('HEAD', '/healthz')).status, 200)
  t.equal((await ask('HEAD', '/dashboard/api/raw-logs', { headers })).status, 405)
  const typed = { ...headers, 'content-type': 'nonsense' }
  t.match(await ask('POST', '/dashboard/api/raw-logs', { headers: typed, body: {} }), {
    status: 400,
    body: { error: 'Unsupported content type' },
  })
})

t.test('a body is read whatever its content type says, and unknown fields are ignored', async t => {
  for (const type of ['application/json', 'text/plain;charset=UTF-8', 'application/x-www-form-urlencoded']) {
    const answer = await ask('POST', '/dashboard/api/raw-logs', {
      headers: { ...headers, 'content-type': type },
      body: { page_size: 3, unheard_of: { deep: [1] } },
    })
    t.match(answer, { status: 200, body: { page_size: 3 } }, type)
  }
})

t.test('answers carry security headers, are not cached and keep the id of the proxy in front', async t => {
  const answer = await ask('GET', '/dashboard/api/organization/summary', {
    headers: { ...headers, 'x-request-id': 'edge-42' },
  })
  t.equal(answer.headers.get('x-request-id'), 'edge-42')
  t.equal(answer.headers.get('x-content-type-options'), 'nosniff')
  t.equal(answer.headers.get('cache-control'), 'no-store')
  t.match(answer.headers.get('content-security-policy'), "default-src 'none'")
  const strange = await ask('GET', '/healthz', { headers: { 'x-request-id': 'a b' } })
  t.not(strange.headers.get('x-request-id'), 'a b')
})

t.test('bytes that are no HTTP get a readable refusal', async t => {
  const socket = connect(Number(new URL(node.url).port), '127.0.0.1')
  socket.end('nonsense\r\n\r\n')
  let text = ''
  for await (const chunk of socket.setEncoding('utf8')) text += chunk
  t.match(text, /^HTTP\/1\.1 400 /)
  t.match(text, /\{"error":/)
})

t.test('a credential is checked before the body is read', async t => {
  const open = (path: string, more = ''): Line => {
    const line = openLine(Number(new URL(node.url).port))
    t.teardown(() => line.destroy())
    line.write(`POST ${path} HTTP/1.1\r\nhost: x\r\n${more}content-length: 1000\r\n\r\n{`)
    return line
  }
  const [missing, bad, good] = [
    open('/dashboard/api/raw-logs'),
    open('/dashboard/api/raw-logs', 'x-api-key: nobody\r\n'),
    open('/dashboard/api/raw-logs', `x-api-key: ${tenant.apiKey}\r\n`),
  ]
  t.match(
    await missing.answered(1),
    [{ status: 401, body: /AUTH_CREDENTIAL_MISSING/ }],
    'while the body is still to come',
  )
  t.match(await bad.answered(1), [{ status: 401, body: /AUTH_CREDENTIAL_INVALID/ }])
  t.strictSame(good.answers(), [], 'who may ask is waited for')
  good.write(' '.repeat(998))
  good.write('}')
  t.match(await good.answered(1), [{ status: 200 }])
})

t.test('a body that is too large is told so, also where it does not say its length', async t => {
  const line = openLine(Number(new URL(node.url).port))
  const head = `POST /dashboard/api/raw-logs HTTP/1.1\r\nhost: x\r\nx-api-key: ${tenant.apiKey}\r\n`
  const chunk = `8000\r\n${'x'.repeat(0x8000)}\r\n`
  line.write(`${head}transfer-encoding: chunked\r\n\r\n${chunk.repeat(4)}0\r\n\r\n`)
  line.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
  t.match(await line.answered(2), [
    { status: 413, body: /at most 65536 bytes/ },
    { status: 200, body: 'ok' },
  ])
  line.destroy()
})

t.test('who does not send a request to its end is told so', async t => {
  const head = openLine(Number(new URL(node.url).port))
  head.write('GET /healthz HTTP/1.1\r\nhost: x\r\n')
  const [answer] = await head.closed
  t.match(answer, { status: 408, body: /REQ_TIMEOUT/ })
})

t.test('an expectation that nobody knows is ignored', async t => {
  const { port } = new URL(node.url)
  const socket = connect({ host: '127.0.0.1', port: Number(port) })
  socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\nconnection: close\r\n\r\n')
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  t.match(answer, /^HTTP\/1.1 200 OK\r\n[\s\S]*\r\nok/)
})

t.test('a query that its client gave up is cancelled in the store', async t => {
  const mark = `mark-${Date.now()}`
  const running = async () => {
    const rows = await node.db.store.read<{ n: string }>(
      'SELECT count() AS n FROM system.processes WHERE query LIKE {like:String} AND query_id != queryID()',
      { parameters: { like: '%sleepEachRow(0.5)%' } },
    )
    return Number(rows[0]?.n)
  }
  const request = httpRequest(`${node.url}/test/slow`, { method: 'POST', headers })
  request.on('error', () => undefined)
  request.end(JSON.stringify({ mark }))
  await eventually('the query runs', async () => (await running()) === 1)
  request.destroy()
  await eventually('the query is gone', async () => (await running()) === 0)
  const metrics = await eventually('the count', async () => {
    const text = await node.metrics.registry.metrics()
    return /query_store_cancelled_total\{[^}]*\} 1/.test(text) && text
  })
  t.match(metrics, /query_requests_total\{[^}]*endpoint="\/test\/slow",status="cancelled"[^}]*\} 1/)
})

t.test('limits, defects and writes are a 500 that tells nothing of the inside', async t => {
  const f = async (path: string, error: RegExp): Promise<void> => {
    const answer = await ask('GET', path, { headers })
    t.equal(answer.status, 500, path)
    t.match(answer.body.error, error)
    t.notMatch(answer.body.error, /SELECT|texts|DB::/)
  }
  await f('/test/greedy', /ask for less/)
  await f('/test/misshapen', /^Internal error$/)
  await f('/test/careless', /^Internal error$/)
  await f('/test/writing', /^The store could not answer$/)
})

t.test('the engine says how many rows a query read', async t => {
  let rows = 0
  const settings = { http_wait_end_of_query: 1 } as const
  const onRows = (read: number): void => {
    rows = read
  }
  await node.db.store.read('SELECT max(number) FROM numbers(100000)', { settings, onRows })
  t.ok(rows >= 100_000, String(rows))
})

t.test('requests are counted by endpoint and status', async t => {
  await ask('POST', '/dashboard/api/event-io', { headers, body: { event_id: 'x' } })
  const text = await node.metrics.registry.metrics()
  t.match(text, /query_requests_total\{[^}]*endpoint="\/dashboard\/api\/event-io",status="400"[^}]*\}/)
  t.match(text, /query_request_seconds_count\{[^}]*endpoint="\/dashboard\/api\/raw-logs"[^}]*\}/)
  t.match(text, /query_store_seconds_count\{[^}]*question="log_page"[^}]*\}/)
})
