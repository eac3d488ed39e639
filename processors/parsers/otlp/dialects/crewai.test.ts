// What a crew of CrewAI and its tasks came to is shown in their own words, by both instrumentations that tell it in ways of their own.
import t from 'tap'
import { request, span } from '#proto/otlp/fixture.ts'
import type { EventRow } from '#proto/rows.ts'
import { parse } from '../fixture.ts'

const row = (name: string, scope: string, values: Record<string, unknown>): EventRow =>
  parse(t, request([span(1, 1, { name }, values)], {}, { name: scope }))[0]?.events[0] as EventRow

t.test('OpenInference writes results as JSON', async t => {
  const task = {
    ...{ description: 'Look up the weather.', name: 'answer', expected_output: 'One sentence', summary: 'Look up…' },
    ...{ raw: 'Sunny.', pydantic: null, json_dict: null, agent: 'weather-agent', output_format: 'raw' },
  }
  const said = [{ role: 'assistant', content: 'Thought: I know.\nFinal Answer: Sunny.' }]
  const f = (result: object, expected: string): void => {
    const values = { 'openinference.span.kind': 'AGENT', 'output.value': JSON.stringify(result) }
    const { output_preview } = row('weather-agent._execute_core', 'openinference.instrumentation.crewai', values)
    t.equal(output_preview, expected)
  }
  f(task, 'Sunny.')
  f({ ...task, messages: said }, 'Sunny.')
  f({ raw: 'Sunny.', pydantic: null, json_dict: null, tasks_output: [task] }, 'Sunny.')
  // Without words of its own its messages count.
  f({ ...task, raw: '', messages: said }, 'Thought: I know.\nFinal Answer: Sunny.')
})

t.test('OpenLLMetry writes them as text, and lists of tasks as Python prints them', async t => {
  const scope = 'opentelemetry.instrumentation.crewai'
  const { kind, provider, output_preview } = row('crewai.workflow', scope, {
    ...{ 'gen_ai.system': 'crewai', 'crewai.crew.result': 'Sunny.', 'crewai.crew.token_usage': 'total_tokens=342' },
    'crewai.crew.tasks_output': "[TaskOutput(description='Look up the weather.', raw='Sunny.')]",
  })
  // The turns are those of its agents.
  t.strictSame({ kind, provider, output_preview }, { kind: 'other', provider: '', output_preview: 'Sunny.' })
  const agent = row('Weather agent.agent', scope, {
    'traceloop.span.kind': 'agent',
    'crewai.agent.role': 'Weather agent',
  })
  t.strictSame([agent.kind, agent.name], ['agent', 'Weather agent'])
})
