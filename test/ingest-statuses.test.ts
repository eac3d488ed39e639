// Every status of the ingestion endpoints, from a real receiver over a real stream; what was answered 200 is what the stream holds.
import { randomBytes, randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { conversationIdOf, NIL_UUID } from '#proto/ids.ts'
import { post } from '#test/http.ts'
import { startReceiverSystem } from '#test/receiver-rig.ts'
import { eventually } from '#test/rig.ts'
import { abortUploads, sendChunked } from '#test/uploads.ts'
import { otlpStatuses } from './ingest-statuses-otlp.ts'

const MiB = 1024 * 1024
const system = await startReceiverSystem(t)
const startedAt = performance.now()
// An event may wait long for a session that another receiver has just taken: what is waited for is seen, not how long it takes.
const patient = { PARLEY_SESSION_WAIT_MS: '60000' }
const [one, two, brief] = await Promise.all([
  system.startReceiver(patient),
  system.startReceiver(patient),
  system.startReceiver(),
])
const { baseUrl, otelUrl, opsPort } = one
const org = { 'x-org-id': system.organization }
const collector = { 'x-service-org-id': system.organization }
/** Bodies that were answered 200, in no order. */
const accepted: string[] = []
/** Receipt -> body of what was answered 200 and had to be stored. */
const receipts = new Map<string, string>()

const SESSION = '/api/v1/capture-session'
const EVENT = '/api/v1/capture-event'
const VOICE = '/api/voice/v1/webhooks/voice-platform'

type Check = Pick<typeof t, 'ok' | 'equal'>

/** Posts a body and remembers it when it was taken. */
async function send(url: string, body: unknown, headers: Record<string, string> = org) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await post<Record<string, unknown>>(url, text, headers)
  if (answer.status === 200) {
    accepted.push(text)
    receipts.set(answer.headers.get('x-parley-receipt') ?? 'missing', text)
  }
  return answer
}

async function refused(t: Check, path: string, body: unknown, status: number, error: string | RegExp, headers = org) {
  const answer = await send(`${baseUrl}${path}`, body, headers)
  t.equal(answer.status, status, `${path} ${JSON.stringify(body)?.slice(0, 120)}`)
  const text = String(answer.body.error)
  t.ok(typeof error === 'string' ? text === error : error.test(text), text)
}

const metricsOf = async (receiver: { opsPort: number }): Promise<string> =>
  (await fetch(`http://127.0.0.1:${receiver.opsPort}/metrics`)).text()

const newSession = async (): Promise<string> => {
  const session_id = randomUUID()
  await send(`${baseUrl}${SESSION}`, { session_id, user_data: { user_id: 'ada' } })
  return session_id
}

t.test('healthz is plain ok, readyz says why not', async t => {
  const health = await fetch(`${baseUrl}/healthz`)
  t.equal(health.status, 200)
  t.match(health.headers.get('content-type'), /^text\/plain/)
  t.equal(await health.text(), 'ok')
  t.equal((await fetch(`${baseUrl}/healthz`, { method: 'HEAD' })).status, 200)
  const ready = await fetch(`${otelUrl}/readyz`)
  t.equal(ready.status, 200)
  t.strictSame(await ready.json(), { ready: true, reasons: [] })
})

t.test('sessions are taken in both shapes and echoed', async t => {
  for (const body of [
    { session_id: randomUUID(), user_data: { user_id: 'ada', plan: 5 }, metadata: { a: { b: 1 } } },
    { session_id: randomUUID().toUpperCase(), client_config: '', tools: ['a'], connection_type: '', ip: '' },
  ]) {
    const answer = await send(`${baseUrl}${SESSION}`, body)
    t.equal(answer.status, 200)
    t.strictSame(answer.body, { session_id: body.session_id })
    t.match(answer.headers.get('content-type'), /^application\/json/)
    t.equal((await send(`${baseUrl}${SESSION}`, body)).status, 200, 'again')
  }
})

