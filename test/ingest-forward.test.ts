// What a receiver passes to the query node: streamed both ways, cut when either side goes away.
import { once } from 'node:events'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import t from 'tap'
import { startReceiverSystem } from '#test/receiver-rig.ts'
import { eventually } from '#test/rig.ts'

const MiB = 1024 * 1024
/** As much as tests send. */
const LARGE = { PARLEY_QUERY_MAX_BODY_BYTES: String(16 * 1024 * 1024) }
const ORIGIN = 'https://pages.example'

interface Seen {
  method: string | undefined
  url: string | undefined
  headers: http.IncomingHttpHeaders
  bodyBytes: number
}

const seen: Seen[] = []
let streams = 0
let sent = 0

/** Stands in for a query node: echoes what it saw, streams events, answers without end or before it has read, or breaks off. */
const upstream = http.createServer((request, response) => {
  const one: Seen = { method: request.method, url: request.url, headers: request.headers, bodyBytes: 0 }
  seen.push(one)
  // Reads nothing, so that the receiver stops reading, too.
  if (request.url === '/early') return void response.end('no need to go on')
  request.on('data', (chunk: Buffer) => {
    one.bodyBytes += chunk.length
  })
  if (request.url === '/events') {
    streams++
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
    const timer = setInterval(() => response.write('data: more\n\n'), 50)
    response.on('close', () => {
      clearInterval(timer)
      streams--
    })
  } else if (request.url === '/endless') {
    const chunk = Buffer.alloc(64 * 1024)
    const write = (): void => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length
    }
    response.on('drain', write)
    write()
  } else if (request.url === '/cut') {
    response.write('half an answer')
    setTimeout(() => response.destroy(), 100)
  } else {
    request.on('end', () => {
      response.setHeader('set-cookie', ['a=1', 'b=2'])
      if (request.url === '/empty') return void response.writeHead(204).end()
      const body = JSON.stringify({ ok: true })
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': body.length, 'x-answer': 'yes' })
      response.end(body)
    })
  }
})
upstream.listen(0, '127.0.0.1')
await once(upstream, 'listening')
t.teardown(() => {
  upstream.closeAllConnections()
  upstream.close()
})

const system = await startReceiverSystem(t)
const queryUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
const { baseUrl } = await system.startReceiver({ PARLEY_QUERY_URL: queryUrl, PARLEY_CORS_ORIGINS: ORIGIN, ...LARGE })

t.test('method, target, headers and body arrive, and the answer comes back', async t => {
  const response = await fetch(`${baseUrl}/dashboard/api/raw-logs?a=1&b=%20`, {
    method: 'POST',
    body: new Uint8Array(3 * MiB),
    headers: { 'x-api-key': 'k', 'x-forwarded-for': '192.0.2.1', te: 'trailers' },
  })
  t.equal(response.status, 201)
  t.strictSame(await response.json(), { ok: true })
  t.equal(response.headers.get('x-answer'), 'yes')
  t.strictSame(response.headers.getSetCookie(), ['a=1', 'b=2'])
  const one = seen.at(-1)
  t.match(one, { method: 'POST', url: '/dashboard/api/raw-logs?a=1&b=%20', bodyBytes: 3 * MiB })
  t.match(one?.headers, { 'x-api-key': 'k', 'x-forwarded-for': '192.0.2.1, 127.0.0.1', host: new URL(baseUrl).host })
  t.notOk(one?.headers.te, 'hop-by-hop')
})

t.test('answers without a body, HEAD and paths without a query', async t => {
  const empty = await fetch(`${baseUrl}/empty`, { method: 'DELETE' })
  t.equal(empty.status, 204)
  const head = await fetch(`${baseUrl}/page`, { method: 'HEAD' })
  t.equal(head.status, 201)
  t.strictSame(
    seen.slice(-2).map(one => [one.method, one.url]),
    [
      ['DELETE', '/empty'],
      ['HEAD', '/page'],
    ],
  )
})

