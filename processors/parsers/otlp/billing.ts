// What the price of a model call needs besides its tokens: tier of service, audio, how long a cache lives; and amounts that are none.
import type { Attributes } from '#proto/otlp/span.ts'
import { type Billing, firstTokens, isMalformed } from '../cost.ts'
import type { Usage } from '../rows.ts'

/** The tier that a call was answered in comes before the one that was asked for. */
const serviceKeys = [
  ...['gen_ai.openai.response.service_tier', 'openai.response.service_tier', 'gen_ai.response.service_tier'],
  ...[
    'gen_ai.openai.request.service_tier',
    'openai.request.service_tier',
    'gen_ai.request.service_tier',
    'service_tier',
  ],
]

const audioInputKeys = [
  ...['gen_ai.usage.audio.input_tokens', 'gen_ai.usage.input_audio_tokens', 'gen_ai.usage.details.input_audio_tokens'],
  ...['gen_ai.usage.prompt_tokens_details.audio_tokens', 'llm.token_count.prompt_details.audio'],
]
const audioOutputKeys = [
  ...[
    'gen_ai.usage.audio.output_tokens',
    'gen_ai.usage.output_audio_tokens',
    'gen_ai.usage.details.output_audio_tokens',
  ],
  ...['gen_ai.usage.completion_tokens_details.audio_tokens', 'llm.token_count.completion_details.audio'],
]
const cacheHourKeys = [
  ...['gen_ai.usage.cache_creation.ephemeral_1h_input_tokens', 'gen_ai.usage.details.ephemeral_1h_input_tokens'],
  'gen_ai.usage.details.cache_creation.ephemeral_1h_input_tokens',
]

/** Below these every convention keeps counts and costs. */
const amounts = ['gen_ai.usage.', 'gen_ai.cost.', 'llm.token_count.', 'llm.usage.', 'llm.cost.', 'ai.usage.', 'usage.']

/** Attributes that are read here whatever they hold. */
export const billingKeys: readonly string[] = [...serviceKeys, ...audioInputKeys, ...audioOutputKeys, ...cacheHourKeys]

/** True for the key of a count or a cost: where it holds a text that is no amount, the event can have no price. */
export function isAmountKey(key: string): boolean {
  return amounts.some(prefix => key.startsWith(prefix))
}

/** Reads a span; its attributes stay what they are. */
export function billingOf(attributes: Attributes, usage: Usage): Billing {
  const get = (key: string): unknown => attributes.get(key)
  const service = serviceKeys.map(get).find(value => typeof value === 'string' && value !== '')
  return {
    service: typeof service === 'string' ? service : '',
    cacheWriteHour: firstTokens(cacheHourKeys, get),
    audioInput: firstTokens(audioInputKeys, get),
    audioOutput: firstTokens(audioOutputKeys, get),
    malformed: malformedOf(attributes, usage),
  }
}

/** Keys of amounts that are none, of fields that no other attribute gave. */
function malformedOf(attributes: Attributes, usage: Usage): string[] {
  const keys: string[] = []
  for (const [key, value] of attributes) {
    if (typeof value !== 'string' || !isAmountKey(key)) continue
    if (isMalformed(value) && isMissing(key, usage)) keys.push(key)
  }
  return keys
}

/** True when the field that a key speaks of has no value. Reasoning is charged as output: it makes no price impossible. */
function isMissing(key: string, usage: Usage): boolean {
  if (/(^|[._])(cost|cost_usd|total_cost)$|cost\.total$/.test(key)) return usage.costNanos === null
  // Beside counts stand words: currencies, tiers, details as JSON.
  if (!/(tokens|prompt|completion|cache_read|cache_write)$/i.test(key) || /reasoning|details|audio/.test(key))
    return false
  if (/cache_?(write|creation)/i.test(key)) return usage.cacheWriteTokens === null
  if (/cache/i.test(key)) return usage.cacheReadTokens === null
  if (/input|prompt/i.test(key)) return usage.inputTokens === null
  return /output|completion/i.test(key) && usage.outputTokens === null
}
