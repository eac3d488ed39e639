// CrewAI: its role names stand in OpenInference's `graph.node.id`; its own spans are anonymous product telemetry and say nothing.
import type { Dialect } from '../dialect.ts'

export const crewai: Dialect = {
  name: 'crewai',
  source: 'crewAIInc/crewAI lib/crewai/src/crewai/telemetry; {openinference,opentelemetry}-instrumentation-crewai',
  matches: {
    scopes: [
      ...['crewai.', 'openinference.instrumentation.crewai', 'opentelemetry.instrumentation.crewai'],
      'openlit.instrumentation.crewai',
    ],
    keys: ['crewai.', 'crew_key', 'crewai_version'],
  },
  own: { agent_name: ['gen_ai.agent.name', 'crewai.agent.role', 'graph.node.id'] },
  // OpenLLMetry writes what a crew came to as text.
  late: { output: ['crewai.crew.result'] },
  names: {
    ...{ 'Crew Created': 'other', 'Task Created': 'other', 'Task Execution': 'other', 'Tool Usage': 'other' },
    ...{ 'crewai.workflow': 'around', 'invoke_workflow ': 'around' },
  },
  // A crew around its agents.
  aroundAgents: ['crew_agents'],
  repeatsUsage: true,
  content: ['crew_agents', 'crew_tasks', 'crew_inputs', 'formatted_description', 'formatted_expected_output'],
}
