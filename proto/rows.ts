// The rows parley stores: names and meaning of every column, as written by the processors (columns of Native blocks) and read by queries.
// store/migrations/ and processors/columns/tables.ts declare the same columns; tests compare them.

/** What an event is. `agent` is an agent turn (`primitive_type` "" in answers). */
export type EventKind = 'agent' | 'llm' | 'tool' | 'resource' | 'prompt' | 'other'

/** Where a row came from. `mcp` is the server-primitive shape of the SDK surface. */
export const sources = ['sdk', 'mcp', 'voice', 'otlp'] as const
export type Source = (typeof sources)[number]

/** Bits of `present`: which optional values were sent. A zero in the column of an absent value means nothing. */
export const Present = {
  input: 1,
  output: 2,
  inputTokens: 4,
  outputTokens: 8,
  cost: 16,
  cacheReadTokens: 32,
  cacheWriteTokens: 64,
  reasoningTokens: 128,
  /** `cost_nanos` was computed from tokens and a price list; without this bit the sender named it. */
  costComputed: 256,
  /** An amount was sent that is none, and nothing else gave it: the event can have no price. */
  pricingInvalid: 512,
  /** The input of a turn is a body of no known shape, or a call of a tool, which nobody said: words of the calls below it stand in for it. */
  inputUnsaid: 1024,
  /** The same of its output. */
  outputUnsaid: 2048,
  /** It did not succeed, by a failure that another event is counted for: `failed` is 0. */
  carried: 4096,
} as const

/** Characters of a preview in `events`; the whole text stands in `texts`. */
export const PREVIEW_CHARS = 200
/** Longest stored error message, in bytes. */
export const ERROR_MESSAGE_MAX_BYTES = 2048

/** Position of a row: enough to count it, find it and undo it. `frame` counts within the message, `index` within the frame. */
export interface Origin {
  origin_partition: number
  origin_generation: number
  origin_sequence: number
  origin_frame: number
  origin_index: number
}

/** A row of `events`, before its origin is added. Uuids in lower case; NIL_UUID, 0 and '' mean none. */
export interface EventRow {
  organization: string
  conversation_id: string
  /** The session id as it was sent, when that differs from `conversation_id`; else ''. */
  session_id: string
  event_id: string
  parent_id: string
  /** The 16 bytes of a trace id in uuid form (it packs and compares as one 128-bit value). */
  trace_id: string
  /** Span ids as unsigned 64-bit decimals in text: they do not fit a double. */
  span_id: string
  parent_span_id: string
  /** sqlNanos */
  ts: string
  /** Whole nanoseconds; -1 when unknown. */
  duration_ns: number
  /** latencyBucket of the duration; -1 when unknown. */
  latency_bucket: number
  source: Source
  kind: EventKind
  name: string
  failed: 0 | 1
  error_type: string
  error_message: string
  user_id: string
  /** 1 while the conversation is only a trace's stand-in. */
  provisional: 0 | 1
  model: string
  provider: string
  input_tokens: number
  output_tokens: number
  cache_read_tokens: number
  cache_write_tokens: number
  reasoning_tokens: number
  /** Billionths of a US dollar. */
  cost_nanos: number
  present: number
  input_preview: string
  output_preview: string
  /** UTF-8 bytes of the whole texts. */
  input_bytes: number
  output_bytes: number
  metadata: Record<string, string>
  /** JSON array of {name, timestamp, metadata}, or ''. */
  checkpoints: string
  /** sqlMillis */
  received_at: string
  retention: number
  /** Of a span that is written at the home which a link of its trace says: 1. Part of its version, no column. */
  moves?: number
}

/** A row of `texts`: all that was said in one event. No correction ever touches it. */
export interface TextRow {
  organization: string
  /** The trace (uuid form) or conversation under which the event was first stored. */
  group_id: string
  event_id: string
  ts: string
  input: string
  output: string
  /** What was said beyond them (histories, instructions, bodies), by the keys under which it was sent. Never metadata. */
  content: Record<string, string>
  retention: number
}

/** A row of `sessions`: one capture of a conversation's identity and traits; later captures win field by field. */
export interface SessionRow {
  organization: string
  conversation_id: string
  session_id: string
  source: Source
  user_id: string
  user_email: string
  user_data: Record<string, string>
  metadata: Record<string, string>
  client_config: string
  connection_type: string
  ip: string
  tools: string[]
  /** sqlMillis of the beginning. */
  started_at: string
  recording_url: string
  received_at: string
  retention: number
  /** Of a voice call: the fingerprint of its report; else ''. */
  report: string
}

/** A row of `links`: a span that names a session says whose conversation its trace is. */
export interface LinkRow {
  organization: string
  /** As in `EventRow`. */
  trace_id: string
  /** The trace's stand-in: the conversation of its spans that name no session. */
  provisional_id: string
  conversation_id: string
  /** As in `EventRow`. */
  session_id: string
  /** 0 = the span has no parent, 1 = it has one. More cannot be told whatever batches the spans come in. */
  depth: 0 | 1
  /** sqlNanos of the span's beginning. */
  started_at: string
  span_id: string
  retention: number
}

/** Tables that blocks are inserted into, in the order of insertion: what an event refers to is there before the event. */
export const blockTables = ['sessions', 'texts', 'links', 'events'] as const
export type BlockTable = (typeof blockTables)[number]

/**
 * The latency bucket of a duration: exact below 64 µs, then 32 buckets an octave, so the middle of a bucket is at most 1.6 %
 * off. Integer arithmetic only, so that every build puts a duration into the same bucket.
 */
export function latencyBucket(durationNs: number): number {
  if (durationNs < 0) return -1
  const micros = Math.min(Math.floor(durationNs / 1000), Number.MAX_SAFE_INTEGER)
  if (micros < 64) return micros
  let shift = 1
  let rest = Math.floor(micros / 2)
  while (rest >= 64) {
    rest = Math.floor(rest / 2)
    shift++
  }
  return 64 + (shift - 1) * 32 + (rest - 32)
}

/** The middle of a bucket in milliseconds: the inverse of `latencyBucket`. */
export function latencyOfBucket(bucket: number): number {
  if (bucket < 64) return bucket / 1000
  const octave = Math.floor((bucket - 64) / 32)
  const sub = 32 + ((bucket - 64) % 32)
  return ((sub + 0.5) * 2 ** (octave + 1)) / 1000
}
