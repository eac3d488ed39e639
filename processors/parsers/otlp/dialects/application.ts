// What applications attach by keys of no framework: `metadata` as an object or below a prefix, bare names, and the resource.
import { type Dialect, emailNames, inside, sessionNames, under, userNames } from '../dialect.ts'

/** Names that may mean something else: nothing that says more is less than they are. */
const bareSessions = ['agnost.session_id', 'session_id', 'conversationId', 'thread_id']

export const application: Dialect = {
  name: 'application',
  source: 'practice',
  matches: {},
  late: {
    session_id: [
      ...inside('metadata', sessionNames),
      ...under('metadata.', sessionNames),
      { resource: 'service.session_id' },
      { resource: 'session.id' },
      ...bareSessions,
      { root: 'mcp.session.id' },
      'projectId',
    ],
    user_id: [
      ...inside('metadata', userNames),
      ...under('metadata.', userNames),
      { resource: 'service.user_id' },
      { resource: 'user.id' },
      { resource: 'enduser.id' },
      ...['agnost.user_id', 'user_id'],
    ],
    user_email: [...inside('metadata', emailNames), ...under('metadata.', emailNames)],
    agent_name: ['agent_name'],
    tool_name: ['tool_name'],
    model: ['model_name'],
    cost: ['usage.cost', 'cost_usd'],
    input_tokens: ['input_tokens'],
    output_tokens: ['output_tokens'],
    cache_read_tokens: ['cache_read_tokens'],
    cache_write_tokens: ['cache_creation_tokens'],
    input: ['tool.arguments'],
    // Normally the schema of the tool: read only where it looks like values.
    tool_input: ['tool_input', 'tool.arguments', { values: 'tool.parameters' }],
    tool_output: ['tool_output', 'tool.result'],
  },
  carries: ['metadata.'],
}