t.test('events are taken in both shapes', async t => {
  const session_id = await newSession()
  const turn = {
    session_id,
    event_id: randomUUID(),
    primitive_name: 'support',
    primitive_type: '',
    args: '',
    result: '',
  }
  t.strictSame((await send(`${baseUrl}${EVENT}`, turn)).body, { event_id: turn.event_id })
  const tool = { session_id, primitive_name: 'find', primitive_type: 'tool', success: false, latency: 12.345 }
  const made = await send(`${baseUrl}${EVENT}`, { ...tool, org_id: randomUUID() })
  t.equal(made.status, 200)
  t.equal(made.body.success, true)
  t.ok(
    (await system.stored()).some(frame => frame.mintedId === made.body.event_id),
    'the made id is in the frame',
  )
  const named = { ...tool, event_id: randomUUID() }
  t.strictSame((await send(`${baseUrl}${EVENT}`, named)).body, { success: true, event_id: named.event_id })
})

t.test('401 without an organization, with a malformed, an unknown and an inactive one', async t => {
  for (const path of [SESSION, EVENT]) {
    const f = (error: string, headers: Record<string, string>) =>
      refused(t, path, 'not even JSON', 401, error, headers as typeof org)
    await f('The organization header is missing', {})
    await f('The organization id is not a uuid', { 'x-org-id': 'acme' })
    await f('Unknown organization', { 'x-org-id': randomUUID() })
    await f('The organization is not active', { 'x-org-id': system.inactive })
  }
  const upper = await send(
    `${baseUrl}${SESSION}`,
    { session_id: randomUUID(), client_config: 'x' },
    {
      'X-ORG-ID': system.organization.toUpperCase(),
    },
  )
  t.equal(upper.status, 200, 'header name and id in upper case')
})

t.test('400 for bad JSON, and for fields that are missing or of another type, by name', async t => {
  const session_id = await newSession()
  const f = (path: string, body: unknown, error: string | RegExp) => refused(t, path, body, 400, error)
  for (const path of [SESSION, EVENT]) {
    await f(path, '', 'Invalid JSON: the body is empty')
    await f(path, '{"session_id": ', /^Invalid JSON/)
    await f(path, '[]', /^Invalid request body: the body must be a JSON object, at byte \d+$/)
  }
  await f(SESSION, { user_data: { user_id: 'a' } }, /^Invalid request body: session_id is required, at byte \d+$/)
  await f(
    SESSION,
    { session_id: 'conv_1', client_config: 'x' },
    /^Invalid request body: session_id must be a uuid, at byte \d+$/,
  )
  await f(SESSION, { session_id }, /^Invalid request body: user_data is required/)
  await f(SESSION, { session_id, user_data: {} }, /^Invalid request body: user_data.user_id is required/)
  await f(
    SESSION,
    { session_id, client_config: 1 },
    /^Invalid request body: client_config must be a string, at byte \d+$/,
  )
  await f(
    SESSION,
    { session_id, client_config: 'x', tools: [1] },
    /^Invalid request body: tools\.0 must be a string, at byte \d+$/,
  )
  const turn = { session_id, event_id: randomUUID(), primitive_name: 'a' }
  await f(EVENT, { session_id, primitive_name: 'a' }, /^Invalid request body: event_id is required, at byte \d+$/)
  await f(EVENT, { ...turn, event_id: 'x' }, /^Invalid request body: event_id must be a uuid, at byte \d+$/)
  await f(EVENT, { ...turn, session_id: 'x' }, /^Invalid request body: session_id must be a uuid, at byte \d+$/)
  await f(
    EVENT,
    { session_id, event_id: turn.event_id },
    /^Invalid request body: primitive_name is required, at byte \d+$/,
  )
  await f(EVENT, { ...turn, args: {} }, /^Invalid request body: args must be a string, at byte \d+$/)
  await f(EVENT, { ...turn, metadata: 'x' }, /^Invalid request body: metadata must be an object, at byte \d+$/)
  await f(EVENT, { ...turn, parent_id: 'x' }, /^Invalid request body: parent_id must be a uuid, at byte \d+$/)
  await f(EVENT, { ...turn, latency: -1 }, /^Invalid request body: latency must be/)
  await f(
    EVENT,
    { ...turn, timestamp: 1_789_999_990 },
    /^Invalid request body: timestamp must be an integer: Unix time in millis/,
  )
  await f(EVENT, { ...turn, timestamp: 'now' }, /^Invalid request body: timestamp must be an integer/)
  await f(EVENT, { ...turn, primitive_type: 'agent' }, /^Invalid request body: primitive_type must be one of tool/)
  await f(
    EVENT,
    { ...turn, primitive_type: 'tool', latency: 1 },
    /^Invalid request body: success is required, at byte \d+$/,
  )
  await f(
    EVENT,
    { ...turn, primitive_type: 'tool', success: true },
    /^Invalid request body: latency is required, at byte \d+$/,
  )
})

