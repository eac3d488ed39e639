// One failure is one error: it counts where it happened, and whatever passes it on did not succeed, but is no failure of its own.
import t from 'tap'
import { type EventRow, Present } from '#proto/rows.ts'
import { at, op, rowsOf, type Values } from './fixture.ts'

const failed = { status: { code: 2, message: 'boom' } }
const kind = (name: string): Values => ({ 'openinference.span.kind': name })

/** What fails and is counted, and what passes a failure on, by span id. */
function outcome(rows: readonly EventRow[]) {
  const names = (some: readonly EventRow[]): number[] => some.map(row => Number(row.span_id)).sort((a, b) => a - b)
  const carried = rows.filter(row => (row.present & Present.carried) > 0)
  for (const row of carried) t.match(row, { failed: 0, error_message: 'boom' }, 'it says what went wrong')
  return { errors: names(rows.filter(row => row.failed === 1)), carried: names(carried) }
}

const langGraph = [
  at(3, 2, 'get_weather', kind('TOOL'), failed),
  at(2, 1, 'tools', kind('CHAIN'), failed),
  at(1, 0, 'LangGraph', kind('CHAIN'), failed),
]
const adk = [
  at(3, 2, 'execute_tool get_weather', { ...op('execute_tool'), 'gen_ai.tool.name': 'get_weather' }, failed),
  at(2, 1, 'invoke_agent a', { ...op('invoke_agent'), 'gen_ai.agent.name': 'a' }, failed),
  at(1, 0, 'invocation', {}, failed),
]
const smolagents = [
  at(3, 2, 'SimpleTool', { ...kind('TOOL'), 'tool.name': 'get_weather' }, failed),
  at(2, 1, 'Step 1', kind('CHAIN'), failed),
  at(1, 0, 'CodeAgent.run', kind('AGENT')),
]

t.test('a raised error of a tool counts once', async t => {
  const scopes = { langGraph: 'openinference.instrumentation.langchain', adk: 'gcp.vertex.agent' }
  const f = (what: string, spans: readonly object[], scope: string, carried: readonly number[]): void => {
    for (const order of [spans, spans.toReversed()]) {
      t.same(outcome(rowsOf(t, order, scope)), { errors: [3], carried }, what)
    }
  }
  f('LangGraph', langGraph, scopes.langGraph, [1, 2])
  f('ADK', adk, scopes.adk, [1, 2])
  f('smolagents', smolagents, 'openinference.instrumentation.smolagents', [2])
})

t.test('steps, spans around agents and requests of calls never count, in whatever batch they come', async t => {
  const alone = (spans: readonly object[], scope: string) => outcome(spans.flatMap(span => rowsOf(t, [span], scope)))
  const smol = 'openinference.instrumentation.smolagents'
  t.same(alone(smolagents, smol), { errors: [3], carried: [2] })
  t.same(
    alone(adk, 'gcp.vertex.agent'),
    { errors: [2, 3], carried: [1] },
    'an agent without its call is not told from one that failed',
  )
  const post = at(4, 3, 'POST', { 'http.request.method': 'POST' }, failed)
  t.same(alone([post, at(3, 0, 'chat m', op('chat'), failed)], 'shop'), { errors: [3], carried: [4] })
})

t.test('what fails by itself counts, whatever it is', async t => {
  const f = (
    what: string,
    spans: readonly object[],
    errors: readonly number[],
    carried: readonly number[] = [],
  ): boolean => t.same(outcome(rowsOf(t, spans)), { errors, carried }, what)
  f('a turn', [at(1, 0, 'a', { input: 'Hi' }, failed)], [1])
  f('a turn whose tool did not', [at(2, 1, 'tool.x', {}), at(1, 0, 'a', { input: 'Hi' }, failed)], [1])
  f(
    'a turn whose step passes it on',
    [at(2, 1, 's', kind('CHAIN'), failed), at(1, 0, 'a', kind('AGENT'), failed)],
    [1],
    [2],
  )
  f('a span of nobody knows what', [at(2, 1, 'work', {}, failed), at(1, 0, 'a', { input: 'Hi' })], [2])
  f(
    'two calls',
    [at(2, 1, 'tool.x', {}, failed), at(3, 1, 'tool.y', {}, failed), at(1, 0, 'a', { input: 'Hi' }, failed)],
    [2, 3],
    [1],
  )
  f('a call that another one makes', [at(2, 1, 'tool.x', {}, failed), at(1, 0, 'tool.y', {}, failed)], [1, 2])
})
