// Spans of Anthropic's SDK and platform: GenAI keys under names of their own. Both may describe one call, nested.
import type { Dialect } from '../dialect.ts'

export const anthropic: Dialect = {
  name: 'anthropic',
  source: 'platform.claude.com docs/en/api/opentelemetry/spans',
  matches: { scopes: ['com.anthropic.sdk', 'com.anthropic.claude-platform'], names: ['anthropic.'] },
  names: { 'anthropic.messages': 'llm', 'anthropic.tool_use': 'tool' },
  toolPrefixes: ['anthropic.tool_use '],
}
