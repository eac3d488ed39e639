// Flue.
import type { Dialect } from '../dialect.ts'

export const flue: Dialect = {
  name: 'flue',
  source: 'langfuse/langfuse packages/shared/src/server/otel/OtelIngestionProcessor.ts',
  matches: { scopes: ['flue', '@flue/'], keys: ['flue.'] },
  fields: {
    tool_name: ['flue.tool.name'],
    input: ['flue.turn.input'],
    output: ['flue.turn.output'],
    tool_input: ['flue.tool.arguments'],
    tool_output: ['flue.tool.result'],
  },
  toolKeys: ['flue.tool.name'],
}
