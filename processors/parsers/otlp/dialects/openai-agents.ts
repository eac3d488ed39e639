// OpenAI Agents by its OpenTelemetry instrumentations: keys of OpenInference, Traceloop, Logfire or GenAI, with a node's name.
import type { Dialect } from '../dialect.ts'

export const openaiAgents: Dialect = {
  name: 'openai-agents',
  source: 'openinference-instrumentation-openai-agents _processor.py; opentelemetry-python-contrib openai-agents-v2',
  matches: {
    scopes: [
      ...['openinference.instrumentation.openai_agents', 'opentelemetry.instrumentation.openai_agents'],
      ...['@arizeai/openinference-instrumentation-openai-agents', 'openai-agents'],
    ],
  },
  own: { agent_name: ['gen_ai.agent.name', 'agent.name', 'graph.node.id'] },
  // The span of the whole run is marked as an agent too.
  namesAgents: ['gen_ai.agent.name', 'agent.name', 'graph.node.id'],
  repeatsUsage: true,
}
