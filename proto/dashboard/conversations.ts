// Shapes of /dashboard/api/conversation-messages and conversation-spans.
import type { Static } from 'typebox'
import Type from 'typebox'
import {
  conversationFields,
  DateTime,
  EventKind,
  MessageRow,
  Nullable,
  Preview,
  StringMap,
  Uuid,
  usageFields,
} from '#proto/dashboard/shared.ts'

/** Rows beyond these are left out and `truncated` says so. */
export const MESSAGES_MAX = 1000
export const SPANS_MAX = 5000
/** The same where spans come as columns. */
export const SPANS_COLUMNS_MAX = 1_000_000

export const ConversationMessagesRequest = Type.Object(conversationFields)

export const ConversationMessagesResponse = Type.Object({
  conversation_id: Uuid,
  original_conversation_id: Nullable(Type.String()),
  user_id: Nullable(Type.String()),
  user_data: StringMap,
  metadata: StringMap,
  /** What parley remarked of it, apart from what senders attached. */
  attributes: StringMap,
  started_at: DateTime,
  last_active: DateTime,
  messages: Type.Array(MessageRow),
  truncated: Type.Boolean(),
})

export const ConversationSpansRequest = Type.Object({
  ...conversationFields,
  event_id: Type.Optional(Uuid),
  /** `columns`: one array a field, without attributes; those of one span come from raw-logs with its `event_id`. */
  format: Type.Enum(['rows', 'columns'], { default: 'rows' }),
})

const Checkpoint = Type.Object({ name: Type.String(), timestamp: Type.Number(), metadata: StringMap })

/** One span of the tree. `span_id` is 16 hex digits, or the event id for what came over REST. */
export const SpanRow = Type.Object({
  span_id: Type.String(),
  parent_span_id: Nullable(Type.String()),
  event_id: Nullable(Uuid),
  trace_id: Nullable(Type.String({ pattern: '^[0-9a-f]{32}$' })),
  name: Type.String(),
  kind: EventKind,
  start_time: DateTime,
  end_time: DateTime,
  duration_ms: Type.Number({ minimum: 0 }),
  success: Type.Boolean(),
  error_message: Nullable(Type.String()),
  ...usageFields,
  depth: Type.Integer({ minimum: 0 }),
  preview: Preview,
  attributes: StringMap,
  checkpoints: Type.Array(Checkpoint),
})
export type SpanRow = Static<typeof SpanRow>

const SpanRows = Type.Object({
  conversation_id: Uuid,
  root_ids: Type.Array(Type.String()),
  spans: Type.Array(SpanRow),
  truncated: Type.Boolean(),
})
export type SpanRows = Static<typeof SpanRows>

const { span_id, parent_span_id, event_id, name, kind, start_time, duration_ms, success, depth } = SpanRow.properties
const SpanColumns = Type.Object({
  conversation_id: Uuid,
  root_ids: Type.Array(Type.String()),
  columns: Type.Object({
    span_id: Type.Array(span_id),
    parent_span_id: Type.Array(parent_span_id),
    event_id: Type.Array(event_id),
    name: Type.Array(name),
    kind: Type.Array(kind),
    start_time: Type.Array(start_time),
    duration_ms: Type.Array(duration_ms),
    success: Type.Array(success),
    depth: Type.Array(depth),
  }),
  truncated: Type.Boolean(),
})
export type SpanColumns = Static<typeof SpanColumns>

/** `columns` instead of `spans` where they were asked for. */
export const ConversationSpansResponse = Type.Union([SpanRows, SpanColumns])

const Failed = Type.Object({ error: Type.String() })
export const ConversationDetailResponse = Type.Object({
  messages: Type.Union([ConversationMessagesResponse, Failed]),
  spans: Type.Union([SpanRows, Failed]),
})

export const ConversationAudioRequest = Type.Object(conversationFields)
export const ConversationAudioResponse = Type.Object({ url: Type.String(), expires_at: DateTime })
