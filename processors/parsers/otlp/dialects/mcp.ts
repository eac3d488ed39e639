// Model Context Protocol: one span a request. Only calls of tools, reads of resources and uses of prompts mean something to a
// conversation; agent, client and server may each write a span for one call.
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
    other: [
      ...['initialize', 'notifications/initialized', 'notifications/cancelled', 'notifications/message', 'ping'],
      ...['tools/list', 'resources/list', 'resources/templates/list', 'resources/subscribe', 'prompts/list'],
      ...['completion/complete', 'logging/setlevel', 'roots/list', 'elicitation/create', 'sampling/createmessage'],
    ],
  },
  toolPrefixes: ['tools/call '],
}
