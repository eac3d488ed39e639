// One payload of each surface, explained for one of its events.

import { gzipSync } from 'node:zlib'
import t from 'tap'
import { loadPrices } from '#pricing/list.ts'
import { FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { jsonBytes, protobufBytes, request, span } from '#proto/otlp/fixture.ts'
import { contextOf, type ExplainedEvent, explainPayload, explainRow } from './explain.ts'
import { json, context as plain, unitsOf } from './fixture.ts'
import { parseTraces } from './otlp.ts'
import { parseEvent } from './sdk.ts'
import { parseVoice } from './voice.ts'

const { list } = await loadPrices('')
const context = contextOf(plain, { list, prices: [], rules: [] })

const field = (explained: ExplainedEvent | null, name: string) => explained?.fields.find(each => each.field === name)

t.test('a span is explained among those of its trace, in every encoding', async t => {
  const usage = { 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 20 }
  const body = request([
    span(1, 1, {}, { 'gen_ai.operation.name': 'invoke_agent', ...usage }),
    span(1, 2, { parentSpanId: '0000000000000001' }, { 'gen_ai.operation.name': 'chat', ...usage }),
    span(2, 2, {}, { 'gen_ai.operation.name': 'chat' }),
  ])
  const rows = unitsOf(parseTraces(jsonBytes(body), 'json', context)).map(unit => unit.events[0])
  const otlp = (encoding: number, bytes: Uint8Array, id = rows[0]?.event_id ?? '') =>
    explainPayload({ kind: FrameKind.otlp, encoding, bytes }, context, id)
  const explained = otlp(FrameEncoding.json, jsonBytes(body))
  t.match(field(explained, 'input_tokens'), { value: '', because: 'a span below this one counts it' })
  t.strictSame(otlp(FrameEncoding.protobuf, protobufBytes(body)), explained)
  t.strictSame(otlp(FrameEncoding.protobufGzip, gzipSync(protobufBytes(body))), explained)
  t.match(otlp(FrameEncoding.json, jsonBytes(body), rows[2]?.event_id), { span: { traceId: /2$/ } })
  t.equal(otlp(FrameEncoding.json, jsonBytes(body), context.organization), null, 'no such span')
  t.equal(otlp(FrameEncoding.json, json('no export')), null)
  t.equal(explainPayload({ kind: FrameKind.session, encoding: 0, bytes: json({}) }, context, ''), null)
})

t.test('an SDK event says which key of the body gave which field', async t => {
  const body = json({
    ...{ event_id: '7b1b2e86-5a2c-4d4b-8f5f-000000000001', session_id: 's', primitive_name: 'support', args: 'Hi' },
    metadata: {
      ...{ model: 'gpt-4o', model_name: 'other', provider: 'openai', 'x-api-key': 'secret' },
      ...{ input_tokens: '1k', prompt_tokens: 1000, output_tokens: 100 },
    },
  })
  const [row] = unitsOf(parseEvent(body, 'json', context)).flatMap(unit => unit.events)
  const payload = { kind: FrameKind.event, encoding: FrameEncoding.json, bytes: body }
  const explained = explainPayload(payload, context, row?.event_id ?? '')
  t.match(field(explained, 'model'), {
    value: 'gpt-4o',
    from: { attribute: 'metadata.model', dialect: 'sdk metadata' },
    ignored: [{ attribute: 'metadata.model_name', why: 'comes after metadata.model' }],
  })
  t.match(field(explained, 'input_tokens'), {
    value: '1000',
    from: { attribute: 'metadata.prompt_tokens' },
    ignored: [{ attribute: 'metadata.input_tokens', why: 'is no amount' }],
  })
  t.match(field(explained, 'cost'), { value: '0.0035', from: null, because: /by the price of openai gpt-4o/ })
  t.match(field(explained, 'output'), { value: '', from: null, looked: [{ attribute: 'result', dialect: 'contract' }] })
  t.match(field(explained, 'kind'), { value: 'agent', because: 'an event without a type is an agent turn' })
  t.match(explained?.attributes[0], { attribute: 'metadata.model', became: 'a field, metadata' })
  t.match(
    explained?.attributes.find(({ attribute }) => attribute === 'metadata.x-api-key'),
    { became: 'metadata, masked' },
  )
  t.notMatch(JSON.stringify(explained), /secret/)
  t.equal(explainPayload(payload, context, context.organization), null, 'another event')
})

t.test('an event of a call, and one whose payload is gone', async t => {
  const body = json({
    message: {
      ...{ type: 'end-of-call-report', call: { id: 'c-1', customer: { number: '+1555' } }, cost: 0.5 },
      transcript: 'AI: Hello\nUser: Hi\nAI: Bye\n',
    },
  })
  const [row] = unitsOf(parseVoice(body, 'json', context)).flatMap(unit => unit.events)
  if (row === undefined) throw new Error('no event')
  const payload = { kind: FrameKind.voice, encoding: FrameEncoding.json, bytes: body }
  const explained = explainPayload(payload, context, row.event_id)
  t.match(field(explained, 'cost'), { value: '0.5', because: "read from the call's report" })
  t.match(field(explainRow(row, 'as it is stored'), 'user_id'), { value: '+1555', because: 'as it is stored' })
  t.equal(explainPayload(payload, context, context.organization), null)
})
