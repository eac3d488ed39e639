// What was said, and what parley remarked: `exclude_io` leaves out every word of inputs, outputs and what was said beyond them, whichever
// endpoint is asked; parley's own keys of metadata stand apart from those of senders; where a sender names no channel, its surface is one.
import t from 'tap'
import { createTenant } from '#test/rig.ts'
import { id, insertEvents, insertSessions, startNode, storedEvent, storedSession } from './fixture.ts'

const node = await startNode(t)
const { apiKey, organization } = await createTenant(node.buckets)
const post = async (path: string, body: object = {}) =>
  (
    await node.ask('POST', `/dashboard/api/${path}`, {
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: { time_range: 'all', ...body },
    })
  ).body
const get = async (path: string) =>
  (await node.ask('GET', `/dashboard/api/${path}`, { headers: { 'x-api-key': apiKey } })).body

/** Stands in everything that was said, and nowhere else. */
const WORD = 'xylophone'
const LONG = 'v'.repeat(5000)
const [SDK, TRACE, MCP, CALL] = [id(201), id(202), id(203), id(204)] as const

const at = (n: number): string => `2026-06-15T10:00:0${n}.000Z`
const event = (n: number, conversation_id: string, fields: Omit<Parameters<typeof storedEvent>[0], 'at'>) =>
  storedEvent({ organization, event_id: id(n), conversation_id, at: at(n), ...fields })

await insertSessions(node.db.store, [
  storedSession({
    ...{ organization, conversation_id: SDK, user_id: 'ada', at: at(0) },
    metadata: { plan: 'pro', 'parley.sent_timestamp': '1999' },
  }),
  storedSession({ organization, conversation_id: CALL, source: 'voice', at: at(0) }),
])
await insertEvents(node.db.store, [
  event(1, SDK, {
    ...{ input: `${WORD} in`, output: `${WORD} out`, failed: 1, error_message: `${WORD} out`, error_type: 'Refused' },
    metadata: {
      plan: 'pro',
      long: LONG,
      'resource.service.name': 'shop',
      'otel.scope.name': 's',
      'parley.status': 'ok',
    },
  }),
  event(2, TRACE, {
    ...{
      source: 'otlp',
      kind: 'llm',
      input: `${WORD} ${'long '.repeat(100)}`,
      content: { 'gen_ai.input.messages': WORD },
    },
    metadata: { 'resource.service.name': 'shop' },
  }),
  event(3, MCP, { source: 'mcp', kind: 'tool', failed: 1, error_message: 'Timed out', output: WORD }),
  event(4, CALL, { source: 'voice', input: WORD, output: WORD }),
])

t.test('with exclude_io no word of what was said is answered', async t => {
  const asked: readonly (readonly [path: string, body?: object])[] = [
    ['raw-logs'],
    ['raw-logs', { event_id: id(1) }],
    ['raw-logs/export'],
    ['user-stories'],
    ['user-stories', { group_by: { source: 'conversation_metadata', key: 'plan' } }],
    ['errors'],
    ['errors', { metadata_filters: [{ key: 'plan', value: 'pro' }] }],
    ['errors/export'],
    ['command-center-summary'],
  ]
  for (const [path, body] of asked) {
    const answer = JSON.stringify(await post(path, { ...body, exclude_io: true }))
    t.notMatch(answer, WORD, `${path} ${JSON.stringify(body)}`)
    t.match(answer, /pro|plan/, 'it is an answer')
  }
  for (const path of [
    'raw-logs',
    'raw-logs/export',
    'user-stories',
    'errors',
    'errors/export',
    'command-center-summary',
  ]) {
    t.match(JSON.stringify(await post(path)), WORD, `${path} shows it when it is not left out`)
  }
  const { errors } = await post('errors', { exclude_io: true })
  const told = errors.map((row: { error_type: string; error_message: string }) => [row.error_type, row.error_message])
  t.strictSame(
    told,
    [
      ['', 'Timed out'],
      ['Refused', ''],
    ],
    'a message of its own stays, an output in its place does not',
  )
})

t.test('what was said beyond input and output stands in event-io alone', async t => {
  t.strictSame((await post('event-io', { event_id: id(2) })).content, { 'gen_ai.input.messages': WORD })
  t.strictSame((await post('event-io', { event_id: id(1) })).content, {})
  for (const path of ['raw-logs', 'user-stories'])
    t.notMatch(JSON.stringify(await post(path)), 'gen_ai.input.messages', path)
})

