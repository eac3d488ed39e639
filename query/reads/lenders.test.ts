// Turns that say nothing themselves show what the calls below them said: the same in lists, exports and conversations.
import t from 'tap'
import { Present } from '#proto/rows.ts'
import { createTenant, eventually } from '#test/rig.ts'
import { id, insertEvents, startNode, storedEvent } from '../fixture.ts'

const node = await startNode(t)
const { apiKey, organization } = await createTenant(node.buckets)
const post = async (path: string, body: object) =>
  (await node.ask('POST', `/dashboard/api/${path}`, { body, headers: { 'x-api-key': apiKey } })).body
const LONG = `hello ${'x'.repeat(300)}`

/** A silent turn and two calls below it, of one trace. */
function turn(n: number, fields: { failed?: 0 | 1; said?: string }) {
  const of = { organization, conversation_id: id(n), trace_id: id(n + 5), source: 'otlp' as const }
  const at = (second: number): string => `2026-06-15T11:00:0${second}.000000000Z`
  const call = { ...of, kind: 'llm' as const, name: 'chat', output_tokens: 1, parent_id: id(n + 1) }
  return [
    storedEvent({
      ...{ ...of, event_id: id(n + 1), failed: fields.failed ?? 0, name: 'planner', at: at(0) },
      ...(fields.said === undefined ? {} : { output: fields.said }),
    }),
    storedEvent({ ...call, event_id: id(n + 2), at: at(1), input: LONG, output: 'thinking' }),
    storedEvent({ ...call, event_id: id(n + 3), at: at(2), input: 'more', output: 'goodbye' }),
  ]
}

await insertEvents(node.db.store, [
  ...turn(1000, {}),
  ...turn(2000, { said: 'own words' }),
  ...turn(3000, { failed: 1 }),
])

t.test('in raw logs, their export and the conversation alike', async t => {
  await eventually('the tenant', async () => Array.isArray((await post('raw-logs', {})).events))
  const shown = async (n: number) => {
    const { events } = await post('raw-logs', { event_id: id(n + 1) })
    const { messages } = await post('conversation-messages', { conversation_id: id(n) })
    const [{ input, output, preview }] = events
    const { input: ofMessage, output: alike, preview: begins } = messages[0]
    t.strictSame({ input, output, preview }, { input: ofMessage, output: alike, preview: begins })
    return { input, output, preview }
  }
  const preview = { first_input: LONG.slice(0, 200), last_output: 'goodbye' }
  t.strictSame(await shown(1000), { input: LONG, output: 'goodbye', preview })
  t.strictSame(await shown(2000), {
    input: LONG,
    output: 'own words',
    preview: { ...preview, last_output: 'own words' },
  })
  const [bare] = (await post('raw-logs', { event_id: id(1001), exclude_io: true })).events
  t.match(bare, { input: null, output: null, preview: { first_input: null, last_output: null } })
  const file = String(await post('raw-logs/export', { agent_name: 'planner' }))
  t.equal(file.split('goodbye').length - 1, 2)
  t.equal(file.split(LONG).length - 1, 3)
})

t.test('a call lends that begins in the hours of its turn or the one next to them', async t => {
  const shown = async (n: number, lasts: number, calls: readonly string[]): Promise<(string | null)[]> => {
    const of = { organization, conversation_id: id(n), trace_id: id(n + 500), source: 'otlp' as const }
    await insertEvents(node.db.store, [
      storedEvent({ ...of, event_id: id(n), name: 'worker', at: '2026-06-12T10:30:00.000Z', duration_ns: lasts }),
      ...calls.map((at, i) =>
        storedEvent({
          ...{ ...of, kind: 'llm', name: 'chat', output_tokens: 1, parent_id: id(n), event_id: id(n + 1 + i), at },
          ...{ input: `asked at ${at}`, output: `said at ${at}` },
        }),
      ),
    ])
    const said = async (path: string, body: object, rows: string) =>
      (await post(path, body))[rows].find((row: { event_id: string }) => row.event_id === id(n))
    const logged = await said('raw-logs', { event_id: id(n) }, 'events')
    const message = await said('conversation-messages', { conversation_id: id(n) }, 'messages')
    t.strictSame([message.input, message.output], [logged.input, logged.output], 'alike')
    return [logged.input, logged.output]
  }
  const [before, within, hours, month] = [
    '2026-06-12T09:10:00.000Z',
    '2026-06-12T10:30:05.000Z',
    '2026-06-12T14:59:00.000Z',
    '2026-07-20T10:00:00.000Z',
  ]
  const HOUR_NS = 3_600_000_000_000
  t.strictSame(await shown(4000, 9e9, [before, within]), [`asked at ${before}`, `said at ${within}`], 'clocks apart')
  t.strictSame(await shown(4100, 9e9, [within, hours]), [`asked at ${within}`, `said at ${within}`], 'long after it')
  t.strictSame(
    await shown(4200, 3 * HOUR_NS, [within, hours]),
    [`asked at ${within}`, `said at ${hours}`],
    'lasts hours',
  )
  t.strictSame(await shown(4300, 2e18, [hours, month]), [`asked at ${hours}`, `said at ${hours}`], 'a broken clock')
})

