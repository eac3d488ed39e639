// OpenTelemetry's GenAI conventions from 1.37 on: messages are lists with parts, as JSON text or as real lists.
import { type Dialect, inside, under } from '../dialect.ts'

const details = 'gen_ai.client.inference.operation.details'

export const genai: Dialect = {
  name: 'genai',
  source: 'open-telemetry/semantic-conventions-genai model/gen-ai/{registry,spans}.yaml',
  matches: { keys: ['gen_ai.operation.name', 'gen_ai.provider.name'] },
  fields: {
    kind: ['gen_ai.operation.name'],
    session_id: ['gen_ai.conversation.id'],
    agent_name: ['gen_ai.agent.name'],
    tool_name: ['gen_ai.tool.name'],
    model: ['gen_ai.response.model'],
    provider: ['gen_ai.provider.name'],
    input_tokens: ['gen_ai.usage.input_tokens'],
    output_tokens: ['gen_ai.usage.output_tokens'],
    cache_read_tokens: under('gen_ai.usage.', ['cache_read.input_tokens', 'cache_read_input_tokens']),
    cache_write_tokens: under('gen_ai.usage.', [
      'cache_write.input_tokens',
      'cache_creation.input_tokens',
      'cache_creation_input_tokens',
      'cache_write_input_tokens',
    ]),
    reasoning_tokens: under('gen_ai.usage.', ['reasoning.output_tokens', 'reasoning_tokens']),
    input: ['gen_ai.input.messages', { event: details, key: 'gen_ai.input.messages' }],
    output: ['gen_ai.output.messages', { event: details, key: 'gen_ai.output.messages' }],
    tool_input: ['gen_ai.tool.call.arguments'],
    tool_output: ['gen_ai.tool.call.result'],
  },
  late: {
    model: ['gen_ai.request.model'],
    agent_name: ['gen_ai.workflow.name'],
    input: ['gen_ai.retrieval.query.text', 'gen_ai.memory.query.text'],
    output: ['gen_ai.retrieval.documents', 'gen_ai.memory.records'],
    input_tokens: inside('gen_ai.usage', ['input_tokens']),
    output_tokens: inside('gen_ai.usage', ['output_tokens']),
  },
  // Operations of the conventions, and those that frameworks added under the same key.
  types: {
    llm: [
      ...['chat', 'generate_content', 'text_completion', 'llm_request', 'llm_call', 'model_generation', 'completion'],
      ...['acompletion', 'chat.completions', 'chat.streaming_completions', 'responses', 'message'],
    ],
    embedding: ['embeddings', 'embedding', 'rerank'],
    agent: ['invoke_agent', 'invoke_workflow', 'agent_call', 'agent_run', 'agent.run', 'agent'],
    tool: ['execute_tool', 'tool_call', 'tool.execute', 'mcp_tool_call', 'tool'],
    resource: ['retrieval', 'search_memory', 'vector_db_retrieve', 'vectordb', 'retrieve', 'vectordb.query'],
    step: [
      ...[
        'chain',
        'agent_step',
        'execute_task',
        'workflow.run',
        'invoke_node',
        'workflow_run',
        'workflow_step',
        'step',
      ],
      ...['user_prompt', 'task', 'framework', 'execute_event_loop_cycle'],
    ],
    other: [
      ...['create_agent', 'plan', 'fetch_response', 'create_memory', 'update_memory', 'upsert_memory', 'delete_memory'],
      ...[
        'create_memory_store',
        'delete_memory_store',
        'handoff',
        'guardrail.run',
        'guard',
        'model_step',
        'model_chunk',
      ],
    ],
  },
  toolKeys: ['gen_ai.tool.call.id', 'gen_ai.tool.call.arguments', 'gen_ai.tool.name'],
  modelKeys: [
    ...['gen_ai.request.model', 'gen_ai.response.model', 'gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens'],
  ],
  toolPrefixes: ['execute_tool '],
  bulky: {
    input: ['gen_ai.input.messages'],
    output: ['gen_ai.output.messages'],
    always: ['gen_ai.tool.definitions'],
  },
  content: ['gen_ai.system_instructions', 'gen_ai.content.prompt', 'gen_ai.content.completion'],
}
