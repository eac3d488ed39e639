// The fence around calls to addresses that strangers have written: what is public, and what leads behind it.
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { createMetrics } from '#runtime/metrics.ts'
import { createOutgoing, isPublicAddress, type OutgoingCall, type OutgoingOptions } from './outgoing.ts'

/** A server on a private address, as all of a test's are. */
async function listening(t: { teardown(handler: () => unknown): unknown }, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const fence = (options: Partial<OutgoingOptions> = {}) =>
  createOutgoing({ privateHosts: [], metrics: createMetrics('test'), ...options })
const call = (more: Partial<OutgoingCall> = {}): OutgoingCall => ({
  ...{ signal: AbortSignal.timeout(30_000), of: 'a', maxBytes: 1_000_000 },
  ...more,
})

t.test('what is public is told by its number', async t => {
  const f = (expected: boolean, ...addresses: string[]): void => {
    for (const address of addresses) t.equal(isPublicAddress(address), expected, address)
  }
  f(true, '1.1.1.1', '8.8.8.8', '100.63.255.255', '172.15.0.1', '172.32.0.1', '192.169.0.1', '223.255.255.255')
  f(true, '2606:4700:4700::1111', '2001:4860:4860::8888', '2a00:1450:4001:800::200e')
  f(false, '0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.255.254', '169.254.169.254', '172.16.0.1')
  f(false, '172.31.255.255', '192.0.0.1', '192.0.2.1', '192.168.1.1', '198.18.0.1', '198.51.100.1', '203.0.113.9')
  f(false, '224.0.0.1', '240.0.0.1', '255.255.255.255')
  f(false, '::', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '::127.0.0.1', '64:ff9b::7f00:1')
  f(
    false,
    '64:ff9b:1::1',
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '2001::1',
    '2002:7f00:1::',
  )
  f(false, '3fff::1', '100::1', '5f00::1', 'fe80::1%lo', '', 'localhost', '127.1')
})

t.test('nothing leads behind the fence, however it is written', async t => {
  let reached = 0
  const host = await listening(t, (_request, response) => {
    reached++
    response.end('secret')
  })
  const port = host.split(':')[1] as string
  const outgoing = fence()
  const f = async (url: string): Promise<void> => {
    await t.rejects(outgoing.get(url, call()), { code: 'OUT_FENCED' }, url)
  }
  await f(`http://127.0.0.1:${port}/`)
  await f(`http://localhost:${port}/`)
  await f(`http://LOCALHOST:${port}/`)
  await f(`http://2130706433:${port}/`)
  await f(`http://0x7f.1:${port}/`)
  await f(`http://0177.0.0.1:${port}/`)
  await f(`http://127.1:${port}/`)
  await f(`http://0:${port}/`)
  await f(`http://[::1]:${port}/`)
  await f(`http://[::ffff:127.0.0.1]:${port}/`)
  await f(`http://[::ffff:7f00:1]:${port}/`)
  await f(`http://[::]:${port}/`)
  await f(`http://①②⑦.0.0.1:${port}/`)
  await f('http://169.254.169.254/latest/meta-data/')
  await f('https://10.0.0.1/')
  await f(`http://user:word@8.8.8.8:${port}/`)
  await f('file:///etc/passwd')
  await f('ftp://8.8.8.8/')
  await f('gopher://127.0.0.1/')
  await f('data:audio/wav,x')
  await f('nothing')
  t.equal(reached, 0)
})

t.test("a host of one's own is called where it is named, and no other that it leads to", async t => {
  const inside = await listening(t, (_request, response) => response.end('secret'))
  const open = await listening(t, (request, response) => {
    const to = { '/on': '/here', '/inside': `http://${inside}/`, '/file': 'file:///etc/passwd', '/round': '/round' }[
      request.url ?? ''
    ]
    if (to === undefined) response.end('hello')
    else response.writeHead(302, { location: to }).end()
  })
  const outgoing = fence({ privateHosts: [open] })
  const { status, body, url } = await outgoing.get(`http://${open}/on`, call())
  t.strictSame([status, String(await buffer(body)), url.pathname], [200, 'hello', '/here'])
  await t.rejects(outgoing.get(`http://${open}/inside`, call()), { code: 'OUT_FENCED' })
  await t.rejects(outgoing.get(`http://${open}/file`, call()), { code: 'OUT_FENCED' })
  await t.rejects(outgoing.get(`http://${open}/round`, call()), { code: 'OUT_FAILED' })
  await t.rejects(outgoing.get(`http://${inside}/`, call()), { code: 'OUT_FENCED' })
  const byName = fence({ privateHosts: ['localhost'] })
  await t.resolves(byName.get(`http://localhost:${open.split(':')[1]}/`, call()).then(({ body }) => buffer(body)))
})

t.test('answers are bounded in time, in bytes and in number, and end with whoever asked', async t => {
  const waiting: ServerResponse[] = []
  let closed = 0
  const host = await listening(t, (request, response) => {
    response.on('close', () => closed++)
    waiting.push(response)
    if (request.url === '/silent') return
    response.writeHead(200)
    response.write('x'.repeat(1_000))
    if (request.url === '/short') response.end()
  })
  const outgoing = fence({ privateHosts: [host], limits: { headMs: 300, idleMs: 300, atOnceOfOne: 2, atOnce: 3 } })
  const get = (path: string, more: Partial<OutgoingCall> = {}) => outgoing.get(`http://${host}${path}`, call(more))

  await t.rejects(get('/silent'), { code: 'OUT_FAILED' }, 'no head')
  await t.rejects(buffer((await get('/stalls')).body), /nothing for 300 ms/)
  await t.rejects(buffer((await get('/short', { maxBytes: 999 })).body), { code: 'OUT_FAILED' })
  t.equal((await buffer((await get('/short', { maxBytes: 1_000 })).body)).length, 1_000)
  await t.rejects(outgoing.get('http://127.0.0.1:1/', call()), { code: 'OUT_FENCED' })

  const leaving = new AbortController()
  const before = closed
  const left = await get('/stalls', { signal: leaving.signal })
  const closing = once(waiting.at(-1) as ServerResponse, 'close')
  leaving.abort()
  await closing
  t.ok(closed > before, 'the other side hears of it')
  await t.rejects(buffer(left.body))

  const held = [await get('/stalls'), await get('/stalls')]
  await t.rejects(get('/short'), { code: 'OUT_RATE' }, 'two of one')
  held.push(await get('/stalls', { of: 'b' }))
  await t.rejects(get('/short', { of: 'c' }), { code: 'OUT_RATE' }, 'three of all')
  for (const { body } of held) {
    const gone = once(body, 'close')
    body.destroy()
    await gone
  }
  t.equal((await buffer((await get('/short')).body)).length, 1_000, 'and again when they have ended')
})
