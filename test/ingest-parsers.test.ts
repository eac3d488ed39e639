// What a receiver acknowledges a processor can read, under the same ids: random bodies through both.
import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { traces } from '#ingest/surfaces/otlp/traces.ts'
import { captureEvent } from '#ingest/surfaces/sdk/capture-event.ts'
import { captureSession } from '#ingest/surfaces/sdk/capture-session.ts'
import { voiceReport } from '#ingest/surfaces/voice/report.ts'
import type { Accepted, RequestContext, Surface } from '#ingest/verdict.ts'
import { answerBody } from '#ingest/verdict.ts'
import type { FrameParser, Unit } from '#processors/outcome.ts'
import { parseTraces } from '#processors/parsers/otlp.ts'
import { parseEvent, parseSession } from '#processors/parsers/sdk.ts'
import { parseVoice } from '#processors/parsers/voice.ts'
import { conversationIdOf, NIL_UUID, uuidBytes, uuidText } from '#proto/ids.ts'

const ROUNDS = 2_000
const organization = randomUUID()
const contextOf = (ids: 'strict' | 'map'): RequestContext => ({
  organization: { id: organization, bytes: uuidBytes(organization) },
  content: 'json',
  receivedAtMs: Date.now(),
  ids,
})

const oneOf = <T>(...choices: T[]): T => choices[Math.floor(Math.random() * choices.length)] as T
const LEAVE_OUT = Symbol('left out')
const oddity = (): unknown =>
  oneOf<unknown>(
    LEAVE_OUT,
    null,
    '',
    NIL_UUID,
    0,
    -1,
    1.5,
    1e300,
    true,
    'text',
    '\u0000\ud800',
    [],
    [1],
    {},
    {
      constructor: { a: [null] },
      __proto__: 5,
    },
  )
const id = (): unknown => oneOf<unknown>(randomUUID(), randomUUID().toUpperCase(), 'conv_1', oddity())

/** The fields with a value each, some of them odd. */
function bodyOf(fields: Record<string, () => unknown>): Buffer {
  const entries = Object.entries(fields).map(([name, value]) => [name, Math.random() < 0.1 ? oddity() : value()])
  return Buffer.from(JSON.stringify(Object.fromEntries(entries.filter(([, value]) => value !== LEAVE_OUT))))
}

const session = () =>
  bodyOf({
    session_id: () => oneOf<unknown>(randomUUID(), randomUUID(), id()),
    user_data: () => oneOf<unknown>({ user_id: oneOf<unknown>('ada', '', 5) }, { userId: 'x', n: { a: 1 } }, oddity()),
    client_config: () => oneOf<unknown>('mcp', '', LEAVE_OUT),
    metadata: () => oneOf<unknown>({ a: 1, b: { c: [] } }, {}, oddity()),
    timestamp: () => oneOf<unknown>(Date.now(), oddity()),
    tools: () => oneOf<unknown>(['a', 'b'], LEAVE_OUT, oddity()),
    ip: () => oneOf('', '192.0.2.1'),
  })

const event = () =>
  bodyOf({
    session_id: () => oneOf(randomUUID(), id()),
    event_id: () => oneOf(randomUUID(), id()),
    primitive_name: () => oneOf('support', 'x'),
    primitive_type: () => oneOf<unknown>('tool', 'resource', '', LEAVE_OUT, LEAVE_OUT),
    args: () => oneOf<unknown>('in', '', LEAVE_OUT),
    result: () => oneOf<unknown>('out', null, LEAVE_OUT),
    success: () => oneOf<unknown>(true, false),
    latency: () => oneOf<unknown>(0, 12.345, 1e15),
    timestamp: () => oneOf<unknown>(Date.now(), 0, LEAVE_OUT),
    parent_id: () => oneOf<unknown>(LEAVE_OUT, id()),
    metadata: () => oneOf<unknown>({ event_type: 'tool_call', cost: 'x', parent_id: 'y' }, oddity()),
    checkpoints: () => oneOf<unknown>(LEAVE_OUT, [{ name: 'a', timestamp: 1, metadata: { n: 1 } }]),
  })

function acknowledged(surface: Surface, body: Buffer, context: RequestContext): Accepted | null {
  const verdict = surface(body, context)
  return verdict.ok === true ? verdict : null
}

/** The units of a frame as the processor would read it; a dead letter fails the test. */
function read(t: Check, parser: FrameParser, body: Buffer, verdict: Accepted): readonly Unit[] {
  const outcome = parser(body, verdict.content, {
    organization,
    receivedAtMs: Date.now(),
    mintedId: verdict.mintedId === null ? NIL_UUID : uuidText(verdict.mintedId),
    retention: 0,
  })
  if ('units' in outcome) return outcome.units
  t.fail(`acknowledged and dead: ${outcome.reason}: ${body.toString()}`)
  return []
}

