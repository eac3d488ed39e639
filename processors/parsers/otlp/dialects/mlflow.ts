// MLflow: every value is JSON, texts with their quotes.
import { type Dialect, inside } from '../dialect.ts'

export const mlflow: Dialect = {
  name: 'mlflow',
  source: 'mlflow/mlflow mlflow/tracing/constant.py, tracing/export/genai_semconv/translator.py',
  matches: { scopes: ['mlflow'], keys: ['mlflow.'] },
  fields: {
    kind: ['mlflow.spanType'],
    session_id: ['mlflow.trace.session'],
    user_id: ['mlflow.trace.user'],
    tool_name: ['mlflow.spanFunctionName'],
    model: ['mlflow.llm.model'],
    provider: ['mlflow.llm.provider'],
    cost: [
      ...inside('mlflow.llm.cost', ['total_cost']),
      {
        sum: [
          { json: 'mlflow.llm.cost', path: 'input_cost' },
          { json: 'mlflow.llm.cost', path: 'output_cost' },
        ],
      },
    ],
    input_tokens: inside('mlflow.chat.tokenUsage', ['input_tokens']),
    output_tokens: inside('mlflow.chat.tokenUsage', ['output_tokens']),
    cache_read_tokens: inside('mlflow.chat.tokenUsage', ['cache_read_input_tokens']),
    cache_write_tokens: inside('mlflow.chat.tokenUsage', ['cache_creation_input_tokens']),
    input: ['mlflow.spanInputs'],
    output: ['mlflow.spanOutputs'],
    tool_input: ['mlflow.spanInputs'],
    tool_output: ['mlflow.spanOutputs'],
  },
  types: {
    llm: ['llm', 'chat_model'],
    embedding: ['embedding', 'reranker'],
    agent: ['agent'],
    tool: ['tool'],
    resource: ['retriever'],
    other: ['parser', 'memory', 'guardrail', 'evaluator'],
    step: ['chain', 'workflow', 'task'],
    span: ['unknown'],
  },
  repeatsUsage: true,
  jsonValues: true,
  bulky: { input: ['mlflow.spanInputs'], output: ['mlflow.spanOutputs'] },
  wrapsTools: true,
}
