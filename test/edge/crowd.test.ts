// Many at once: slow senders hold nothing that others need, each address and each credential has its share at the query node, and the
// oldest of what is not whole gives way.
import { once } from 'node:events'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { ErrorCode } from '#proto/errors.ts'
import { errors } from '#proto/errors.ts'
import { type Line, openLine } from '#test/edge/raw.ts'
import { startReceiverSystem } from '#test/receiver-rig.ts'
import { eventually, startSystem } from '#test/rig.ts'

const SLOW = 1_100
const CROWD_PATH = '/dashboard/api/raw-logs'

const gauge = async (opsPort: number, name: string): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text()
  return Number(new RegExp(`^parley_${name}\\{.*\\} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
}

const postOf = (path: string, header: string, length: number, body = '{'): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${header}Content-Length: ${length}\r\n\r\n${body}`

/** The answer is this code. */
const is = (code: ErrorCode) => ({ status: errors[code].status, body: new RegExp(errors[code].text) })

t.test(
  `${SLOW} slow requests, with a made-up credential and without: a neighbour is answered while all of them wait`,
  async t => {
    const system = await startSystem(t, { processors: 0 })
    const [receiver] = system.receivers
    const port = Number(new URL(system.baseUrl).port)
    const opsPort = receiver?.opsPort as number
    const open = (bytes: string): Line => {
      const line = openLine(port)
      t.teardown(() => line.destroy())
      line.write(bytes)
      return line
    }
    const ask = async () => {
      const headers = { 'x-api-key': system.apiKey, 'content-type': 'application/json' }
      return (await fetch(`${system.baseUrl}${CROWD_PATH}`, { method: 'POST', headers, body: '{}' })).status
    }
    t.equal(await ask(), 200)
    const bodies = Array.from({ length: SLOW }, () => open(postOf(CROWD_PATH, 'X-Api-Key: made-up\r\n', 1000)))
    await eventually(
      'all of them have begun',
      async () => (await gauge(opsPort, 'ingest_collected_bytes')) >= SLOW * 4096,
    )
    t.equal(await gauge(opsPort, 'ingest_forwarded'), 0, 'none of them is at the query node')
    t.equal(await ask(), 200, 'a neighbour')
    t.strictSame(
      bodies.filter(line => !line.isOpen() || line.answers().length > 0),
      [],
      'was answered before any of them was',
    )

    const heads = Array.from({ length: SLOW }, () => open(`POST ${CROWD_PATH} HTTP/1.1\r\nHost: x\r\nX-`))
    t.equal(await ask(), 200, 'a neighbour of heads that do not end')
    t.strictSame(
      heads.filter(line => !line.isOpen()),
      [],
    )
    const ends = await Promise.all(bodies.map(line => line.closed))
    t.strictSame(ends.flat(), [], 'cut in the end, unanswered')
    await Promise.all(heads.map(line => line.closed))
    t.equal(await gauge(opsPort, 'ingest_collected_bytes'), 0)

    const bare = Array.from({ length: SLOW }, () => open(postOf(CROWD_PATH, '', 1_000_000)))
    t.equal(await ask(), 200, 'a neighbour of the same address, among them')
    const told = new Set<number | undefined>()
    for (const line of bare) told.add((await line.answered(1))[0]?.status)
    t.ok(told.has(401), 'told before their bodies came')
    told.delete(401)
    told.delete(429)
    t.strictSame([...told], [], 'or that they are too many')
    t.equal(await gauge(opsPort, 'ingest_collected_bytes'), 0, 'and nothing of it was kept')
    t.equal(await ask(), 200)
  },
)

t.test('shares of the query node: of a credential, of an address, and of all', async t => {
  const waiting: http.ServerResponse[] = []
  const upstream = http.createServer((request, response) => {
    if (request.url === '/quick') return void response.end('quick')
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
    waiting.push(response)
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  t.teardown(() => {
    upstream.closeAllConnections()
    upstream.close()
  })
  const system = await startReceiverSystem(t)
  const start = async (limits: Record<string, string>): Promise<{ port: number; opsPort: number }> => {
    const receiver = await system.startReceiver({
      PARLEY_QUERY_URL: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
      ...limits,
    })
    return { port: Number(receiver.about.port), opsPort: receiver.opsPort }
  }
  const stream = async (port: number, header = '', address = '127.0.0.1'): Promise<http.IncomingMessage> => {
    const headers = header === '' ? {} : { authorization: `Bearer ${header}` }
    const request = http.get({ host: '127.0.0.1', port, path: '/stream', headers, localAddress: address, agent: false })
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    response.on('error', () => {})
    t.teardown(() => response.destroy())
    return response
  }
  const refused = async (response: http.IncomingMessage, code: ErrorCode): Promise<void> => {
    t.equal(response.statusCode, errors[code].status, code)
    t.equal(response.headers['retry-after'], '1')
    let text = ''
    for await (const chunk of response) text += String(chunk)
    t.match(text, errors[code].text)
  }

  const credential = await start({ PARLEY_FORWARD_CREDENTIAL_REQUESTS: '2' })
  const first = await stream(credential.port, 'one')
  t.equal(first.statusCode, 200)
  t.equal((await stream(credential.port, 'one')).statusCode, 200)
  await refused(await stream(credential.port, 'one'), 'REQ_SHARE')
  t.equal((await stream(credential.port, 'two')).statusCode, 200, 'another credential')
  t.equal((await stream(credential.port)).statusCode, 200, 'and none')
  t.equal(await gauge(credential.opsPort, 'ingest_forwarded'), 4)
  first.destroy()
  await eventually('room for one', async () => (await gauge(credential.opsPort, 'ingest_forwarded')) === 3)
  t.equal((await stream(credential.port, 'one')).statusCode, 200, 'who has left makes room')

  const address = await start({ PARLEY_FORWARD_ADDRESS_REQUESTS: '2' })
  t.equal((await stream(address.port)).statusCode, 200)
  t.equal((await stream(address.port, 'one')).statusCode, 200)
  await refused(await stream(address.port, 'two'), 'REQ_SHARE')
  t.equal((await stream(address.port, 'two', '127.0.0.2')).statusCode, 200, 'another address')

  const all = await start({ PARLEY_FORWARD_REQUESTS: '2' })
  t.equal((await stream(all.port)).statusCode, 200)
  t.equal((await stream(all.port, 'one', '127.0.0.2')).statusCode, 200)
  await refused(await stream(all.port, 'two', '127.0.0.3'), 'REQ_CROWDED')

  for (const response of waiting) response.end()
  for (const { port, opsPort } of [credential, address, all]) {
    await eventually('everybody has left', async () => (await gauge(opsPort, 'ingest_forwarded')) === 0)
    t.equal(await (await fetch(`http://127.0.0.1:${port}/quick`)).text(), 'quick')
  }
})

t.test('bodies take so much memory and no more: the oldest gives way, newcomers are collected', async t => {
  const MiB = 1024 * 1024
  const upstream = http.createServer((request, response) => {
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
    })
    request.on('end', () => response.end(String(length)))
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  t.teardown(() => upstream.close())
  const system = await startReceiverSystem(t)
  const receiver = await system.startReceiver({
    PARLEY_QUERY_URL: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    PARLEY_FORWARD_BYTES: String(2 * MiB),
  })
  const port = Number(receiver.about.port)
  const lines: Line[] = []
  const hold = async (): Promise<Line> => {
    const line = openLine(port)
    t.teardown(() => line.destroy())
    line.write(postOf('/x', 'X-Api-Key: k\r\n', MiB, 'x'.repeat(0.9 * MiB)))
    lines.push(line)
    return line
  }
  const held = () => gauge(receiver.opsPort, 'ingest_collected_bytes')
  const oldest = await hold()
  await eventually('the first', async () => (await held()) > 0.9 * MiB)
  const second = await hold()
  await eventually('the second', async () => (await held()) > 1.8 * MiB)
  await hold()
  t.match(await oldest.answered(1), [is('REQ_CROWDED')])
  t.ok((await held()) <= 2 * MiB)
  t.strictSame(second.answers(), [])
  second.write('x'.repeat(MiB - Math.floor(0.9 * MiB)))
  t.match(await second.answered(1), [{ status: 200, body: String(MiB) }], 'what was not the oldest comes to its end')
  for (const line of lines) line.destroy()
  await eventually('nothing is held', async () => (await held()) === 0)

  const open = openLine(port)
  open.write(postOf('/auth/sign-in', '', 17 * 1024))
  t.match(await open.answered(1), [is('REQ_BODY_TOO_LARGE')], 'without a credential little is taken')
  open.destroy()
})
