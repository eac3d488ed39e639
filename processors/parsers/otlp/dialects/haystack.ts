// Haystack's own tracer: a run of a pipeline and of each component, content only when asked for.
import { type Dialect, inside } from '../dialect.ts'

export const haystack: Dialect = {
  name: 'haystack',
  source: 'deepset-ai/haystack haystack/tracing, haystack/core/pipeline',
  matches: { scopes: ['haystack'], keys: ['haystack.'] },
  fields: { agent_name: ['haystack.agent.name'], tool_name: ['haystack.tool.name'] },
  own: {
    input: ['haystack.pipeline.input_data', 'haystack.component.input', 'haystack.agent.input'],
    output: ['haystack.component.output', 'haystack.agent.output'],
    tool_input: ['haystack.tool.input', 'haystack.component.input'],
    tool_output: ['haystack.tool.output', 'haystack.component.output'],
    model: inside('haystack.component.output', ['replies.meta.model']),
  },
  names: { 'haystack.pipeline.run': 'step', 'haystack.agent.run': 'agent', 'haystack.component.run': 'step' },
}
