// Why is this field empty: every field of a span is explained, by the same reading that makes its row.
import t, { type Test } from 'tap'
import { decodeTraces } from '#proto/otlp/decode.ts'
import { jsonBytes, request, span } from '#proto/otlp/fixture.ts'
import { context } from '../fixture.ts'
import { type ExplainedField, type ExplainedSpan, explainSpan, explainSpans } from './explain.ts'
import { child } from './fixture.ts'
import { compileRules } from './rules.ts'

function spansOf(t: Test, list: Parameters<typeof request>[0]): Parameters<typeof explainSpans>[0] {
  const decoded = decodeTraces(jsonBytes(request(list)), 'json')
  if (!decoded.ok) throw new Error(decoded.reason)
  t.equal(decoded.spans.length, list.length)
  return decoded.spans
}

function explain(t: Test, values: Record<string, unknown>, rules = compileRules([])): ExplainedSpan {
  const [only] = spansOf(t, [span(1, 1, { ...child }, values)])
  return explainSpan(only as Parameters<typeof explainSpan>[0], { ...context, rules })
}

const field = (explained: ExplainedSpan | undefined, name: string): ExplainedField | undefined =>
  explained?.fields.find(each => each.field === name)

t.test('what won, what was passed over, and why', async t => {
  const found = explain(t, {
    'gen_ai.operation.name': 'chat',
    'session.id': 'unknown',
    'langfuse.session.id': 's-1',
    'gen_ai.conversation.id': 'g-1',
    'gen_ai.system': 'langchain',
    'gen_ai.request.model': 'claude-sonnet-5',
    'gen_ai.input.messages': '__REDACTED__',
    'gen_ai.usage.input_tokens': 'many',
    'llm.token_count.prompt': 7,
  })
  t.match(field(found, 'session_id'), {
    value: 's-1',
    from: { attribute: 'langfuse.session.id', dialect: 'langfuse', step: 'fields' },
    because: '',
    ignored: [
      { attribute: 'session.id', dialect: 'opentelemetry', why: 'identifies nobody: a framework fills it in' },
      { attribute: 'gen_ai.conversation.id', dialect: 'genai', why: 'comes after langfuse.session.id' },
    ],
    looked: [],
  })
  t.match(field(found, 'provider'), {
    value: 'anthropic',
    from: null,
    because: 'the beginning of the model',
    ignored: [{ attribute: 'gen_ai.system', why: 'names a framework, not the maker of the model' }],
  })
  t.match(field(found, 'input'), {
    value: '',
    from: null,
    ignored: [{ attribute: 'gen_ai.input.messages', why: 'says that there is no value' }],
  })
  t.match(field(found, 'input_tokens'), {
    value: '7',
    from: { attribute: 'llm.token_count.prompt', dialect: 'openinference' },
    ignored: [{ attribute: 'gen_ai.usage.input_tokens', why: 'is no amount' }],
  })
  t.match(field(found, 'kind'), { value: 'llm', from: { attribute: 'gen_ai.operation.name', dialect: 'genai' } })
})

t.test('an empty field says where it was looked for', async t => {
  const found = explain(t, {})
  const looked = field(found, 'session_id')?.looked.map(place => place.attribute) ?? []
  t.same(looked.slice(0, 3), ['service.session_id', 'langfuse.session.id', 'session.id'])
  t.match(field(found, 'session_id'), { because: 'the trace id: nothing names a session' })
  t.notOk(
    field(found, 'user_id')?.looked.some(place => place.attribute === 'user.account_uuid'),
    'keys of dialects that this span does not speak are not asked',
  )
})

t.test("an organization's rule comes right after the contract's keys", async t => {
  const rules = compileRules([
    { attribute: 'shop.chat', field: 'session_id' },
    { attribute: 'shop.caller', field: 'user_id' },
    { attribute: 'resource.shop.agent', field: 'name' },
    { attribute: 'shop.question', field: 'input' },
  ])
  const values = {
    'shop.chat': 'unknown',
    'shop.caller': 5,
    'session.id': 's',
    'shop.question': 'Why?',
    input: 'Contract',
  }
  const found = explain(t, values, rules)
  t.match(field(found, 'session_id'), { value: 'unknown', from: { dialect: 'organization', step: 'organization' } })
  t.match(field(found, 'user_id'), { value: '5', from: { attribute: 'shop.caller' } })
  t.match(field(found, 'input'), {
    value: 'Contract',
    from: { attribute: 'input', dialect: 'contract' },
    ignored: [{ attribute: 'shop.question', why: 'comes after input' }],
  })
  t.match(found.attributes, [
    { attribute: 'shop.chat', became: 'field session_id' },
    { attribute: 'shop.caller', became: 'field user_id' },
    { attribute: 'session.id', became: 'metadata' },
    { attribute: 'shop.question', became: 'metadata' },
    { attribute: 'input', became: 'field input' },
  ])
})

t.test('what the neighbours of a span decide is explained too', async t => {
  const usage = { 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 20 }
  const [, agent] = explainSpans(
    spansOf(t, [
      span(
        1,
        2,
        { parentSpanId: '0000000000000001' },
        { 'gen_ai.operation.name': 'chat', 'gen_ai.input.messages': '[{"role":"user","content":"Hi"}]', ...usage },
      ),
      span(1, 1, {}, { 'gen_ai.operation.name': 'invoke_agent', ...usage }),
    ]),
    context,
  )
  t.match(field(agent, 'input_tokens'), {
    value: '',
    from: null,
    because: 'a span below this one counts it',
    ignored: [{ attribute: 'gen_ai.usage.input_tokens', why: 'a span below this one counts it' }],
  })
  t.match(field(agent, 'input'), { value: '', from: null, because: '' }, 'what it says is its own')
})

t.test('secrets are not shown, and every attribute says what became of it', async t => {
  const found = explain(t, {
    'openinference.span.kind': 'LLM',
    'x-api-key': 'k-123',
    'input.value': '{"headers":{"authorization":"Bearer abc"}}',
    'llm.input_messages.0.message.role': 'user',
    'llm.input_messages.0.message.content': 'Hi',
    'ai.telemetry.metadata.plan': 'pro',
    odd: [1, { a: true }],
  })
  t.notMatch(JSON.stringify(found), /k-123|Bearer abc/)
  t.same(
    found.attributes.map(({ attribute, became }) => [attribute, became]),
    [
      ['openinference.span.kind', 'field kind, metadata'],
      ['x-api-key', 'metadata, masked'],
      ['input.value', 'left out: repeats what is stored'],
      ['llm.input_messages.0.message.role', 'part of a field'],
      ['llm.input_messages.0.message.content', 'part of a field'],
      ['ai.telemetry.metadata.plan', 'metadata plan'],
      ['odd', 'metadata'],
    ],
  )
})
