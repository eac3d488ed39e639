// Effect AI: bare keys.
import type { Dialect } from '../dialect.ts'

export const effect: Dialect = {
  name: 'effect',
  source: 'Effect-TS/effect packages/ai/ai/src',
  matches: { scopes: ['@effect/', 'effect'] },
  own: { tool_name: ['tool'], tool_input: ['parameters'] },
  toolKeys: [],
}
