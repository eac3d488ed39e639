// Why is this field empty, and what to do about it: a trace is sent, explained, a rule is tried on it and saved, and the next traces
// follow the rule. Real processes and engines.
import { randomBytes, randomUUID } from 'node:crypto'
import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { changeReading } from '#control/readings.ts'
import { spanEventId } from '#proto/ids.ts'
import { protobufBytes, request } from '#proto/otlp/fixture.ts'
import { RULES_MAX } from '#proto/rules.ts'
import { streamOf } from '#proto/streams.ts'
import { post } from '#test/http.ts'
import { createTenant, eventually, startSystem, testLimits } from '#test/rig.ts'

interface Field {
  field: string
  value: string
  stored: string | null
  from: { attribute: string; dialect: string; step: string } | null
  because: string
  ignored: { attribute: string; why: string }[]
}
interface Explained {
  read_from: string
  because: string
  source: string
  span: { span_id: string } | null
  fields: Field[]
  attributes: { attribute: string; became: string }[]
}

const system = await startSystem(t)
const stranger = await createTenant(system.buckets)

const call = async (method: string, path: string, body?: unknown, key = system.apiKey) => {
  const response = await fetch(`${system.baseUrl}/dashboard/api/${path}`, {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as never }
}

/** Sends a model call of a new trace; returns its event id. */
async function send(attributes: Record<string, unknown>): Promise<string> {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  const now = BigInt(Date.now()) * 1_000_000n
  const span = {
    ...{ traceId, spanId, name: 'chat gpt-4o', kind: 3 },
    ...{ startTimeUnixNano: String(now), endTimeUnixNano: String(now + 5_000_000n) },
    attributes: Object.entries({ 'gen_ai.operation.name': 'chat', ...attributes }).map(([key, value]) => ({
      key,
      value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
    })),
  }
  const answer = await post(`${system.otelUrl}/v1/traces`, protobufBytes(request([span])), {
    'x-service-org-id': system.organization,
    'content-type': 'application/x-protobuf',
  })
  t.equal(answer.status, 200)
  return spanEventId(system.organization, traceId, spanId)
}

const explain = async (event_id: string): Promise<Explained> =>
  eventually(`the event ${event_id}`, async () => {
    const { status, body } = await call('POST', 'explain-event', { event_id })
    return status === 200 ? (body as Explained) : undefined
  })

const field = (explained: Explained, name: string): Field | undefined =>
  explained.fields.find(each => each.field === name)

const attributes = {
  ...{ 'gen_ai.request.model': 'gpt-4o', 'gen_ai.provider.name': 'openai', 'session.id': 'unknown' },
  ...{ 'gen_ai.usage.input_tokens': 1000, 'gen_ai.usage.output_tokens': 100 },
  ...{ 'shop.chat': '{"id":"c-7"}', 'shop.price': '0.25', authorization: 'Bearer abcdef' },
}
const rules = [
  { attribute: 'shop.chat#id', field: 'session_id' },
  { attribute: 'shop.caller', field: 'user_id' },
]
let first = ''

t.test('a stored span is explained from its payload', async t => {
  first = await send(attributes)
  const explained = await explain(first)
  t.match(explained, { read_from: 'payload', because: '', source: 'otlp', span: { span_id: /^[0-9a-f]{16}$/ } })
  t.match(field(explained, 'model'), { value: 'gpt-4o', stored: 'gpt-4o', from: { attribute: 'gen_ai.request.model' } })
  t.match(field(explained, 'session_id'), {
    because: 'the trace id: nothing names a session',
    ignored: [{ attribute: 'session.id', why: 'identifies nobody: a framework fills it in' }],
  })
  t.match(field(explained, 'cost'), {
    value: '0.0035',
    stored: '0.0035',
    from: null,
    because: /price of openai gpt-4o/,
  })
  t.notMatch(JSON.stringify(explained), /abcdef/, 'secrets are not shown')
  for (const { field: name, value, stored } of explained.fields) {
    // The conversation of a trace without a session is shown by its uuid where it is stored.
    if (stored !== null && name !== 'session_id') t.equal(value, stored, name)
  }
})

t.test('rules are tried on it before they are saved', async t => {
  const { status, body } = await call('POST', 'attribute-rules/try', {
    event_id: first,
    rules: [
      ...rules,
      { attribute: 'shop.chat', field: 'input_tokens' },
      { attribute: 'shop.price', field: 'cost' },
      { attribute: 'shop.price', field: 'name' },
      { attribute: 'shop.chat#no', field: 'model' },
    ],
  })
  t.equal(status, 200)
  t.match(body, {
    event_id: first,
    changes: [
      { field: 'session_id', after: 'c-7', from: { attribute: 'shop.chat#id', dialect: 'organization' } },
      { field: 'cost', before: '0.0035', after: '0.25', from: { attribute: 'shop.price' } },
    ],
    idle: [
      { attribute: 'shop.caller', field: 'user_id', why: 'the span has no such attribute' },
      { attribute: 'shop.chat', field: 'input_tokens', why: 'is no amount' },
      { attribute: 'shop.price', field: 'name', why: 'name of such a span comes from elsewhere' },
      { attribute: 'shop.chat#no', field: 'model', why: 'the attribute holds nothing there' },
    ],
  })
  t.match((await call('GET', 'attribute-rules')).body, { rules: [] }, 'nothing was saved')
})

t.test('saved rules hold for what comes, not for what is stored', async t => {
  const saved: string[] = []
  for (const rule of rules) {
    const { status, body } = await call('POST', 'attribute-rules', rule)
    t.match({ status, body }, { status: 201, body: { ...rule, created_by: 'api-key' } })
    saved.push((body as { id: string }).id)
  }
  t.match((await call('GET', 'attribute-rules')).body, { rules, fields: ['kind', 'session_id'] })
  t.match((await call('GET', 'attribute-rules', undefined, stranger.apiKey)).body, { rules: [] })
  const followed = await eventually(
    'an event that follows the rules',
    async () => {
      const explained = await explain(await send({ ...attributes, 'shop.caller': 'ada' }))
      return field(explained, 'session_id')?.stored === 'c-7' ? explained : undefined
    },
    60_000,
  )
  t.match(field(followed, 'session_id'), { value: 'c-7', from: { attribute: 'shop.chat#id', step: 'organization' } })
  t.match(field(followed, 'user_id'), { value: 'ada', stored: 'ada', from: { attribute: 'shop.caller' } })
  const earlier = field(await explain(first), 'session_id')
  t.match(earlier, { value: 'c-7', from: { attribute: 'shop.chat#id' } }, 'read now')
  t.not(earlier?.stored, 'c-7', 'what is stored stays')

  t.equal((await call('DELETE', `attribute-rules/${saved[0]}`, undefined, stranger.apiKey)).status, 404)
  t.equal((await call('DELETE', `attribute-rules/${saved[0]}`)).status, 204)
  t.equal((await call('DELETE', `attribute-rules/${saved[0]}`)).status, 404)
  t.match((await call('GET', 'attribute-rules')).body, { rules: [{ id: saved[1] }] })
  await eventually(
    'an event that follows the rule that is left',
    async () => {
      const explained = await explain(await send({ ...attributes, 'shop.caller': 'ada' }))
      return field(explained, 'user_id')?.stored === 'ada' && field(explained, 'session_id')?.stored !== 'c-7'
    },
    60_000,
  )
})

t.test('what is wrong is said', async t => {
  const f = async (path: string, body: unknown, status: number, error: RegExp): Promise<void> =>
    void t.match(await call('POST', path, body), { status, body: { error } }, String(error))
  await f('attribute-rules', { attribute: 'a' }, 400, /field is required/)
  await f('attribute-rules', { attribute: 'a', field: 'nothing' }, 400, /field must be one of "kind"/)
  await f('attribute-rules', { attribute: ' ', field: 'kind' }, 400, /attribute must be a key/)
  await f('attribute-rules', { attribute: 'a#', field: 'kind' }, 400, /attribute must be a key, or KEY#PATH/)
  await f('attribute-rules', { attribute: 'http.headers.authorization', field: 'user_id' }, 400, /name of a secret/)
  await f(
    'attribute-rules/try',
    { event_id: first, rules: [{ attribute: 'a#api_key', field: 'kind' }] },
    400,
    /rules\.0\.attribute is the name/,
  )
  await f('attribute-rules', rules[1], 400, /there is such a rule already/)
  const full = Array.from({ length: RULES_MAX }, (_, i) => ({
    ...{ id: randomUUID(), attribute: `a${i}`, field: 'name' as const },
    ...{ created_at: new Date().toISOString(), created_by: 'test' },
  }))
  await changeReading(system.buckets.control, stranger.organization, 'test', said => ({ ...said, rules: full }))
  t.match(await call('POST', 'attribute-rules', rules[0], stranger.apiKey), {
    status: 400,
    body: { error: /there are 50 rules already/ },
  })
  await f('attribute-rules/try', { event_id: first, rules: [] }, 400, /rules/)
  await f('attribute-rules/try', { event_id: randomUUID(), rules }, 404, /no such event/)
  await f('explain-event', { event_id: 'x' }, 400, /event_id must be a uuid/)
  t.equal((await call('POST', 'explain-event', { event_id: first }, stranger.apiKey)).status, 404)
})

t.test('events of the SDK are explained too', async t => {
  const [session_id, event_id] = [randomUUID(), randomUUID()]
  const org = { 'x-org-id': system.organization }
  await post(`${system.baseUrl}/api/v1/capture-session`, { session_id, user_data: { user_id: 'ada' } }, org)
  const metadata = { model: 'gpt-4o', input_tokens: 'many', tokens: 7 }
  const event = { event_id, session_id, primitive_name: 'support', args: 'Hi', result: 'Hello', metadata }
  await post(`${system.baseUrl}/api/v1/capture-event`, event, org)
  const explained = await explain(event_id)
  t.match(explained, { read_from: 'payload', source: 'sdk', span: null })
  t.match(field(explained, 'name'), { value: 'support', from: { attribute: 'primitive_name' } })
  t.match(field(explained, 'model'), { value: 'gpt-4o', from: { attribute: 'metadata.model' } })
  t.match(field(explained, 'input_tokens'), {
    value: '',
    ignored: [{ attribute: 'metadata.input_tokens', why: 'is no amount' }],
  })
  t.match(field(explained, 'cost'), { value: '', because: 'there can be no price: no amount in input_tokens' })
  t.match(await call('POST', 'attribute-rules/try', { event_id, rules }), {
    status: 400,
    body: { error: /rules are for spans/ },
  })
})

t.test('without its payload an event is explained as far as it is stored', async t => {
  const jsm = await jetstreamManager(system.nc)
  for (let i = 0; i < testLimits.partitions; i++) await jsm.streams.purge(streamOf(i))
  const explained = await explain(first)
  t.match(explained, { read_from: 'stored', because: /no longer held/, source: 'otlp' })
  t.match(field(explained, 'model'), { value: 'gpt-4o', stored: 'gpt-4o', from: null, because: 'as it is stored' })
  t.match(await call('POST', 'attribute-rules/try', { event_id: first, rules }), {
    status: 404,
    body: { error: /no longer held/ },
  })
})