t.test('a connection goes on after a HEAD', async t => {
  // Both on one connection, the second when the first is answered; tried anew where that took too long for the server to wait.
  const twice = async (path: string): Promise<string[]> => {
    const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1')
    const heads = (): string[] => text.split('\r\n\r\n').slice(0, -1)
    let text = ''
    const closed = once(socket, 'close')
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      const before = heads().length
      text += chunk.toString()
      if (heads().length === 2) socket.destroy()
      else if (heads().length > before) socket.write(`HEAD ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
    })
    socket.write(`HEAD ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
    await closed
    return heads()
  }
  for (const [path, length] of [
    ['/page', 11],
    ['/healthz', 2],
  ] as const) {
    const heads = await eventually(`two answers for ${path}`, async () => {
      const found = await twice(path)
      return found.length === 2 && found
    })
    for (const head of heads) t.match(head, new RegExp(`\r\ncontent-length: ${length}\r\n`, 'i'), path)
  }
})

t.test('events stream through, and the query node hears when the client goes away', async t => {
  const stop = new AbortController()
  const response = await fetch(`${baseUrl}/events`, { signal: stop.signal })
  t.equal(response.headers.get('content-type'), 'text/event-stream')
  const reader = response.body?.getReader()
  let text = ''
  while (!text.includes('more')) text += Buffer.from((await reader?.read())?.value ?? []).toString()
  t.match(text, /^data: 1\n\ndata: more\n\n/)
  t.equal(streams, 1)
  stop.abort()
  await eventually('the stream ends', () => streams === 0)
})

t.test('a client that does not read holds the query node back', async t => {
  const request = http.get(`${baseUrl}/endless`)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  response.pause()
  let before = -1
  await eventually('nothing flows any more', async () => {
    const still = sent === before
    before = sent
    await new Promise(resolve => setTimeout(resolve, 300))
    return still
  })
  t.ok(sent < 64 * MiB, `${sent} bytes are under way`)
  request.destroy()
})

t.test('half an answer is not passed off as a whole one', async t => {
  await t.rejects(fetch(`${baseUrl}/cut`).then(response => response.text()))
})

t.test('an open stream of events does not hold up a receiver that stops', async t => {
  const stopping = await system.startReceiver({ PARLEY_QUERY_URL: queryUrl })
  const response = await fetch(`${stopping.baseUrl}/events`)
  await response.body?.getReader().read()
  t.equal((await stopping.stop()).code, 0)
})

t.test('a connection goes on after an answer that came before the body had ended', async t => {
  const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  const heads = (): string[] => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(match => match[1] as string)
  const post = (path: string, length: number): void => {
    socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`)
    socket.write(Buffer.alloc(length))
  }
  post('/early', 15 * MiB)
  await eventually('an answer to what nobody reads', () => heads().length === 1)
  post('/upload', 17 * MiB)
  socket.write('GET /page HTTP/1.1\r\nhost: x\r\n\r\n')
  await eventually('answers to both after it', () => heads().length === 3)
  t.strictSame(heads(), ['200', '201', '201'])
  t.strictSame(
    seen.slice(-3).map(one => [one.url, one.bodyBytes]),
    [
      ['/early', 0],
      ['/upload', 0],
      ['/page', 0],
    ],
    'nothing of a body that nobody vouches for is passed on',
  )
})

t.test('a body over the limit is 413, a query node that is away is 502', async t => {
  const headers = { 'x-api-key': 'k' }
  const large = await fetch(`${baseUrl}/upload`, { method: 'POST', headers, body: new Uint8Array(17 * MiB) })
  t.equal(large.status, 413)
  upstream.closeAllConnections()
  await new Promise(resolve => upstream.close(resolve))
  const ask = (path: string, origin?: string) =>
    fetch(baseUrl + path, origin === undefined ? {} : { headers: { origin } })
  const away = await ask('/dashboard/api/profile', ORIGIN)
  t.equal(away.status, 502)
  const allowed = (answer: Response) => answer.headers.get('access-control-allow-origin')
  t.equal(allowed(away), ORIGIN, 'a page that may ask may also read why it is not answered')
  t.equal(away.headers.get('vary'), 'origin')
  t.equal(allowed(await ask('/dashboard/api/profile', 'https://evil.example')), null)
  t.equal(allowed(await ask('/auth/methods', ORIGIN)), null)
  t.match(await away.json(), { error: String })
})
