// opencode.
import type { Dialect } from '../dialect.ts'

export const opencode: Dialect = {
  name: 'opencode',
  source: 'sst/opencode',
  matches: { scopes: ['opencode'], names: ['opencode.'] },
  fields: { cost: ['cost_usd'] },
  toolPrefixes: ['opencode.tool '],
}
