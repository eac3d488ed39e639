// Claude Code: a person's mail or account names the user better than the anonymous id of the device, and its input tokens leave
// out what came from the cache.
import type { Dialect } from '../dialect.ts'

export const claudeCode: Dialect = {
  name: 'claude-code',
  source: 'Claude Code documentation, monitoring-usage.md',
  matches: { scopes: ['com.anthropic.claude_code'], names: ['claude_code.'] },
  own: {
    kind: ['span.type'],
    user_id: ['user.email', 'user.account_uuid', 'user.account_id'],
    tool_name: ['tool_name'],
    model: ['model'],
    cost: ['cost_usd'],
    input_tokens: ['input_tokens'],
    output_tokens: ['output_tokens'],
    cache_read_tokens: ['cache_read_tokens'],
    cache_write_tokens: ['cache_creation_tokens'],
    input: ['user_prompt'],
    output: ['response.model_output'],
    tool_input: ['tool_input', 'full_command', 'file_path'],
    tool_output: [
      { event: 'tool.output', key: 'output' },
      { event: 'tool.output', key: 'content' },
      { event: 'tool.output', key: 'diff' },
    ],
    error_message: ['error'],
  },
  late: { input: ['user_prompt'] },
  types: {
    llm: ['llm_request'],
    agent: ['interaction'],
    tool: ['tool'],
    other: ['tool.execution', 'tool_execution', 'tool.blocked_on_user', 'tool_blocked_on_user', 'hook'],
  },
  names: {
    'claude_code.interaction': 'agent',
    'claude_code.llm_request': 'llm',
    'claude_code.tool.': 'other',
    'claude_code.tool': 'tool',
    'claude_code.hook': 'other',
  },
  inputExcludesCache: 'always',
}