t.test('404 for an event of an unknown session, after waiting for it', async t => {
  const event = () => ({ event_id: randomUUID(), primitive_name: 'a' })
  // Refused only when stream and store have said no within the time: when one of them is late the event is taken.
  const { answer, waitedMs } = await eventually('a refusal', async () => {
    const started = performance.now()
    const answer = await send(`${brief.baseUrl}${EVENT}`, { ...event(), session_id: randomUUID() })
    return answer.status === 200 ? undefined : { answer, waitedMs: performance.now() - started }
  })
  t.match(answer, { status: 404, body: { error: 'Unknown session_id' } })
  t.ok(waitedMs > 900)
  t.match(await metricsOf(brief), /ingest_requests_total\{endpoint="capture-event",status="404",[^}]*\} 1$/m)

  const session_id = randomUUID()
  const early = send(`${one.baseUrl}${EVENT}`, { ...event(), session_id })
  await eventually('the event waits', async () => /ingest_waiting_[^ ]* 1$/m.test(await metricsOf(one)))
  await send(`${two.baseUrl}${SESSION}`, { session_id, client_config: 'x' })
  t.equal((await early).status, 200, 'an event that overtook its session on another receiver')

  const elsewhere = { 'x-org-id': system.inactive }
  t.equal((await send(`${baseUrl}${EVENT}`, { ...event(), session_id }, elsewhere)).status, 401)
})

t.test(
  'a session created on one receiver is used at once on another, and a stored one after its message is gone',
  async t => {
    for (let i = 0; i < 100; i++) {
      const [here, there] = i % 2 === 0 ? [one, two] : [two, one]
      const session_id = randomUUID()
      await send(`${here.baseUrl}${SESSION}`, { session_id, client_config: 'x' })
      const event = { session_id, event_id: randomUUID(), primitive_name: 'a' }
      const answer = await send(`${there.baseUrl}${EVENT}`, event)
      if (answer.status !== 200) t.equal(answer.status, 200, `round ${i}`)
    }
    const { store, database } = system.database
    const session_id = randomUUID()
    await store.command(
      `INSERT INTO ${database}.sessions (organization, conversation_id, source)
     VALUES ('${system.organization}', '${session_id}', 'sdk')`,
    )
    const old = await send(`${baseUrl}${EVENT}`, { session_id, event_id: randomUUID(), primitive_name: 'a' })
    t.equal(old.status, 200)
  },
)

t.test('413 for a body over the limit, announced, chunked or compressed; up to it bodies are taken', async t => {
  const session_id = await newSession()
  const tooLarge = 'Request body too large: at most 16777216 bytes after decompression'
  await refused(t, EVENT, 'x'.repeat(16 * MiB + 1), 413, tooLarge)
  t.strictSame(
    await sendChunked(
      `${baseUrl}${SESSION}`,
      org,
      Array.from({ length: 17 }, () => Buffer.alloc(MiB, 'x')),
    ),
    {
      status: 413,
      body: { error: tooLarge },
    },
  )
  const bomb = gzipSync(Buffer.alloc(64 * MiB))
  const answer = await post<Record<string, unknown>>(`${baseUrl}${EVENT}`, bomb, { ...org, 'content-encoding': 'gzip' })
  t.strictSame([answer.status, answer.body.error], [413, `${tooLarge}, 200:1 at most`])

  // Larger than a message: kept compressed when that lets it fit.
  const compressible = { session_id, event_id: randomUUID(), primitive_name: 'a', args: 'word '.repeat(2_000_000) }
  t.equal((await send(`${baseUrl}${EVENT}`, compressible)).status, 200)
  const frame = (await system.stored()).find(one => one.bytes.includes(compressible.event_id))
  t.ok(frame?.compressed)
  const random = {
    session_id,
    event_id: randomUUID(),
    primitive_name: 'a',
    args: randomBytes(8 * MiB).toString('base64'),
  }
  await refused(t, EVENT, random, 413, /^The payload does not fit one message even when compressed/)
})

