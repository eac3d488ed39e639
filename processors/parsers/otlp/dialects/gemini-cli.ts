// Gemini CLI: GenAI keys with operations of its own (`llm_call`, `tool_call`, `agent_call`, `user_prompt`).
import type { Dialect } from '../dialect.ts'

export const geminiCli: Dialect = {
  name: 'gemini-cli',
  source: 'google-gemini/gemini-cli packages/core/src/telemetry; langfuse OtelIngestionProcessor.ts',
  matches: {
    scopes: ['gemini-cli'],
    keys: ['gemini_cli.'],
    values: { 'gen_ai.operation.name': ['llm_call', 'agent_call'] },
  },
  repeatsUsage: true,
}
