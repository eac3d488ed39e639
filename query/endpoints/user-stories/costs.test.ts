// What user stories say that conversations and users cost: tokens that count once, and prices of every kind told apart.
import t from 'tap'
import { Present } from '#proto/rows.ts'
import { id, insertEvents, insertMove, NOW_MS, storedEvent } from '../../fixture.ts'
import { startDataNode } from '../../fixture-data.ts'

const { post, db, a } = await startDataNode(t)

t.test('tokens that an agent span repeats from its model call count once', async t => {
  const rows = (await post('user-stories', { time_range: '1d', agent_name: 'planner' })).body.conversations
  t.strictSame(rows[0].cost_metadata, [
    {
      model: 'm-1',
      provider: 'acme',
      'tokens.input': '50',
      'tokens.output': '5',
      'tokens.aggregated': 'true',
      'tokens.request_input': '50',
    },
  ])
})

t.test('reported, computed, impossible and missing prices are told apart', async t => {
  const PRICED = id(191)
  const { inputTokens, outputTokens, cost, costComputed, pricingInvalid } = Present
  const tokens = inputTokens | outputTokens
  const event = (n: number, present: number, input: number, cost_nanos: number) =>
    storedEvent({
      organization: a.organization,
      conversation_id: PRICED,
      event_id: id(600 + n),
      at: new Date(NOW_MS - 45 * 86_400_000 + n * 1000).toISOString(),
      ...{ kind: 'llm', name: 'priced', model: 'm-2', provider: 'acme', present, cost_nanos },
      ...{ input_tokens: input, output_tokens: 10 },
    })
  await insertEvents(db.store, [
    event(1, tokens | cost, 100, 5_000_000),
    event(2, tokens | cost | costComputed, 100, 1_000_000),
    event(3, tokens | cost | costComputed, 200, 2_000_000),
    event(4, tokens | cost | costComputed, 300_000, 3_000_000_000),
    event(5, pricingInvalid | outputTokens, 0, 0),
    event(6, tokens, 300, 0),
  ])
  const { conversations } = (
    await post('user-stories', { time_range: 'all', search_field: 'conversation_id', search_value: PRICED })
  ).body
  const sums = (input: string, output: string) => ({
    ...{ model: 'm-2', provider: 'acme', 'tokens.input': input, 'tokens.output': output },
    'tokens.aggregated': 'true',
  })
  const { 'tokens.input': _, ...invalid } = sums('', '10')
  t.strictSame(conversations[0].cost_metadata, [
    { ...sums('300', '10'), 'tokens.request_input': '300' },
    { ...invalid, 'pricing.invalid': 'true' },
    { ...sums('100', '10'), cost: '0.005' },
    { ...sums('300', '20'), 'cost.computed': '0.003', 'tokens.request_input': '200' },
    { ...sums('300000', '10'), 'cost.computed': '3', 'tokens.request_input': '300000' },
  ])
  const { messages } = (await post('conversation-messages', { conversation_id: PRICED })).body
  const { 'tokens.aggregated': __, ...one } = sums('200', '10')
  t.strictSame(messages.find((message: { event_id: string }) => message.event_id === id(603)).cost_metadata, {
    ...one,
    ...{ 'cost.computed': '0.002', 'tokens.request_input': '200' },
  })
})

t.test('prices are summed over the conversations of a user, and follow what was corrected', async t => {
  const { inputTokens, outputTokens, cost, costComputed, pricingInvalid } = Present
  const tokens = inputTokens | outputTokens
  const event = (n: number, conversation: number, fields: Parameters<typeof storedEvent>[0] | object) =>
    storedEvent({
      ...{ organization: a.organization, conversation_id: id(conversation), event_id: id(700 + n), user_id: 'rich' },
      ...{ kind: 'llm', source: 'otlp', name: 'priced', model: 'm-3', provider: 'acme', output_tokens: 10 },
      at: new Date(NOW_MS - 50 * 86_400_000 + n * 1000).toISOString(),
      ...fields,
    })
  const computed = (input_tokens: number, cost_nanos: number) => ({
    ...{ present: tokens | cost | costComputed, input_tokens, cost_nanos },
  })
  const gone = event(9, 193, computed(500, 9_000_000))
  await insertEvents(db.store, [
    event(1, 192, computed(100, 1_000_000)),
    event(2, 193, computed(200, 2_000_000)),
    event(3, 193, { present: inputTokens | cost | costComputed, input_tokens: 300, cost_nanos: 500_000 }),
    event(4, 193, computed(300_000, 3_000_000_000)),
    event(5, 192, { present: pricingInvalid | outputTokens }),
    event(6, 192, { present: cost, cost_nanos: 250_000_000, output_tokens: 0 }),
    event(7, 193, { kind: 'agent', ...computed(600, 7_000_000) }),
    event(8, 192, { present: 0, output_tokens: 0 }),
    gone,
  ])
  await insertMove(db.store, [gone], null)
  const request = { time_range: 'all', search_field: 'user_id', search_value: 'rich' }
  const { user_summaries } = (await post('user-stories', request)).body
  const sum = { model: 'm-3', provider: 'acme', 'tokens.aggregated': 'true' }
  t.strictSame(user_summaries[0].cost_metadata, [
    { ...sum, cost: '0.25' },
    {
      ...{ ...sum, 'cost.computed': '0.0035', 'tokens.input': '600', 'tokens.output': '30' },
      'tokens.request_input': '200',
    },
    {
      ...{ ...sum, 'cost.computed': '3', 'tokens.input': '300000', 'tokens.output': '10' },
      'tokens.request_input': '300000',
    },
    { ...sum, 'pricing.invalid': 'true', 'tokens.output': '10' },
  ])
})
