// Microsoft Agent Framework: GenAI keys; agents repeat the sums of their model calls.
import type { Dialect } from '../dialect.ts'

const provider = ['microsoft.agent_framework']

export const agentFramework: Dialect = {
  name: 'agent-framework',
  source: 'microsoft/agent-framework python/packages/core/agent_framework/observability.py',
  matches: {
    scopes: ['agent_framework', 'Microsoft.Agents', 'Experimental.Microsoft.Agents'],
    values: { 'gen_ai.provider.name': provider, 'gen_ai.system': provider },
  },
  names: {
    'workflow.build': 'other',
    'workflow.run': 'step',
    'executor.process': 'other',
    'edge_group.process': 'other',
    'message.send': 'other',
  },
  repeatsUsage: true,
  inputExcludesCache: 'anthropic models',
}
