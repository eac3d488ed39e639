// A recording through us, over real engines: who may hear it, by range, and what is not handed on.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { createApiKey } from '#control/admin.ts'
import { apiKeyKey, hashApiKey } from '#control/records.ts'
import { eventually } from '#test/rig.ts'
import { id, insertSessions, storedSession } from '../../fixture.ts'
import { startDataNode } from '../../fixture-data.ts'

const SOUND = Buffer.from(Array.from({ length: 10_000 }, (_, n) => n % 251))
const asked: IncomingMessage[] = []
const answers: ServerResponse[] = []
const platform = createServer((request, response) => {
  asked.push(request)
  answers.push(response)
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x')
  const type = searchParams.get('type') ?? 'audio/wav'
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
  if (pathname === '/gone.wav') return void response.writeHead(404).end('gone')
  if (pathname === '/broken.wav') return void response.writeHead(500, { 'content-type': 'audio/wav' }).end('secret')
  if (pathname === '/packed.wav') {
    return void response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' }).end('packed')
  }
  if (pathname === '/endless.wav') {
    response.writeHead(200, { 'content-type': type, 'set-cookie': 'a=b' })
    response.write(SOUND)
    return
  }
  if (from !== undefined && Number(from) >= SOUND.length) {
    return void response.writeHead(416, { 'content-range': `bytes */${SOUND.length}` }).end('no')
  }
  const piece = from === undefined ? SOUND : SOUND.subarray(Number(from), Number(to) + 1)
  response.writeHead(from === undefined ? 200 : 206, {
    ...{ 'content-type': type, 'content-length': piece.length, 'accept-ranges': 'bytes', etag: '"a"' },
    ...(from === undefined ? {} : { 'content-range': `bytes ${from}-${to}/${SOUND.length}` }),
    ...{ 'set-cookie': 'a=b', 'x-secret': 'y', link: '<javascript:1>' },
  })
  response.end(piece)
}).listen(0, '127.0.0.1')
await once(platform, 'listening')
t.teardown(() => {
  platform.closeAllConnections()
  platform.close()
})
const host = `127.0.0.1:${(platform.address() as AddressInfo).port}`
const node = await startDataNode(t, { privateHosts: [host] })
const { a, db } = node

let calls = 300
/** A call with a recording. */
async function recorded(recording_url: string): Promise<string> {
  const conversation_id = id(calls++)
  const session = { organization: a.organization, conversation_id, at: '2026-06-15T11:00:00.000Z' }
  await insertSessions(db.store, [storedSession({ ...session, recording_url })])
  return conversation_id
}
/** The path of its address, as one is told it. */
async function addressOf(conversation: string, apiKey = a.apiKey): Promise<string> {
  const path = `/dashboard/api/conversation-audio?conversation_id=${conversation}`
  const { body } = await node.ask('GET', path, { headers: { 'x-api-key': apiKey } })
  return new URL(body.url).pathname
}
const listen = (path: string, init: RequestInit = {}) => fetch(`${node.url}${path}`, init)

t.test('a recording is heard without a credential at an address of ours, whole and by range', async t => {
  const path = await addressOf(await recorded(`http://${host}/one.wav`))
  const whole = await listen(path)
  t.equal(whole.status, 200)
  t.strictSame(Buffer.from(await whole.arrayBuffer()), SOUND)
  t.match(Object.fromEntries(whole.headers), {
    ...{ 'content-type': 'audio/wav', 'content-length': '10000', 'accept-ranges': 'bytes', etag: '"a"' },
    ...{
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'cross-origin',
    },
  })
  for (const name of ['set-cookie', 'x-secret', 'link']) t.notOk(whole.headers.has(name), name)
  const part = await listen(path, {
    headers: { range: 'bytes=100-199', 'if-range': '"a"', cookie: 'c=d', authorization: 'x' },
  })
  t.equal(part.status, 206)
  t.equal(part.headers.get('content-range'), 'bytes 100-199/10000')
  t.strictSame(Buffer.from(await part.arrayBuffer()), SOUND.subarray(100, 200))
  t.match(asked.at(-1)?.headers, {
    range: 'bytes=100-199',
    'if-range': '"a"',
    cookie: undefined,
    authorization: undefined,
  })
  const behind = await listen(path, { headers: { range: 'bytes=20000-20001' } })
  t.strictSame([behind.status, behind.headers.get('content-range')], [416, 'bytes */10000'])
  const odd = await listen(path, { headers: { range: 'bytes=0-1,5-6' } })
  t.equal(odd.status, 200, 'several ranges are none')
  await odd.arrayBuffer()
})