t.test('a search finds the turns that show what it looks for, and no others', async t => {
  const found = async (search_query: string, more = {}): Promise<number[]> => {
    const { events } = await post('raw-logs', { search_query, page_size: 50, ...more })
    return events
      .map((event: { event_id: string }) => Number(event.event_id.slice(-12)))
      .sort((a: number, b: number) => a - b)
  }
  t.strictSame(await found('goodbye'), [1001, 1003, 2003, 3001, 3003], 'but not the turn that has words of its own')
  t.strictSame(await found('ELLO xxx'), [1001, 1002, 2001, 2002, 3001, 3002])
  t.strictSame(await found('thinking'), [1002, 2002, 3002], 'what a call says that is not the last')
  t.strictSame(await found('more'), [1003, 2003, 3003])
  t.strictSame(await found('goodbye', { success: false }), [3001])
  t.strictSame(await found('goodbye', { agent_name: 'planner' }), [1001, 3001])
  const pages = [1, 2, 3, 4, 5].map(page => found('goodbye', { page_size: 1, page }))
  t.strictSame(
    (await Promise.all(pages)).flat().sort((a, b) => a - b),
    [1001, 1003, 2003, 3001, 3003],
  )
})

t.test('a failed turn is not said to have failed by what a call answered', async t => {
  const { errors } = await post('errors', {})
  t.match(errors, [{ event_id: id(3001), error_message: '', input: LONG, output: 'goodbye' }])
  t.equal(errors.length, 1)
})

t.test(
  'what nobody said gives way to what the calls below say, and an agent lends where its calls are without text',
  async t => {
    const of = { organization, conversation_id: id(5000), trace_id: id(5500), source: 'otlp' as const }
    const at = (second: number): string => `2026-06-16T11:00:0${second}.000000000Z`
    const body = '{"args":["Hello?",{"plan":"pro"}],"kwargs":{}}'
    await insertEvents(node.db.store, [
      storedEvent({ ...of, event_id: id(5001), name: 'outer', at: at(0) }),
      storedEvent({
        ...{ ...of, event_id: id(5002), parent_id: id(5001), name: 'inner', at: at(1) },
        ...{ input: body, output: 'spoken by the agent', present: Present.inputUnsaid },
      }),
      storedEvent({
        ...{ ...of, event_id: id(5003), parent_id: id(5002), kind: 'llm', name: 'chat', at: at(2), output_tokens: 1 },
        input: 'Hello?',
      }),
      storedEvent({
        ...of,
        event_id: id(5101),
        trace_id: id(5600),
        name: 'alone',
        at: at(3),
        input: body,
        present: Present.inputUnsaid,
      }),
    ])
    const shown = async (event: string): Promise<unknown[]> => {
      const [{ input, output, preview }] = (await post('raw-logs', { event_id: event })).events
      t.strictSame([preview.first_input, preview.last_output], [input, output], 'its preview is the same')
      return [input, output]
    }
    t.strictSame(await shown(id(5002)), ['Hello?', 'spoken by the agent'])
    t.strictSame(await shown(id(5001)), ['Hello?', 'spoken by the agent'], 'around an agent')
    t.strictSame(await shown(id(5101)), [body, null], 'where nothing below says anything the body is shown')
    const { messages } = await post('conversation-messages', { conversation_id: id(5000) })
    t.equal(messages.find((message: { event_id: string }) => message.event_id === id(5002)).input, 'Hello?')
    const found = (await post('raw-logs', { search_query: 'spoken by the agent' })).events
    t.strictSame(found.map((event: { event_id: string }) => event.event_id).sort(), [id(5001), id(5002)])
    const stories = await post('user-stories', { time_range: 'all' })
    const story = stories.conversations.find((one: { conversation_id: string }) => one.conversation_id === id(5000))
    t.equal(story.preview.first_input, 'Hello?')
  },
)
