// What one framework writes into its spans, as data: how its spans are told from others, and where each field stands.
// One file each in dialects/, listed in dialects.ts; precedence.ts says which comes first where several write the same field.

/** The fields of a span that are found by look-up. Content of tools stands elsewhere than that of turns and model calls. */
export const fields = [
  ...(['kind', 'session_id', 'user_id', 'user_email', 'agent_name', 'tool_name', 'model', 'provider', 'cost'] as const),
  ...(['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens'] as const),
  ...(['input', 'output', 'tool_input', 'tool_output', 'error_type', 'error_message'] as const),
] as const
export type Field = (typeof fields)[number]

/**
 * A place where a field may stand.
 * - a text: the span attribute of that key; of content, the words inside it are shown
 * - `sent`: the span attribute of that key, shown as it was sent
 * - `words`: the span attribute of that key, when it holds words of the side that is asked for (one list for both sides); `ofTurns`:
 *   not read on model calls
 * - `values`: the span attribute of that key, unless it holds a JSON schema
 * - `json`: what stands at a dotted path inside a span attribute that holds an object, as kvlist or as JSON text
 * - `sum`: the sum of two places that each hold an amount
 * - `event`: an attribute of the last span event of that name which has it
 * - `events`: messages that are span events, each named for its role
 * - `family`: messages spread over numbered attributes below the prefix
 * - `prefix` and `suffix`: the first span attribute whose key begins and ends so
 * - `root`: the span attribute of that key, of spans without a parent
 * - `resource`: the resource attribute of that key
 */
export type Source =
  | string
  | { readonly sent: string }
  | { readonly words: string; readonly ofTurns?: true }
  | { readonly values: string }
  | { readonly json: string; readonly path: string }
  | { readonly sum: readonly [Source, Source] }
  | { readonly event: string; readonly key: string }
  | { readonly events: Readonly<Record<string, string>> }
  | { readonly family: string }
  | { readonly prefix: string; readonly suffix: string }
  | { readonly root: string }
  | { readonly resource: string }

export type FieldSources = Partial<Readonly<Record<Field, readonly Source[]>>>

/**
 * What a span can be.
 * - `step`: a step that its framework says is neither agent nor call; a root is the turn
 * - `around`: a span around turns, never one itself
 * - `span`: a step that its framework says nothing about; its attributes may still tell
 * - `protocol`: what both ends of a connection say to each other around calls; it makes no conversation
 */
export type Type =
  | 'agent'
  | 'llm'
  | 'embedding'
  | 'tool'
  | 'resource'
  | 'prompt'
  | 'other'
  | 'step'
  | 'around'
  | 'span'
  | 'protocol'

/** How spans of a dialect are told from others; one sign is enough. */
export interface Tell {
  /** Beginnings of scope names. */
  readonly scopes?: readonly string[]
  /** Attributes; one that ends in a dot is the beginning of keys. */
  readonly keys?: readonly string[]
  /** Attributes with the values (in lower case) that only this dialect gives them. */
  readonly values?: Readonly<Record<string, readonly string[]>>
  /** Beginnings of span names. */
  readonly names?: readonly string[]
}

/** When reported input tokens leave out cached ones, so that these have to be added. */
export type CacheRule =
  | 'always'
  /** For models called by Anthropic's or Bedrock's own names: the maker's own count is passed through. */
  | 'anthropic models'
  /** When input, output and cached tokens add up to the reported total, or no total is reported. */
  | 'by total'