t.test('bodies in chunks and gzip bodies are taken like others', async t => {
  const text = JSON.stringify({ session_id: randomUUID(), client_config: 'chunked' })
  const chunked = await sendChunked(`${baseUrl}${SESSION}`, org, [
    Buffer.from(text.slice(0, 5)),
    Buffer.from(text.slice(5)),
  ])
  t.equal(chunked.status, 200)
  accepted.push(text)

  const half = Math.floor(text.length / 2)
  const members = Buffer.concat([gzipSync(text.slice(0, half)), gzipSync(text.slice(half))])
  for (const body of [gzipSync(text), members]) {
    const answer = await post(`${baseUrl}${SESSION}`, body, { ...org, 'content-encoding': 'gzip' })
    t.equal(answer.status, 200)
    accepted.push(text)
  }
  const broken = await post<{ error: string }>(`${baseUrl}${SESSION}`, text, { ...org, 'content-encoding': 'gzip' })
  t.strictSame([broken.status, broken.body.error], [400, 'The compressed body cannot be read'])
  const brotli = await post<{ error: string }>(`${baseUrl}${SESSION}`, text, { ...org, 'content-encoding': 'br' })
  t.strictSame([brotli.status, brotli.body.error], [400, 'Unsupported content encoding: use gzip, deflate or none'])
})

t.test('voice: 200, and 400, 413, 422 in the order of the checks', async t => {
  const call = { id: `call ${randomUUID()}`, customer: { number: '+15550001' } }
  const message = { type: 'end-of-call-report', call, transcript: 'AI: Hello\nUser: Is it open?\nAI: Yes.\n' }
  const taken = await send(`${baseUrl}${VOICE}`, { message })
  t.equal(taken.status, 200)
  t.match(taken.body, { status: 'accepted', session_id: call.id, user_id: '+15550001', event_count: Number })
  const event = {
    session_id: conversationIdOf(system.organization, call.id),
    event_id: randomUUID(),
    primitive_name: 'a',
  }
  t.equal((await send(`${two.baseUrl}${EVENT}`, event)).status, 200, 'the call is a session')

  const f = (body: unknown, status: number, error: string | RegExp, headers: Record<string, string> = org) =>
    refused(t, VOICE, body, status, error, headers as typeof org)
  await f('no JSON', 422, 'The x-org-id header is missing', {})
  const invalid = 'The organization is malformed, unknown or inactive'
  for (const id of ['acme', randomUUID(), system.inactive]) await f('no JSON', 400, invalid, { 'x-org-id': id })
  await f('no JSON', 400, /^Invalid JSON/)
  await f({}, 400, 'Invalid request body: message must be an object')
  await f({ message: { ...message, type: 'status-update' } }, 400, /^message.type must be end-of-call-report/)
  await f({ message: { ...message, call: { customer: call.customer } } }, 400, /^message.call.id is required/)
  await f({ message: { ...message, call: { id: 'x' } } }, 400, /^The caller number is missing/)
  const huge = `User: ${'word '.repeat(210_000)}\nAI: yes\n`
  await f({ message: { ...message, transcript: huge } }, 413, /^The transcript is over one megabyte/)
  await f({ message: { ...message, transcript: '' } }, 422, /^The report has no usable transcript/)
})

otlpStatuses(t, { system, baseUrl, otelUrl, opsPort, send })

t.test('405 names the methods, 404 is JSON', async t => {
  for (const [path, method, allow] of [
    [SESSION, 'GET', 'POST'],
    [EVENT, 'PUT', 'POST'],
    [VOICE, 'DELETE', 'POST'],
    ['/v1/traces', 'GET', 'POST'],
    ['/healthz', 'POST', 'GET, HEAD'],
  ] as const) {
    const answer = await fetch(`${baseUrl}${path}`, { method })
    t.strictSame([answer.status, answer.headers.get('allow')], [405, allow], `${method} ${path}`)
  }
  const unknown = await fetch(`${baseUrl}/api/v2/capture-session`)
  t.equal(unknown.status, 404)
  t.strictSame(await unknown.json(), { error: 'Not found' })
})

