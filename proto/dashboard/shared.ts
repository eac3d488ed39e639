// Shapes that several dashboard endpoints share: filters, paging, one event, cost metadata. Declared once; types are derived.
// Objects are open: unknown request fields are ignored, and an answer may gain fields.
import type { Static, TSchema } from 'typebox'
import Type from 'typebox'

/** A type or null. */
export const Nullable = <T extends TSchema>(type: T) => Type.Union([type, Type.Null()])

export const Uuid = Type.String({ format: 'uuid' })
/** ISO 8601 in UTC, three to nine digits of a second. */
export const DateTime = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3,9}Z$' })
export const Count = Type.Integer({ minimum: 0 })
export const StringMap = Type.Record(Type.String(), Type.String())

/** Rolling windows that end now: 1m is 30 days, `all` has no beginning. */
export const timeRanges = ['1min', '1h', '1d', '1w', '1m', 'all'] as const
export const TimeRange = Type.Enum([...timeRanges])
export type TimeRange = Static<typeof TimeRange>

/** Characters of a value that is compared as a whole. */
const VALUE_MAX = 4096
const Value = Type.String({ maxLength: VALUE_MAX })

/** A value or several, any of which may match. */
export const OneOrMany = Type.Union([Value, Type.Array(Value, { maxItems: 1000 })], {
  expected: `a string or an array of up to 1000 strings, none longer than ${VALUE_MAX} characters`,
})

export const MetadataFilter = Type.Object({ key: Type.String({ minLength: 1, maxLength: VALUE_MAX }), value: Value })
export type MetadataFilter = Static<typeof MetadataFilter>

/** Page numbers stay where an offset still fits the store's integers. */
export const PageNumber = Type.Integer({ minimum: 1, maximum: 2_147_483_647, default: 1 })

/** A date or time of ISO 8601; without an offset it is local to `timezone`. */
export const IsoTime = Type.String({
  pattern: '^\\d{4}-\\d\\d-\\d\\d(T\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,9})?)?(Z|[+-]\\d\\d:\\d\\d)?)?$',
  expected: 'a date or time of ISO 8601, such as 2026-11-20 or 2026-11-20T16:00:00Z',
})

/** A window: rolling by `time_range`, or fixed from `from` (inclusive) to `to` (exclusive). */
const timeFields = {
  time_range: Type.Enum([...timeRanges], { default: '1w' }),
  from: Type.Optional(IsoTime),
  to: Type.Optional(IsoTime),
  /** IANA name, UTC when absent. Days of series are those of this zone. */
  timezone: Type.Optional(Type.String({ maxLength: 100 })),
}
const TimeFields = Type.Object(timeFields)
export type TimeFields = Static<typeof TimeFields>

/** The base filters without paging: AND between them, OR inside an array. */
export const filterFields = {
  ...timeFields,
  connection_type: Type.Optional(OneOrMany),
  agent_name: Type.Optional(OneOrMany),
  metadata_filters: Type.Optional(Type.Array(MetadataFilter, { maxItems: 100 })),
}

const BaseFilters = Type.Object(filterFields)
export type BaseFilters = Static<typeof BaseFilters>

/** Request fields of a page of at most 200 rows: by number, or after the last row of another page. */
export const pagingFields = {
  page: PageNumber,
  page_size: Type.Integer({ minimum: 1, maximum: 200, default: 20 }),
  cursor: Type.Optional(Type.String({ maxLength: 2000 })),
}

/** The base filters of the contract. */
export const QueryFilters = Type.Object({ ...filterFields, ...pagingFields })
export type QueryFilters = Static<typeof QueryFilters>

/**
 * Answer fields of a page: `has_more` from one row read ahead; `total_pages` is then a lower bound. `next_cursor` continues after the
 * last row, whatever was added meanwhile; it is null when nothing follows.
 */
export const pageFields = {
  next_cursor: Nullable(Type.String()),
  page: Type.Integer({ minimum: 1 }),
  page_size: Type.Integer({ minimum: 1 }),
  total_pages: Count,
  has_more: Type.Boolean(),
}

