// Model Context Protocol: one span a request. Only calls of tools, reads of resources and uses of prompts mean something to a
// conversation; agent, client and server may each write a span for one call, and a server's framework another one. A server's span that has
// a parent has it from the client, whose own span tells the call; without one nobody else tells it.
import type { Dialect } from '../dialect.ts'

export const mcp: Dialect = {
  name: 'mcp',
  source: 'open-telemetry/semantic-conventions-genai docs/gen-ai/mcp.md',
  matches: { keys: ['mcp.method.name'], scopes: ['mcp'] },
  fields: { kind: ['mcp.method.name'] },
  types: {
    tool: ['tools/call'],
    resource: ['resources/read'],
    prompt: ['prompts/get'],
  },
  requests: { method: 'mcp.method.name', calls: ['tools/call', 'resources/read', 'prompts/get'], servers: ['fastmcp'] },
  toolPrefixes: ['tools/call '],
}