type Check = Pick<typeof t, 'fail' | 'equal'>

for (const ids of ['strict', 'map'] as const) {
  t.test(`acknowledged SDK bodies become rows under the acknowledged ids (${ids})`, async t => {
    const context = contextOf(ids)
    const taken = { sessions: 0, events: 0 }
    for (let round = 0; round < ROUNDS; round++) {
      const sessionBody = session()
      const created = acknowledged(captureSession, sessionBody, context)
      if (created !== null) {
        taken.sessions++
        const row = read(t, parseSession, sessionBody, created)[0]?.sessions[0]
        if (row?.conversation_id !== uuidText(created.identity)) t.fail(`another session: ${sessionBody.toString()}`)
      }
      const eventBody = event()
      const sent = acknowledged(captureEvent, eventBody, context)
      if (sent === null) continue
      taken.events++
      const row = read(t, parseEvent, eventBody, sent)[0]?.events[0]
      const { event_id } = JSON.parse(Buffer.from(answerBody(sent, eventBody)).toString()) as { event_id: string }
      if (row?.conversation_id !== uuidText(sent.identity)) t.fail(`another session: ${eventBody.toString()}`)
      if (row?.event_id !== conversationIdOf(organization, event_id)) t.fail(`another event: ${eventBody.toString()}`)
      if (row?.event_id === NIL_UUID) t.fail(`an event without an id: ${eventBody.toString()}`)
    }
    t.ok(taken.sessions > ROUNDS / 20 && taken.events > ROUNDS / 20, JSON.stringify(taken))
  })
}

t.test('an acknowledged voice report becomes as many events as its answer says', async t => {
  const context = contextOf('strict')
  let taken = 0
  for (let round = 0; round < ROUNDS / 4; round++) {
    const message = {
      type: 'end-of-call-report',
      call: { id: oneOf(randomUUID(), 'call 1'), customer: { number: '+1555' } },
      startedAt: oneOf<unknown>('2026-01-01T00:00:00Z', 'then', undefined),
      cost: oneOf<unknown>(0.1, undefined, 'x'),
      transcript: oneOf('AI: Hello\nUser: Hi\nAI: Bye\n', 'User: a: b\n\nUser: c', '', 'words without speakers'),
      artifact: oneOf<unknown>(
        undefined,
        {},
        {
          messages: [
            { role: oneOf('user', 'bot', 'system'), message: 'hello', time: Date.now(), secondsFromStart: 1 },
            { role: 'tool_calls', toolCalls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }] },
            { role: 'tool_call_result', toolCallId: 'a', name: 'f', result: 'ok' },
            { role: 'bot', message: oneOf<unknown>('bye', null, 5) },
          ],
        },
      ),
    }
    const body = Buffer.from(JSON.stringify({ message }))
    const verdict = acknowledged(voiceReport, body, context)
    if (verdict === null) continue
    taken++
    const { event_count } = JSON.parse(Buffer.from(answerBody(verdict, body)).toString()) as { event_count: number }
    const units = read(t, parseVoice, body, verdict)
    const events = units.flatMap(unit => unit.events)
    if (events.length !== event_count) t.fail(`${events.length} events, answered ${event_count}: ${body.toString()}`)
    if (events.some(row => row.conversation_id !== uuidText(verdict.identity))) t.fail('another conversation')
  }
  t.ok(taken > ROUNDS / 20, `${taken} taken`)
})

t.test('an acknowledged export becomes as many events as were not refused', async t => {
  const context = contextOf('strict')
  const hex = (bytes: number) => oneOf(randomBytes(bytes), randomBytes(bytes), randomBytes(bytes)).toString('hex')
  for (let round = 0; round < ROUNDS / 4; round++) {
    const spans = Array.from({ length: 1 + (round % 5) }, () => ({
      traceId: oneOf(hex(16), hex(16), hex(16), '00'.repeat(16), 'xyz'),
      spanId: oneOf(hex(8), hex(8), hex(8), hex(7)),
      name: 'chat',
      startTimeUnixNano: String(Date.now() * 1e6),
    }))
    const body = Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }))
    const verdict = acknowledged(traces, body, context)
    if (verdict === null) continue
    const answer = JSON.parse(Buffer.from(answerBody(verdict, body)).toString()) as {
      partialSuccess?: { rejectedSpans: string }
    }
    const events = read(t, parseTraces, body, verdict).flatMap(unit => unit.events)
    t.equal(events.length, spans.length - Number(answer.partialSuccess?.rejectedSpans ?? 0))
  }
})