t.test('an address opens nothing else, ends with its time and with the credential that asked for it', async t => {
  const path = await addressOf(await recorded(`http://${host}/one.wav`))
  const [head, payload = '', signature = ''] = path.split('/').at(-1)?.split('.') ?? []
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const at = (token: string) => listen(`/dashboard/api/conversation-audio/${token}`).then(({ status }) => status)
  const changed = Buffer.from(JSON.stringify({ ...claims, exp: claims.exp + 60 })).toString('base64url')
  t.equal(await at(`${head}.${changed}.${signature}`), 404)
  t.equal(await at(a.bearer), 404, 'a token of a person is no address')
  t.equal(await at('x'), 404)
  const token = path.split('/').at(-1) ?? ''
  const asBearer = await node.ask('GET', '/dashboard/api/profile', { headers: { authorization: `Bearer ${token}` } })
  t.equal(asBearer.status, 401, 'nor an address a token')
  t.equal(claims.exp - Date.parse('2026-06-15T12:00:00.000Z') / 1000, 600)

  const made = { organization: a.organization, name: 'passing', createdBy: 'test', scopes: ['read'] as const }
  const { key } = await createApiKey(node.buckets.control, made)
  const conversation = await recorded(`http://${host}/one.wav`)
  const own = await eventually('the key', () => addressOf(conversation, key).catch(() => undefined))
  t.equal((await listen(own)).status, 200)
  await node.buckets.control.delete(apiKeyKey(hashApiKey(key)))
  await eventually('the end of it', async () => (await listen(own)).status === 404)
})

t.test('what is no audio, or stands behind the fence, is not handed on', async t => {
  const f = async (url: string, status: number, code: string): Promise<void> => {
    const answer = await listen(await addressOf(await recorded(url)))
    const text = await answer.text()
    t.equal(answer.status, status, url)
    t.match(JSON.parse(text), { code }, url)
    t.notMatch(text, /secret|127\.0\.0\.1/, url)
  }
  await f(`http://${host}/one.wav?type=text/html`, 502, 'OUT_FAILED')
  await f(`http://${host}/one.txt?type=application/octet-stream`, 502, 'OUT_FAILED')
  await f(`http://${host}/packed.wav`, 502, 'OUT_FAILED')
  await f(`http://${host}/broken.wav`, 502, 'OUT_FAILED')
  await f(`http://${host}/gone.wav`, 404, 'QRY_NOT_FOUND')
  await f(`http://localhost:${host.split(':')[1]}/one.wav`, 403, 'OUT_FENCED')
  await f('http://169.254.169.254/latest/meta-data/', 403, 'OUT_FENCED')
  const plain = await listen(await addressOf(await recorded(`http://${host}/one.mp3?type=binary/octet-stream`)))
  t.equal(plain.headers.get('content-type'), 'audio/mpeg', 'bytes are what their name says')
  await plain.arrayBuffer()
})

t.test('whoever goes away ends the call to the platform, and nobody holds too many', async t => {
  const path = await addressOf(await recorded(`http://${host}/endless.wav`))
  const open = async () => {
    const controller = new AbortController()
    const answer = await listen(path, { signal: controller.signal })
    t.equal(answer.status, 200)
    return { controller, closed: once(answers.at(-1) as ServerResponse, 'close') }
  }
  const first = await open()
  first.controller.abort()
  await first.closed
  const held = await eventually('sixteen', async () => {
    const many = []
    for (let n = 0; n < 16; n++) many.push(await open())
    return many
  })
  const more = await listen(path)
  t.strictSame([more.status, ((await more.json()) as { code: string }).code], [429, 'OUT_RATE'])
  for (const { controller } of held) controller.abort()
  await Promise.all(held.map(({ closed }) => closed))
})
