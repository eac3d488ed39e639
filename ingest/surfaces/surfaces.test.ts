import { randomBytes } from 'node:crypto'
import t from 'tap'
import { traces } from '#ingest/surfaces/otlp/traces.ts'
import { captureEvent } from '#ingest/surfaces/sdk/capture-event.ts'
import { captureSession } from '#ingest/surfaces/sdk/capture-session.ts'
import { voiceReport } from '#ingest/surfaces/voice/report.ts'
import type { Accepted, RequestContext, Surface } from '#ingest/verdict.ts'
import { answerBody } from '#ingest/verdict.ts'
import { FrameKind } from '#proto/envelope.ts'
import type { ErrorCode } from '#proto/errors.ts'
import { conversationIdOf, uuidBytes, uuidText } from '#proto/ids.ts'

const organization = {
  id: '5f0a4f0e-7d0b-4c7e-9a68-0f4a1f1f2a3b',
  bytes: uuidBytes('5f0a4f0e-7d0b-4c7e-9a68-0f4a1f1f2a3b'),
}
const context: RequestContext = { organization, content: 'json', receivedAtMs: 1_700_000_000_000, ids: 'strict' }
const mapping: RequestContext = { ...context, ids: 'map' }
const id = '0b1e7b0a-1111-4222-8333-444444444444'

/** What is accepted, with its answer as text. */
type Taken = Omit<Accepted, 'answer'> & { readonly answer: string }

function accepted(t: { fail(message: string): unknown }, surface: Surface, body: unknown, how = context): Taken {
  const bytes = Buffer.from(JSON.stringify(body))
  const verdict = surface(bytes, how)
  if (verdict.ok !== true) t.fail(`refused: ${JSON.stringify(verdict)}`)
  const taken = verdict as Accepted
  return { ...taken, answer: Buffer.from(answerBody(taken, bytes)).toString() }
}

t.test('a session creates its conversation and is echoed as it was sent', async t => {
  const verdict = accepted(t, captureSession, { session_id: id.toUpperCase(), client_config: 'x' })
  t.equal(verdict.answer, JSON.stringify({ session_id: id.toUpperCase() }))
  t.equal(uuidText(verdict.identity), id)
  t.strictSame(verdict.creates, verdict.identity)
  t.equal(verdict.requires, null)
  t.equal(verdict.kind, FrameKind.session)

  const mapped = accepted(t, captureSession, { session_id: 'conv_1', client_config: 'x' }, mapping)
  t.equal(mapped.answer, '{"session_id":"conv_1"}')
  t.equal(uuidText(mapped.identity), conversationIdOf(organization.id, 'conv_1'))
})