/** An intent or SOP. */
export const TagRef = Type.Object({ id: Uuid, title: Type.String() })

/** Pricing inputs of events: an explicit cost, or model and provider with token totals. */
export const CostMetadata = Type.Record(Type.String(), Type.String())
export type CostMetadata = Static<typeof CostMetadata>

/**
 * Names a conversation: by its id, or by the id of the session, call or trace as it was sent, which need not be a uuid. Both together
 * must mean the same.
 */
export const conversationFields = {
  conversation_id: Type.Optional(Uuid),
  session_id: Type.Optional(Type.String({ minLength: 1, maxLength: VALUE_MAX })),
}

const Tokens = Nullable(Type.Integer({ minimum: 0 }))

/** What an event is: '' of `primitive_type` is told apart. */
export const EventKind = Type.Enum(['agent', 'llm', 'tool', 'resource', 'prompt', 'other'])

/** What a call of a model says of itself; null = not known. */
export const usageFields = {
  model: Nullable(Type.String()),
  input_tokens: Tokens,
  output_tokens: Tokens,
  /** US dollars, as sent or as computed from tokens and a price. */
  cost: Nullable(Type.Number({ minimum: 0 })),
}

/** Where an event is: its id, that of its conversation, and the id under which that was sent. */
export const placeFields = { event_id: Uuid, conversation_id: Uuid, session_id: Type.String() }

/**
 * `metadata`: what the sender attached. `attributes`: what parley remarked, and where a trace says it ran (proto/metadata-keys.ts). Values
 * are cut in lists.
 */
const eventFields = {
  ...placeFields,
  timestamp: DateTime,
  primitive_name: Type.String(),
  /** '' = an agent turn or a span that is no call. */
  primitive_type: Type.Enum(['tool', 'resource', 'prompt', '']),
  kind: EventKind,
  success: Type.Boolean(),
  /** Milliseconds; null when it was not sent. */
  latency: Nullable(Type.Number({ minimum: 0 })),
  user_id: Nullable(Type.String()),
  metadata: StringMap,
  attributes: StringMap,
  parent_id: Nullable(Uuid),
  ...usageFields,
}

/** Input and output of an event: null = not captured, or not asked for. */
const ioFields = {
  input: Nullable(Type.String()),
  output: Nullable(Type.String()),
  input_truncated: Type.Boolean(),
  output_truncated: Type.Boolean(),
}

/** Characters of the beginnings that stand in every list. */
const PREVIEW_CHARS = 200
export const Preview = Type.Object({
  /** Null = not captured, or not asked for. */
  first_input: Nullable(Type.String({ maxLength: PREVIEW_CHARS * 2 })),
  last_output: Nullable(Type.String({ maxLength: PREVIEW_CHARS * 2 })),
})
export type Preview = Static<typeof Preview>

/** One event as lists show it. */
export const EventRow = Type.Object({ ...eventFields, ...ioFields, preview: Preview })
export type EventRow = Static<typeof EventRow>

/** The same inside a conversation row, where the texts are left out on request. */
const { attributes: _ofTheEventAlone, ...conversationEventFields } = eventFields
export const ConversationEvent = Type.Object({
  ...conversationEventFields,
  input: Type.Optional(ioFields.input),
  output: Type.Optional(ioFields.output),
  input_truncated: Type.Optional(Type.Boolean()),
  output_truncated: Type.Optional(Type.Boolean()),
})
export type ConversationEvent = Static<typeof ConversationEvent>

/** One event of a conversation's messages. */
export const MessageRow = Type.Object({
  ...eventFields,
  ...ioFields,
  preview: Preview,
  children_count: Count,
  intents: Type.Array(TagRef),
  violations: Type.Array(TagRef),
  cost_metadata: Nullable(CostMetadata),
})
export type MessageRow = Static<typeof MessageRow>