t.test('lenient settings: any id is mapped, events of unknown sessions are taken', async t => {
  const lenient = await system.startReceiver({ PARLEY_IDS: 'map', PARLEY_UNKNOWN_SESSION: 'create' })
  const event = { session_id: `conv_${randomUUID()}`, event_id: 'interaction 7', primitive_name: 'a', parent_id: 'p' }
  const answer = await send(`${lenient.baseUrl}${EVENT}`, event)
  t.equal(answer.status, 200)
  t.strictSame(answer.body, { event_id: 'interaction 7' })
  const session = { session_id: 'oauth:a:b', user_data: { user_id: '' } }
  t.strictSame((await send(`${lenient.baseUrl}${SESSION}`, session)).body, { session_id: 'oauth:a:b' })
})

t.test('random requests are never answered 2xx and never end a receiver', async t => {
  const paths = [SESSION, EVENT, VOICE, '/v1/traces']
  const types = ['application/json', 'application/x-protobuf']
  for (let round = 0; round < 150; round++) {
    // 0xff never starts a protobuf field that could be skipped, nor any JSON.
    const body = Buffer.concat([Buffer.from([0xff, 0xff]), randomBytes(round * 7)])
    const headers = { ...org, ...collector, 'content-type': types[round % 2] as string }
    const encoding: Record<string, string> = round % 3 === 0 ? { 'content-encoding': 'gzip' } : {}
    const response = await fetch(`${baseUrl}${paths[round % 4]}`, {
      method: 'POST',
      body,
      headers: { ...headers, ...encoding },
    })
    await response.arrayBuffer()
    if (response.status < 400 || response.status >= 500) t.equal(response.status, 400, `round ${round}`)
  }
  await abortUploads(`${baseUrl}${SESSION}`, org, 20)
  t.equal((await fetch(`${baseUrl}/healthz`)).status, 200)
})

t.test('the metrics tell requests, refusals, envelopes and what is pending', async t => {
  // The receiver hears a moment later that a sender is gone.
  const text = await eventually('nothing pending', async () => {
    const text = await metricsOf(one)
    return /ingest_pending_bytes\{[^}]*\} 0$/m.test(text) && text
  })
  const f = (name: string, labels: string): number => {
    const line = text.split('\n').find(one => one.startsWith(`parley_ingest_${name}{${labels}`))
    return Number(line?.split(' ').at(-1) ?? Number.NaN)
  }
  t.ok(f('requests_total', 'endpoint="capture-session",status="200"') > 50)
  t.ok(f('refused_total', 'endpoint="voice",code="ING_VOICE_NUMBER"') >= 1)
  t.ok(f('body_bytes_total', 'endpoint="traces"') > MiB)
  t.ok(f('envelopes_total', 'outcome="stored"') > 100)
  t.equal(f('envelope_frames_count', ''), f('envelopes_total', 'outcome="stored"'))
  t.equal(f('ack_seconds_bucket', 'le="+Inf"'), f('ack_seconds_count', ''))
  t.ok(f('envelope_bytes_sum', '') > 10_000)
  t.ok(f('known_sessions', '') > 100)
  for (const name of ['pending_bytes', 'pending_payloads', 'held_payloads', 'envelopes_in_flight', 'waiting_events']) {
    t.equal(f(name, ''), 0, name)
  }
  const lines = one
    .logs()
    .split('\n')
    .filter(line => line.includes('request refused'))
  const codes = lines.map(line => (JSON.parse(line) as { code: string }).code)
  t.ok(codes.length > 5)
  const most = 1 + Math.floor((performance.now() - startedAt) / 10_000)
  const often = [...new Set(codes)].filter(code => codes.filter(other => other === code).length > most)
  t.strictSame(often, [], 'at most one line per code and ten seconds')
})

t.test('the streams hold exactly what was answered 200, for this organization', async t => {
  const frames = (await system.stored()).filter(frame => frame.kind !== 'otlp' || frame.bytes[0] === 0x7b)
  t.strictSame(frames.map(frame => frame.bytes.toString()).sort(), accepted.sort())
  t.ok(frames.every(frame => frame.organization === system.organization))
  const byReceipt = new Map(frames.map(frame => [frame.receipt, frame.bytes.toString()]))
  t.ok(receipts.size > 100)
  for (const [receipt, text] of receipts) if (byReceipt.get(receipt) !== text) t.equal(byReceipt.get(receipt), text)
  const minted = frames.filter(frame => frame.mintedId !== NIL_UUID)
  t.ok(minted.length > 0 && minted.every(frame => frame.kind === 'event'))
})
