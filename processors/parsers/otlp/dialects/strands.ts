// Strands Agents, also on Bedrock AgentCore: content in span events, which mean the opposite on tools. Sums on agents cover the
// whole life of the agent object and grow from turn to turn.
import type { Dialect } from '../dialect.ts'

const system = ['strands-agents']

export const strands: Dialect = {
  name: 'strands',
  source: 'strands-agents/sdk-python src/strands/telemetry/tracer.py',
  matches: {
    scopes: ['strands.', 'strands-agents', 'bedrock-agentcore'],
    values: { 'gen_ai.system': system, 'gen_ai.provider.name': system },
  },
  fields: {
    tool_input: [{ event: 'gen_ai.tool.message', key: 'content' }],
    tool_output: [{ event: 'gen_ai.choice', key: 'message' }],
  },
  names: { execute_event_loop_cycle: 'step', 'Cycle ': 'step' },
  repeatsUsage: true,
  inputExcludesCache: 'anthropic models',
  wrapsTools: true,
}