t.test('parley’s own keys stand apart from those of senders', async t => {
  const [row] = (await post('raw-logs', { conversation_id: SDK })).events
  t.strictSame(row.metadata, { plan: 'pro', long: LONG.slice(0, 4096) }, 'values are cut in lists')
  const attributes = { 'resource.service.name': 'shop', 'otel.scope.name': 's', 'parley.status': 'ok' }
  t.strictSame(row.attributes, attributes)
  t.equal(
    (await post('raw-logs', { event_id: id(1) })).events[0].metadata.long,
    LONG,
    'and whole where one is asked for',
  )
  const [story] = (await post('user-stories', { search_field: 'user_id', search_value: 'ada' })).conversations
  t.strictSame([story.metadata, story.attributes], [{ plan: 'pro' }, { 'parley.sent_timestamp': '1999' }])
  const messages = await post('conversation-messages', { conversation_id: SDK })
  t.strictSame([messages.metadata, messages.attributes], [{ plan: 'pro' }, { 'parley.sent_timestamp': '1999' }])
  t.strictSame(messages.messages[0].attributes, attributes)
  const [span] = (await post('conversation-spans', { conversation_id: SDK })).spans
  t.match(span.attributes, { plan: 'pro', ...attributes }, 'a span shows all that it has')
  const [, csv] = (await post('raw-logs/export', { conversation_id: SDK })).split('\r\n')
  t.match(csv, 'plan')
  t.notMatch(csv, /resource[.]|parley[.]/)
})

t.test('lists of keys leave parley’s own out unless they are asked for, and filters take them', async t => {
  const keysOf = async (of: string, query = '') => (await get(`organization/${of}-keys${query}`)).available_keys
  t.strictSame(await keysOf('event'), ['long', 'plan'])
  t.strictSame(await keysOf('conversation'), ['plan'])
  const all = ['long', 'otel.scope.name', 'parley.status', 'plan', 'resource.service.name']
  t.strictSame(await keysOf('event', '?attributes=true'), all)
  t.strictSame(await keysOf('conversation', '?attributes=true'), ['parley.sent_timestamp', 'plan'])
  const seen = async (body: object): Promise<string[]> => {
    const { keys } = await post('metadata-distribution', body)
    return [...new Set<string>(keys.map(({ key }: { key: string }) => key))].sort()
  }
  t.strictSame(await seen({}), ['long', 'plan'])
  t.strictSame(await seen({ attributes: true }), [...all, 'parley.sent_timestamp'].sort())
  const { events } = await post('raw-logs', { metadata_filters: [{ key: 'resource.service.name', value: 'shop' }] })
  t.equal(events.length, 2)
})

t.test('where a sender names no channel, the surface is one', async t => {
  const { conversations } = await post('user-stories')
  const types = conversations.map((row: { conversation_id: string; connection_type: string }) => [
    row.conversation_id,
    row.connection_type,
  ])
  const expected = { [SDK]: 'sdk', [TRACE]: 'otlp', [MCP]: 'mcp', [CALL]: 'voice' }
  t.strictSame(Object.fromEntries(types), expected)
  const idOf = ({ conversation_id }: { conversation_id: string }): string => conversation_id
  for (const [conversation, connection_type] of Object.entries(expected)) {
    t.strictSame((await post('user-stories', { connection_type })).conversations.map(idOf), [conversation])
    t.strictSame((await post('raw-logs', { connection_type })).events.map(idOf), [conversation])
  }
  t.equal((await post('raw-logs', { connection_type: ['sdk', 'voice', 'slack'] })).events.length, 2)
  const { series } = await post('charts/query', {
    ...{ metric: 'conversations', group_by: 'connection_type', filters: { time_range: 'all' } },
  })
  t.strictSame(series.map(({ group }: { group: string }) => group).sort(), ['mcp', 'otlp', 'sdk', 'voice'])
  await insertSessions(node.db.store, [
    storedSession({ organization, conversation_id: SDK, connection_type: 'slack', at: at(5) }),
  ])
  t.equal((await post('raw-logs', { connection_type: 'sdk' })).events.length, 0, 'what a sender names counts')
  t.equal((await post('raw-logs', { connection_type: 'slack' })).events.length, 1)
})