/** One framework's way of writing spans. */
export interface Dialect {
  readonly name: string
  /** Where the format is written down. */
  readonly source: string
  readonly matches: Tell
  /** Read on every span: no other framework means something else by these keys. */
  readonly fields?: FieldSources
  /** Read on every span, after the `fields` of all dialects: whole bodies, names of less weight. */
  readonly late?: FieldSources
  /** Read only on spans of this dialect, and there before all others: keys that others use differently. */
  readonly own?: FieldSources
  /** Meaning of the values (in lower case) of its `kind` attributes. */
  readonly types?: Partial<Readonly<Record<Type, readonly string[]>>>
  /** Types of spans of this dialect by the beginning of their names (by the end after a `*`), before any attribute is asked. */
  readonly names?: Readonly<Record<string, Type>>
  /** Attributes of which every agent of it has one: what it marks as an agent without them is a step inside, or a span around agents. */
  readonly namesAgents?: readonly string[]
  /** Attributes that only spans around its agents have: the turns are the agents'. */
  readonly aroundAgents?: readonly string[]
  /**
   * Agents that run below another turn of it and are part of that: they name the turn under one attribute and themselves under another.
   * In scopes that begin like `scopes` every agent names itself there, and has a parent only within a turn.
   */
  readonly innerAgents?: { readonly turn: string; readonly own: string; readonly scopes: readonly string[] }
  /** The same for model calls as `namesAgents` has for agents. */
  readonly namesCalls?: readonly string[]
  /** Attributes that together are only on model calls that another span of it tells, which is around them. */
  readonly innerCalls?: readonly string[]
  /** True when agents, steps and tools carry sums of the model calls below them, which are always there. */
  readonly repeatsUsage?: boolean
  /** True when model spans hold only the last call of a loop, and the agent the sum: agents count then, model calls do not. */
  readonly usageOnAgents?: boolean
  /** True when it wraps arguments or results of tools into objects of its own; see wrapped.ts. */
  readonly wrapsTools?: boolean
  /** True when results of its tools are dictionaries whose `status` says `error` by its own convention. */
  readonly resultStatus?: boolean
  readonly inputExcludesCache?: CacheRule
  /** The same for reasoning tokens, which others count among the output. */
  readonly outputExcludesReasoning?: Exclude<CacheRule, 'anthropic models'>
  /** True when every value is JSON, texts with their quotes. */
  readonly jsonValues?: boolean
  /** True when names of models have that of their provider before a slash. */
  readonly modelsWithProvider?: boolean
  /**
   * The attribute with the method of a request, and the methods that are calls: all others are protocol. The other end of a call is told by
   * spans of kind server, and in scopes that begin like `servers`.
   */
  readonly requests?: {
    readonly method: string
    readonly calls: readonly string[]
    readonly servers: readonly string[]
  }
  /** Attributes of this dialect that only calls of tools, or of models, have. */
  readonly toolKeys?: readonly string[]
  readonly modelKeys?: readonly string[]
  /** What it puts before the name of a tool in the name of the span. */
  readonly toolPrefixes?: readonly string[]
  /** Prefixes under which it carries what the application attached. */
  readonly carries?: readonly string[]
  /** True when texts may stand there in the quotes of JSON. */
  readonly carriesJson?: true
  /**
   * Attributes below such prefixes that it puts there itself: they tell about the span and never about its conversation. One that
   * ends in a star is the beginning of keys.
   */
  readonly ofSpan?: readonly string[]
  /** Attributes that repeat in bulk what input, output or the request say; one that ends in a dot is a prefix. */
  readonly bulky?: {
    readonly input?: readonly string[]
    readonly output?: readonly string[]
    readonly always?: readonly string[]
  }
  /**
   * Attributes that hold what was said beside those that are read as input or output, and the bulky ones: instructions, histories,
   * definitions of tools. One that ends in a dot is the beginning of numbered keys. What was said is a text and never metadata.
   */
  readonly content?: readonly string[]
}

/** Span attributes `prefix + name`, in the order of the names. */
export function under(prefix: string, names: readonly string[]): string[] {
  return names.map(name => prefix + name)
}

/** Places inside one attribute that holds an object. */
export function inside(json: string, paths: readonly string[]): Source[] {
  return paths.map(path => ({ json, path }))
}

/** Attributes shown as they were sent. */
export function sent(...keys: readonly string[]): Source[] {
  return keys.map(key => ({ sent: key }))
}

/** Names that applications give a session in free-form metadata. */
export const sessionNames = [
  ...['sessionId', 'session_id', 'conversationId', 'conversation_id'],
  ...['threadId', 'thread_id', 'chatId', 'chat_id'],
]
/** Names that applications give a user there. */
export const userNames = ['userId', 'user_id']
/** Names that applications give a user's address there. */
export const emailNames = ['user_email', 'userEmail', 'email']
