// MCP Toolbox for Databases: one of its spans is the call of a tool, the others are its inner works.
import type { Dialect } from '../dialect.ts'

export const mcpToolbox: Dialect = {
  name: 'mcp-toolbox',
  source: 'googleapis/genai-toolbox internal/server',
  matches: { scopes: ['toolbox', 'github.com/googleapis/'], names: ['toolbox/'] },
  own: { tool_name: ['tool_name'] },
  names: { 'toolbox/server/tool/invoke': 'tool', 'toolbox/': 'other' },
}
