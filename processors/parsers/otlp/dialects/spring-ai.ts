// Spring AI: observations of the chat client around those of the model; content as events of the first generation, or as logs.
import type { Dialect } from '../dialect.ts'

export const springAi: Dialect = {
  name: 'spring-ai',
  source: 'spring-projects/spring-ai observation conventions as read by MapleTechLabs/maple ai_vendors.rs',
  matches: { keys: ['spring.ai.'] },
  fields: {
    session_id: ['spring.ai.chat.client.conversation.id'],
    tool_name: ['spring.ai.tool.definition.name'],
    tool_input: ['spring.ai.tool.call.arguments'],
    tool_output: ['spring.ai.tool.call.result'],
  },
  own: { kind: ['spring.ai.kind'] },
  types: { agent: ['chat_client'], step: ['advisor'], tool: ['tool_call'], resource: ['vector_store'] },
  repeatsUsage: true,
  toolKeys: ['spring.ai.tool.call.id', 'spring.ai.tool.call.arguments'],
}
