// OpenInference (Arize): numbered messages, else whole bodies in `input.value` and `output.value`.
import { type Dialect, under } from '../dialect.ts'

export const openinference: Dialect = {
  name: 'openinference',
  source: 'Arize-ai/openinference python/openinference-semantic-conventions/…/trace/__init__.py, spec/*.md',
  matches: { scopes: ['openinference.', '@arizeai/openinference'], keys: ['openinference.span.kind'] },
  fields: {
    kind: ['openinference.span.kind'],
    agent_name: ['agent.name'],
    tool_name: ['tool.name'],
    model: ['llm.response.model_name', 'llm.model_name'],
    provider: ['llm.provider', 'llm.system'],
    cost: ['llm.cost.total'],
    input_tokens: ['llm.token_count.prompt'],
    output_tokens: ['llm.token_count.completion'],
    cache_read_tokens: ['llm.token_count.prompt_details.cache_read'],
    cache_write_tokens: ['llm.token_count.prompt_details.cache_write'],
    reasoning_tokens: ['llm.token_count.completion_details.reasoning'],
    input: [{ family: 'llm.input_messages.' }, { family: 'llm.prompts.' }],
    output: [{ family: 'llm.output_messages.' }, { family: 'llm.choices.' }],
    tool_input: ['input.value'],
    tool_output: ['output.value'],
  },
  late: {
    cache_read_tokens: ['llm.token_count.prompt_details.cache_input'],
    model: ['llm.request.model_name', 'embedding.model_name', 'reranker.model_name'],
    cost: [{ sum: ['llm.cost.prompt', 'llm.cost.completion'] }],
    input: ['input.value', 'reranker.query'],
    output: ['output.value', { family: 'retrieval.documents.' }, { family: 'reranker.output_documents.' }],
  },
  types: {
    llm: ['llm'],
    embedding: ['embedding', 'reranker'],
    agent: ['agent'],
    tool: ['tool'],
    resource: ['retriever'],
    other: ['guardrail', 'evaluator'],
    step: ['chain', 'prompt'],
    span: ['unknown'],
  },
  toolKeys: ['tool.name'],
  modelKeys: ['llm.model_name', 'llm.request.model_name', 'llm.token_count.prompt', 'llm.token_count.completion'],
  bulky: {
    input: ['llm.input_messages.', 'llm.prompts.', 'input.value'],
    output: ['llm.output_messages.', 'llm.choices.', 'output.value'],
    always: ['llm.tools.', 'tool.json_schema', 'embedding.embeddings.'],
  },
  wrapsTools: true,
  content: [
    ...['llm.invocation_parameters', 'llm.function_call', 'embedding.text'],
    ...under('llm.prompt_template.', ['template', 'variables']),
  ],
}