t.test('an event requires its conversation; a missing event id is made and answered', async t => {
  const turn = accepted(t, captureEvent, { session_id: id, event_id: id, primitive_name: 'a' })
  t.equal(turn.answer, JSON.stringify({ event_id: id }))
  t.equal(turn.mintedId, null)
  t.equal(uuidText(turn.requires ?? randomBytes(16)), id)
  t.equal(turn.creates, null)

  const tool = { session_id: id, primitive_name: 'a', primitive_type: 'tool', success: true, latency: 1 }
  for (const event_id of [undefined, null, '']) {
    const made = accepted(t, captureEvent, { ...tool, event_id })
    const minted = uuidText(made.mintedId ?? new Uint8Array(16))
    t.equal(made.answer, JSON.stringify({ success: true, event_id: minted }))
    t.match(minted, /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
  }
  t.equal(accepted(t, captureEvent, { ...tool, event_id: id }).answer, JSON.stringify({ success: true, event_id: id }))
})

t.test('an id is answered as it was sent, wherever its body lies and however it is written', async t => {
  const answerTo = (session_id: string): unknown => {
    const text = ` {"client_config":"x","session_id":"${session_id}"}`
    const bytes = Buffer.from(`before${text}`)
    const verdict = captureSession(bytes.subarray(6), context)
    return verdict.ok === true ? Buffer.from(answerBody(verdict, bytes, 6)).toString() : verdict
  }
  t.equal(answerTo(id), JSON.stringify({ session_id: id }))
  t.equal(answerTo(id.toUpperCase()), JSON.stringify({ session_id: id.toUpperCase() }))
  t.equal(answerTo(`\\u0030${id.slice(1)}`), JSON.stringify({ session_id: id }), 'escapes are read')
})

t.test('a voice report creates the conversation of its call, whatever form the call id has', async t => {
  const report = (callId: string) => ({
    message: {
      type: 'end-of-call-report',
      call: { id: callId, customer: { number: '+1555' } },
      transcript: 'AI: Hello\\nUser: Hi\\nAI: Bye\\n',
    },
  })
  const verdict = accepted(t, voiceReport, report('call 7'))
  t.equal(uuidText(verdict.creates ?? randomBytes(16)), conversationIdOf(organization.id, 'call 7'))
  const { event_count, ...rest } = JSON.parse(String(verdict.answer)) as { event_count: number }
  t.strictSame(rest, { status: 'accepted', session_id: 'call 7', user_id: '+1555' })
  t.ok(event_count >= 1)
})

t.test('what a voice platform says of a running call is answered, told apart and not stored', t => {
  const call = { id: 'c', customer: { number: '+1555' } }
  const of = (message: object) => voiceReport(Buffer.from(JSON.stringify({ message: { call, ...message } })), context)
  const answer = '{"status":"ignored","type":"status-update"}'
  t.strictSame(of({ type: 'status-update', status: 'ringing' }), { ok: 'empty', ignored: 'status-update', answer })
  t.match(of({ type: 'transcript[x]', transcriptType: 'final' }), { ok: 'empty', ignored: 'transcript' })
  t.match(of({ type: 'status-update', transcript: 'AI: Hi' }), { ok: false, code: 'ING_VOICE_TYPE' })
  t.match(of({ type: 'news', status: 'ringing' }), { ok: false, code: 'ING_VOICE_TYPE' })
  t.end()
})

t.test('an export goes by its first trace; one without usable spans leaves nothing to store', async t => {
  const traceId = randomBytes(16)
  const spanOf = (trace: Uint8Array) => ({
    resourceSpans: [
      {
        scopeSpans: [
          { spans: [{ traceId: Buffer.from(trace).toString('hex'), spanId: '00f067aa0ba902b7', name: 'x' }] },
        ],
      },
    ],
  })
  const verdict = accepted(t, traces, spanOf(traceId))
  t.strictSame(Buffer.from(verdict.identity), traceId)
  t.equal(verdict.requires, null)
  t.equal(traces(Buffer.from('{}'), context).ok, 'empty')
  const refused = traces(Buffer.from(JSON.stringify(spanOf(new Uint8Array(16)))), context)
  t.equal(refused.ok, 'empty')
  t.match(String((refused as { answer: unknown }).answer), /rejectedSpans/)
})

t.test('bodies that are no JSON are refused with the place of the fault and without an echo', async t => {
  const f = (body: string | Uint8Array, code: ErrorCode, sdk: string, voice: string | RegExp) => {
    for (const surface of [captureSession, captureEvent]) {
      t.match(surface(Buffer.from(body), context), { ok: false, code, detail: sdk })
    }
    t.match(voiceReport(Buffer.from(body), context), { ok: false, code, detail: voice })
  }
  f('', 'REQ_JSON_INVALID', 'the body is empty', 'the body is empty')
  f('{"a":', 'REQ_JSON_INVALID', 'the body ends too early, at byte 5', /./)
  f('{"secret" 1}', 'REQ_JSON_INVALID', 'unexpected character at byte 10', 'no JSON at character 10')
  const bad = Uint8Array.from([0x22, 0xff, 0x22])
  f(bad, 'REQ_JSON_INVALID', 'the body is not UTF-8, at byte 1', 'the body is not UTF-8')
  const deep = '['.repeat(100_000) + ']'.repeat(100_000)
  f(deep, 'REQ_BODY_INVALID', 'nested deeper than 64 levels, at byte 64', 'nested deeper than 64 levels')
})

t.test('random and mutated bytes never throw, and garbage is never accepted', async t => {
  const surfaces: Surface[] = [captureSession, captureEvent, voiceReport]
  const seed = Buffer.from(
    JSON.stringify({ session_id: id, event_id: id, primitive_name: 'a', user_data: { user_id: 'u' } }),
  )
  let refusals = 0
  for (let round = 0; round < 3_000; round++) {
    const body = round % 2 === 0 ? randomBytes(round % 200) : Buffer.from(seed)
    if (round % 2 === 1) {
      for (let n = 0; n <= round % 5; n++)
        body[Math.floor(Math.random() * body.length)] = Math.floor(Math.random() * 256)
    }
    for (const surface of surfaces) {
      const verdict = surface(body, context)
      if (verdict.ok !== true) refusals++
      else {
        const { session_id } = JSON.parse(body.toString()) as { session_id: string }
        t.equal(uuidText(verdict.identity), session_id.toLowerCase())
      }
    }
    for (const content of ['json', 'protobuf'] as const) {
      const verdict = traces(body, { ...context, content })
      if (verdict.ok === true) t.equal(verdict.identity.length, 16)
    }
  }
  t.ok(refusals > 6_000, `${refusals} refusals`)
})
