// LiveKit Agents. Keys with content gained a `pii` step in August 2026; both spellings count.
import { type Dialect, sent } from '../dialect.ts'

export const livekit: Dialect = {
  name: 'livekit',
  source: 'livekit/agents livekit-agents/livekit/agents/telemetry/{trace_types,traces}.py',
  matches: { scopes: ['livekit'], keys: ['lk.'] },
  fields: {
    session_id: ['lk.pii.room_name', 'lk.room_name', 'lk.job_id'],
    user_id: ['lk.pii.participant_identity', 'lk.participant_identity', 'lk.participant_id'],
    agent_name: ['lk.agent_name'],
    tool_name: ['lk.function_tool.name'],
    cache_read_tokens: ['gen_ai.usage.input_cached_tokens'],
    input: [
      'lk.pii.user_input',
      'lk.user_input',
      'lk.pii.user_transcript',
      'lk.user_transcript',
      'lk.pii.input_text',
      'lk.input_text',
    ],
    output: [
      ...sent('lk.pii.response.text', 'lk.response.text'),
      ...['lk.pii.response.function_calls', 'lk.response.function_calls'],
    ],
    tool_input: ['lk.pii.function_tool.arguments', 'lk.function_tool.arguments'],
    tool_output: ['lk.pii.function_tool.output', 'lk.function_tool.output'],
  },
  late: { input: ['lk.pii.chat_ctx', 'lk.chat_ctx'] },
  names: {
    agent_turn: 'agent',
    user_turn: 'other',
    llm_request_run: 'other',
    llm_request: 'llm',
    llm_node: 'other',
    function_tool: 'tool',
    tts_: 'other',
    eou_detection: 'other',
    user_speaking: 'other',
    agent_speaking: 'other',
    start_agent_activity: 'other',
    // Around all turns of a session.
    agent_session: 'around',
  },
  repeatsUsage: true,
  toolKeys: ['lk.function_tool.name', 'lk.function_tool.id'],
  bulky: { input: ['lk.chat_ctx', 'lk.pii.chat_ctx'] },
  content: ['lk.instructions', 'lk.pii.instructions', 'lk.function_tools', 'lk.provider_tools'],
}
