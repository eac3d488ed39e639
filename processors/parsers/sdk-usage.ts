// Model, tokens and cost of an SDK event: the contract has no fields for them, so clients put them into the metadata.
// The keys stay in the metadata too: it is the sender's.
import { nanoDollarsOf, tokensOf } from './amounts.ts'
import { type Billing, firstTokens, isMalformed, wholeInput } from './cost.ts'
import type { MetadataBuilder } from './metadata.ts'
import type { Usage } from './rows.ts'

/** Keys in order of precedence: the first that holds an amount counts. */
export const usageKeys = {
  model: ['model', 'model_name', 'gen_ai.response.model', 'gen_ai.request.model'],
  provider: ['provider', 'model_provider', 'gen_ai.provider.name', 'gen_ai.system'],
  inputTokens: ['input_tokens', 'tokens.input', 'prompt_tokens', 'gen_ai.usage.input_tokens'],
  outputTokens: ['output_tokens', 'tokens.output', 'completion_tokens', 'gen_ai.usage.output_tokens'],
  cacheReadTokens: [
    ...['cache_read_tokens', 'tokens.cache_read', 'cached_tokens', 'gen_ai.usage.cache_read.input_tokens'],
    'cache_read_input_tokens',
  ],
  cacheWriteTokens: [
    'cache_write_tokens',
    'tokens.cache_write',
    'cache_creation_tokens',
    'cache_creation_input_tokens',
  ],
  reasoningTokens: ['reasoning_tokens', 'tokens.reasoning', 'gen_ai.usage.reasoning.output_tokens'],
  cost: ['cost', 'cost_usd', 'total_cost', 'gen_ai.usage.cost'],
} as const

const totalKeys = ['total_tokens', 'tokens.total', 'gen_ai.usage.total_tokens']
const serviceKeys = ['service_tier', 'gen_ai.openai.response.service_tier']
const audioInputKeys = ['input_audio_tokens', 'tokens.input_audio']
const audioOutputKeys = ['output_audio_tokens', 'tokens.output_audio']
const cacheHourKeys = ['ephemeral_1h_input_tokens', 'cache_write_1h_tokens', 'tokens.cache_write_1h']

/** Names of one provider's own counts: there `input_tokens` leaves out what these count. */
const exclusiveKeys = ['cache_read_input_tokens', 'cache_creation_input_tokens']

/** Every key that is looked at. */
export const usageNames: readonly string[] = [
  ...Object.values(usageKeys).flat(),
  ...totalKeys,
  ...serviceKeys,
  ...audioInputKeys,
  ...audioOutputKeys,
  ...cacheHourKeys,
  ...exclusiveKeys,
]

/** Fields without which no price can be right. */
const priced = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'cost'] as const

/** What the metadata says of the model call behind an event. */
export function usageOfMetadata(metadata: Pick<MetadataBuilder, 'get'>): {
  model: string
  provider: string
  usage: Usage
  billing: Billing
} {
  const get = (name: string): string => metadata.get(name)
  const text = (names: readonly string[]): string => names.map(get).find(found => found !== '') ?? ''
  const count = (names: readonly string[]): number | null => firstTokens(names, get)
  const sent = {
    input: count(usageKeys.inputTokens),
    output: count(usageKeys.outputTokens),
    cacheRead: count(usageKeys.cacheReadTokens),
    cacheWrite: count(usageKeys.cacheWriteTokens),
    total: count(totalKeys),
  }
  const excludes = exclusiveKeys.some(key => tokensOf(get(key)) !== null)
  const reasoning = count(usageKeys.reasoningTokens)
  const usage: Usage = {
    inputTokens: wholeInput(sent, excludes),
    outputTokens: sent.output,
    cacheReadTokens: sent.cacheRead,
    cacheWriteTokens: sent.cacheWrite,
    reasoningTokens: reasoning === null || sent.output === null ? reasoning : Math.min(reasoning, sent.output),
    costNanos: usageKeys.cost.map(key => nanoDollarsOf(get(key))).find(found => found !== null) ?? null,
  }
  const missing = priced.filter(field => usage[field === 'cost' ? 'costNanos' : field] === null)
  return {
    model: text(usageKeys.model),
    provider: text(usageKeys.provider).toLowerCase(),
    usage,
    billing: {
      service: text(serviceKeys),
      cacheWriteHour: count(cacheHourKeys),
      audioInput: count(audioInputKeys),
      audioOutput: count(audioOutputKeys),
      malformed: missing.flatMap(field => usageKeys[field].filter(key => isMalformed(get(key)))),
    },
  }
}
