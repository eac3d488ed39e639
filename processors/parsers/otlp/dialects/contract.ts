// parley's own keys: what stands there was put there on purpose and always counts.
import { type Dialect, sent } from '../dialect.ts'

export const contract: Dialect = {
  name: 'contract',
  source: 'the contract, 2.4',
  matches: { keys: ['service.session_id', 'service.user_id', 'input', 'output'] },
  fields: {
    session_id: ['service.session_id'],
    user_id: ['service.user_id'],
    input: sent('input'),
    output: sent('output'),
    tool_input: ['input'],
    tool_output: ['output'],
  },
  toolPrefixes: ['tool.'],
}
