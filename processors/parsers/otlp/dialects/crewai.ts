// CrewAI: its role names stand in OpenInference's `graph.node.id`; its own spans are anonymous product telemetry and say nothing.
import type { Dialect } from '../dialect.ts'

export const crewai: Dialect = {
  name: 'crewai',
  source: 'crewAIInc/crewAI lib/crewai/src/crewai/telemetry; openinference-instrumentation-crewai',
  matches: {
    scopes: ['crewai.', 'openinference.instrumentation.crewai', 'opentelemetry.instrumentation.crewai'],
    keys: ['crewai.', 'crew_key', 'crewai_version'],
  },
  own: { agent_name: ['gen_ai.agent.name', 'crewai.agent.role', 'graph.node.id'] },
  names: { 'Crew Created': 'other', 'Task Created': 'other', 'Task Execution': 'other', 'Tool Usage': 'other' },
  repeatsUsage: true,
}
