// The many spellings of a model's name -> the names under which a price list may have it, the most exact first. Only what cannot
// change the price is taken away: who passed the model on, a region, a date. `-mini`, `-preview` and the like are other models.

/** Names to look up, and the provider that the name itself gives: its outermost prefix; '' when it gives none. */
interface ModelNames {
  readonly names: readonly string[]
  readonly host: string
}

/** Providers by the spellings that are seen, those of conventions, gateways and SDKs. */
const providers: Readonly<Record<string, readonly string[]>> = {
  openai: ['openai', 'openai_responses', 'openai_chat'],
  azure: [
    'azure',
    'azure_openai',
    'azure_ai_openai',
    'azure_ai_inference',
    'azure_ai',
    'az_ai_openai',
    'az_ai_inference',
  ],
  anthropic: ['anthropic'],
  google: ['google', 'gemini', 'gcp_gemini', 'gcp_gen_ai', 'google_genai', 'google_generative_ai', 'google_ai_studio'],
  vertex: ['vertex', 'vertexai', 'vertex_ai', 'gcp_vertex_ai', 'google_vertex', 'google_vertexai', 'google_vertex_ai'],
  bedrock: ['bedrock', 'aws_bedrock', 'amazon_bedrock', 'bedrock_converse', 'aws'],
  mistral: ['mistral', 'mistralai', 'mistral_ai'],
  cohere: ['cohere', 'cohere_chat'],
  deepseek: ['deepseek'],
  xai: ['xai', 'x_ai'],
  groq: ['groq'],
  cerebras: ['cerebras'],
  together: ['together', 'togetherai', 'together_ai'],
  fireworks: ['fireworks', 'fireworks_ai'],
  deepinfra: ['deepinfra'],
  openrouter: ['openrouter'],
  perplexity: ['perplexity'],
  voyage: ['voyage', 'voyageai', 'voyage_ai'],
  moonshot: ['moonshot', 'moonshotai', 'moonshot_ai'],
  local: [
    'ollama',
    'vllm',
    'lm_studio',
    'lmstudio',
    'llamacpp',
    'llama_cpp',
    'local',
    'localai',
    'huggingface_local',
    'tgi',
  ],
}

const hostOf: ReadonlyMap<string, string> = new Map(
  Object.entries(providers).flatMap(([host, spellings]) => spellings.map(spelling => [spelling, host] as const)),
)

/** Models that run on one's own machines: what a provider asks for them says nothing. */
export const LOCAL = 'local'

/** Those who sell others' models: what stands before a model's name is its maker then. */
const resellers: ReadonlySet<string> = new Set([
  ...['azure', 'vertex', 'bedrock', 'groq', 'cerebras', 'together', 'fireworks', 'deepinfra', 'openrouter', LOCAL],
])

/** A provider's one name; '' when it is none that is known. */
export function hostNamed(provider: string): string {
  return (
    hostOf.get(
      provider
        .trim()
        .toLowerCase()
        .replaceAll(/[.\-\s]/g, '_'),
    ) ?? ''
  )
}

/**
 * Who serves a call, by its provider and by what its model's name gives; '' when that is unknown. A prefix says more than the
 * protocol's name ("openai" is what every gateway speaks), less than a reseller's.
 */
export function hostOfCall(provider: string, named: string): string {
  const host = hostNamed(provider)
  return resellers.has(host) || named === '' ? host : named
}

/** One spelling of a name: lower case, no quotes, dashes for dots. */
export function plainName(model: string): string {
  return model
    .trim()
    .toLowerCase()
    .replace(/^"(.*)"$/, '$1')
    .replaceAll('.', '-')
}

/** `us.anthropic.claude-…-v1:0`: region, maker, version and context length as Bedrock writes them. */
const BEDROCK =
  /^(?:(?:us|eu|apac|global|us-gov|jp|au|ca|sa|me)[.])?(?:anthropic|amazon|meta|mistral|cohere|ai21|deepseek|openai|qwen|writer)[.]([^:]+)(:\d+(?::\d+k)?)?$/

/** The names of a model, as they were sent and without what does not matter. */
export function modelNames(model: string): ModelNames {
  const whole = model
    .trim()
    .toLowerCase()
    .replace(/^"(.*)"$/, '$1')
  const steps = whole.split('/')
  const last = steps.at(-1) as string
  const bedrock = BEDROCK.exec(last)
  const prefixes = [...steps.slice(0, -1).map(hostNamed), bedrock ? 'bedrock' : '']
  const names = new Set([plainName(whole), plainName(last)])
  if (bedrock) {
    const name = plainName(bedrock[1] as string)
    for (const each of [name, name.replace(/-v\d+$/, '')]) names.add(each).add(undated(each))
  } else names.add(undated(plainName(last)))
  names.delete('')
  return { names: [...names], host: prefixes.find(host => host !== '') ?? '' }
}

/** A name without the date of its snapshot, `@` of Vertex included, without `-latest` and a counter as Gemini has it. */
function undated(name: string): string {
  // What was tuned has a price of its own: it keeps its mark and loses only date, owner and id.
  const tuned = /^ft:([^:]+)/.exec(name)
  if (tuned) return `ft:${undated(tuned[1] as string)}`
  return name
    .replace(/@(default|latest)$/, '')
    .replace('@', '-')
    .replace(/-latest$/, '')
    .replace(/-20\d\d-?(0[1-9]|1[0-2])-?([0-2]\d|3[01])$/, '')
    .replace(/^(gemini-.*)-00\d$/, '$1')
}
