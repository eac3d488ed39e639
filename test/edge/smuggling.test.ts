// Requests that a receiver and the query node could cut differently: what reaches the query node is what was asked, and no answer ever
// belongs to somebody else.
import { once } from 'node:events'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { errors } from '#proto/errors.ts'
import { openLine } from '#test/edge/raw.ts'
import { hidden, smuggles } from '#test/edge/smuggled.ts'
import { startReceiverSystem } from '#test/receiver-rig.ts'
import { createTenant, eventually, startSystem } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'

const PLAIN = 'GET /plain HTTP/1.1\r\nHost: x\r\n\r\n'

t.test('the query node sees none of what is hidden in requests', async t => {
  const seen: { line: string; body: string; headers: http.IncomingHttpHeaders; raw: string[] }[] = []
  const kept: typeof seen = []
  const broken: unknown[] = []
  const upstream = http.createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString('latin1')
    })
    request.on('end', () => {
      seen.push({ line: `${request.method} ${request.url}`, body, headers: request.headers, raw: request.rawHeaders })
      response.end('ok')
    })
  })
  upstream.on('clientError', error => broken.push(error))
  upstream.on('upgrade', (_request, socket) => {
    broken.push('an upgrade')
    socket.destroy()
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  t.teardown(() => upstream.close())
  const system = await startReceiverSystem(t)
  const receiver = await system.startReceiver({
    PARLEY_QUERY_URL: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
  })
  const port = Number(receiver.about.port)

  for (const { name, bytes } of smuggles(hidden('/hidden'), 'key')) {
    const line = openLine(port)
    t.teardown(() => line.destroy())
    line.write(bytes)
    // Whether it is refused, answered, cut or waited for: the next sender is answered by what it asked.
    const next = openLine(port)
    next.write(PLAIN)
    t.match(await next.answered(1), [{ status: 200, body: 'ok' }], `a neighbour beside ${name}`)
    next.destroy()
    line.destroy()
    const told = seen.splice(0)
    if (told.some(one => one.line.includes('/hidden'))) t.fail(`taken for a request: ${name}`)
    kept.push(...told)
  }
  t.strictSame(broken, [], 'nothing that the query node could not read')
  t.ok(kept.filter(one => one.line === 'GET /plain').length > 50, 'neighbours were served')
  for (const one of kept) {
    t.equal(one.raw.filter(name => /^(content-length|transfer-encoding)$/i.test(name)).length < 2, true, 'one framing')
    t.equal(Number(one.headers['content-length'] ?? 0), one.body.length, 'of the bytes that came')
    t.equal(one.headers['transfer-encoding'], undefined)
  }
})

t.test('what is doubtful is refused by name, and its connection ends', async t => {
  const system = await startReceiverSystem(t)
  const receiver = await system.startReceiver({ PARLEY_QUERY_URL: 'http://127.0.0.1:9' })
  const port = Number(receiver.about.port)
  const f = async (headers: string, error: RegExp, method = 'POST', body = 'ab'): Promise<void> => {
    const line = openLine(port)
    line.write(`${method} /x HTTP/1.1\r\nHost: x\r\nX-Api-Key: k\r\n${headers}\r\n\r\n${body}`)
    const [answer, ...others] = await line.closed
    t.match(answer, { status: 400, body: error }, headers)
    t.match(answer?.body, errors.REQ_FRAMING_INVALID.text)
    t.strictSame(others, [])
  }
  await f('Connection: content-length\r\nContent-Length: 2', /connection names content-length/)
  await f('Connection: x-api-key\r\nContent-Length: 2', /connection names a header/)
  await f('Content-Length: 2\r\nContent-Length: 2', /content-length is there twice/)
  await f('Content-Length:', /content-length must be a number/)
  await f('Transfer-Encoding: xchunked', /transfer-encoding must be chunked/, 'POST', '0\r\n\r\n')
  await f('Transfer-Encoding:\r\nContent-Length: 2', /exclude each other/)
  await f('Transfer_Encoding: chunked\r\nContent-Length: 2', /transfer_encoding is no header/)
  for (const method of ['GET', 'OPTIONS', 'DELETE']) await f('Content-Length: 2', /has no body here/, method)
  const both = openLine(port)
  both.write('POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n')
  t.match(await both.closed, [{ status: 400 }], 'the server itself knows this one')
})

t.test('a refusal that is no doubt leaves the connection good, and one to a HEAD has no body', async t => {
  const system = await startReceiverSystem(t)
  const receiver = await system.startReceiver({ PARLEY_QUERY_URL: 'http://127.0.0.1:9' })
  const line = openLine(Number(receiver.about.port))
  const f = async (request: string, status: number, head: RegExp): Promise<void> => {
    const before = line.answers().length
    line.write(`${request} HTTP/1.1\r\nHost: x\r\n\r\n`)
    const answer = (await line.answered(before + 1))[before]
    t.equal(answer?.status, status, request)
    t.match(answer?.head, head)
  }
  for (const method of ['TRACE', 'get', 'FOO', 'F"O']) await f(`${method} /x`, 405, /^allow: GET, HEAD, OPTIONS/im)
  await f('GET /\xff', 400, /content-length: [1-9]/i)
  await f('GET /x?#', 400, /content-length: [1-9]/i)
  await f('GET /x', 502, /content-length: [1-9]/i)
  await f('TRACE /healthz', 405, /allow: GET, HEAD/i)
  t.ok(line.isOpen(), 'all on one connection')
  line.destroy()

  for (const path of ['/x', '/\xff', '/api/v1/capture-event', '/v1/logs', '/v1/metrics', '/readyz']) {
    const heads = openLine(Number(receiver.about.port))
    heads.write(`HEAD ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    const text = (await heads.bytes).toString('latin1')
    t.match(text, /^HTTP\/1\.1 \d{3} [^]*\r\n\r\n$/, `${path}: ${text}`)
    t.equal(text.indexOf('\r\n\r\n'), text.length - 4, 'headers and nothing behind them')
  }
})

t.test('two tenants beside a smuggler: every answer is the own one', async t => {
  const system = await startSystem(t, { processors: 0 })
  const other = await createTenant(system.buckets, { name: 'other' })
  const port = Number(new URL(system.baseUrl).port)
  const path = '/dashboard/api/organization/summary'
  const ask = (key: string) => fetch(`${system.baseUrl}${path}`, { headers: { 'x-api-key': key } })
  await eventually('the other tenant', async () => (await ask(other.apiKey)).status === 200)
  const inner = hidden(path, `X-Api-Key: ${system.apiKey}\r\n`)
  const attacks = smuggles(inner, system.apiKey)
  const rounds = scaled({ sample: 2, full: 20 })
  const answered = async (key: string): Promise<string> => {
    const response = await ask(key)
    return `${response.status} ${((await response.json()) as { id?: string }).id}`
  }
  const wrong: string[] = []
  for (let round = 0; round < rounds; round++) {
    for (const { name, bytes } of attacks) {
      const line = openLine(port)
      line.write(bytes)
      const [first, second] = await Promise.all([answered(system.apiKey), answered(other.apiKey)])
      line.destroy()
      if (first !== `200 ${system.organization}`) wrong.push(`${name}: ${first}`)
      if (second !== `200 ${other.organization}`) wrong.push(`${name}: ${second}`)
    }
  }
  t.strictSame(wrong, [])
})
