// AI SDK (Vercel) 4 to 6, and the legacy telemetry of 7: an outer span for the whole run, an inner one for each model call. The
// outer one repeats tokens: 4 and 5 those of the last step, 6 the sum. The default telemetry of 7 writes the GenAI conventions.
import { type Dialect, emailNames, inside, sent, sessionNames, under, userNames } from '../dialect.ts'

const metadata = 'ai.telemetry.metadata.'
const context = 'ai.settings.context.'
const runtimeContext = 'ai.settings.runtimeContext.'
const providerMetadata = 'ai.response.providerMetadata'

export const vercel: Dialect = {
  name: 'vercel',
  source: 'vercel/ai packages/ai (ai@4.3.19, 5.0.100, 6.0.0), packages/otel/src; npm ai@7',
  matches: { scopes: ['gen_ai'], keys: ['ai.operationId'], names: ['ai.'] },
  fields: {
    kind: ['ai.operationId'],
    session_id: [
      ...under(metadata, sessionNames),
      ...under(context, sessionNames),
      ...under(runtimeContext, sessionNames),
      { prefix: metadata, suffix: '.session.id' },
      { prefix: context, suffix: '.session.id' },
      { prefix: runtimeContext, suffix: '.session.id' },
    ],
    user_id: [...under(metadata, userNames), ...under(context, userNames), ...under(runtimeContext, userNames)],
    user_email: [...under(metadata, emailNames), ...under(context, emailNames), ...under(runtimeContext, emailNames)],
    agent_name: ['ai.telemetry.functionId'],
    tool_name: ['ai.toolCall.name'],
    model: ['ai.response.model'],
    provider: ['ai.model.provider'],
    input_tokens: ['ai.usage.inputTokens', 'ai.usage.promptTokens', 'ai.usage.tokens'],
    output_tokens: ['ai.usage.outputTokens', 'ai.usage.completionTokens'],
    cache_read_tokens: ['ai.usage.cachedInputTokens', 'ai.usage.inputTokenDetails.cacheReadTokens'],
    cache_write_tokens: ['ai.usage.inputTokenDetails.cacheWriteTokens'],
    reasoning_tokens: ['ai.usage.reasoningTokens', 'ai.usage.outputTokenDetails.reasoningTokens'],
    input: ['ai.prompt.messages', 'ai.prompt', 'ai.value', 'ai.values'],
    output: [
      ...sent('ai.response.text', 'ai.response.object'),
      'ai.response.toolCalls',
      ...sent('ai.result.text', 'ai.result.object'),
      'ai.result.toolCalls',
    ],
    tool_input: ['ai.toolCall.args', 'ai.toolCall.input'],
    tool_output: ['ai.toolCall.result', 'ai.toolCall.output'],
  },
  late: {
    model: ['ai.model.id'],
    cache_read_tokens: inside(providerMetadata, [
      'openai.cachedPromptTokens',
      'anthropic.cacheReadInputTokens',
      'anthropic.usage.cache_read_input_tokens',
      'bedrock.usage.cacheReadInputTokens',
      'google.usageMetadata.cachedContentTokenCount',
    ]),
    cache_write_tokens: inside(providerMetadata, [
      'anthropic.cacheCreationInputTokens',
      'anthropic.usage.cache_creation_input_tokens',
      'bedrock.usage.cacheWriteInputTokens',
    ]),
    reasoning_tokens: inside(providerMetadata, ['openai.reasoningTokens', 'google.usageMetadata.thoughtsTokenCount']),
  },
  types: {
    llm: [
      ...['ai.generatetext.dogenerate', 'ai.streamtext.dostream', 'ai.generateobject.dogenerate'],
      ...['ai.streamobject.dostream'],
    ],
    embedding: ['ai.embed.doembed', 'ai.embedmany.doembed', 'ai.rerank.dorerank'],
    agent: [
      ...['ai.generatetext', 'ai.streamtext', 'ai.generateobject', 'ai.streamobject', 'ai.embed', 'ai.embedmany'],
      'ai.rerank',
    ],
    tool: ['ai.toolcall'],
  },
  repeatsUsage: true,
  toolKeys: ['ai.toolCall.name', 'ai.toolCall.id'],
  modelKeys: ['ai.model.id'],
  carries: [metadata, context, runtimeContext],
  bulky: { input: ['ai.prompt', 'ai.prompt.messages'], always: ['ai.prompt.tools', 'ai.embedding', 'ai.embeddings'] },
  content: under('ai.response.', ['reasoning', 'content', 'files']),
}
