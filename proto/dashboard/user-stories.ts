// Shapes of /dashboard/api/user-stories.
import type { Static } from 'typebox'
import Type from 'typebox'
import {
  ConversationEvent,
  CostMetadata,
  Count,
  DateTime,
  filterFields,
  Nullable,
  PageNumber,
  Preview,
  pageFields,
  pagingFields,
  StringMap,
  TagRef,
  Uuid,
} from '#proto/dashboard/shared.ts'

export const searchFields = [
  'user_id',
  'conversation_id',
  'original_conversation_id',
  'user_email',
  'group_value',
] as const

export const UserStoriesRequest = Type.Object({
  ...filterFields,
  page: PageNumber,
  page_size: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
  cursor: pagingFields.cursor,
  search: Type.Optional(Type.String({ maxLength: 1000 })),
  search_field: Type.Optional(Type.Enum([...searchFields])),
  search_value: Type.Optional(Type.String({ maxLength: 1000 })),
  group_by: Type.Optional(
    Type.Object({
      source: Type.Enum(['conversation_metadata', 'user_metadata']),
      key: Type.String({ minLength: 1 }),
    }),
  ),
  group_level: Type.Optional(Type.Enum(['groups', 'users', 'conversations'])),
  group_value: Type.Optional(Type.String()),
  group_user_key: Type.Optional(Type.String()),
  sort: Type.Enum(['newest', 'oldest'], { default: 'newest' }),
  exclude_io: Type.Boolean({ default: false }),
  allow_limited_preview: Type.Boolean({ default: false }),
  sentiment_ids: Type.Optional(Type.Array(Uuid, { maxItems: 1000 })),
  sop_ids: Type.Optional(Type.Array(Uuid, { maxItems: 1000 })),
})
export type UserStoriesRequest = Static<typeof UserStoriesRequest>

/** Newest events that a conversation row carries. */
export const CONVERSATION_EVENTS = 20
/** Longest input or output inside a conversation row, and all of a page together, in bytes: it may have 100 x 20 events. */
export const CONVERSATION_IO_MAX_BYTES = 4096
export const STORIES_IO_MAX_BYTES = 262_144

export const ConversationRow = Type.Object({
  conversation_id: Uuid,
  original_conversation_id: Nullable(Type.String()),
  user_id: Nullable(Type.String()),
  user_email: Nullable(Type.String()),
  user_data: StringMap,
  metadata: StringMap,
  /** What parley remarked of it, apart from what senders attached. */
  attributes: StringMap,
  connection_type: Type.String(),
  agent_names: Type.Array(Type.String()),
  started_at: DateTime,
  last_active: DateTime,
  /** From the beginning of its first event to the last end of one. */
  duration_ms: Count,
  message_count: Count,
  tool_call_count: Count,
  error_count: Count,
  avg_latency: Nullable(Type.Number({ minimum: 0 })),
  preview: Preview,
  intents: Type.Array(TagRef),
  violations: Type.Array(TagRef),
  cost_metadata: Type.Array(CostMetadata),
  has_audio: Type.Boolean(),
  /** Spans of a trace that names no session, until one does: the conversation will then be another one. */
  provisional: Type.Optional(Type.Literal(true)),
  events: Type.Array(ConversationEvent),
})
export type ConversationRow = Static<typeof ConversationRow>

const tagCounts = {
  intent_count: Count,
  violation_count: Count,
  intent_labels: Type.Array(Type.String()),
  violation_labels: Type.Array(Type.String()),
}

/** Metrics of one user of the page; key `user:<id>`, or `conversation:<id>` when the user is not known. */
export const VisibleUserSummary = Type.Object({
  key: Type.String(),
  conversation_count: Count,
  message_count: Count,
  ...tagCounts,
  cost_metadata: Type.Optional(Type.Array(CostMetadata)),
})
export type VisibleUserSummary = Static<typeof VisibleUserSummary>

/** Conversations whose metadata holds one value. */
export const GroupSummary = Type.Object({
  value: Type.String(),
  conversation_count: Count,
  user_count: Count,
  message_count: Count,
  ...tagCounts,
  last_active: DateTime,
  cost_metadata: Type.Optional(Type.Array(CostMetadata)),
})
export type GroupSummary = Static<typeof GroupSummary>

/** A user inside a group; `key` is opaque and leads to the user's conversations. */
export const UserSummary = Type.Object({
  key: Type.String(),
  user_id: Type.Optional(Type.String()),
  label: Type.String(),
  representative_conversation_id: Uuid,
  conversation_count: Count,
  message_count: Count,
  ...tagCounts,
  last_active: DateTime,
  cost_metadata: Type.Optional(Type.Array(CostMetadata)),
})
export type UserSummary = Static<typeof UserSummary>

/** One of `conversations`, `groups` and `users` is there. */
export const UserStoriesResponse = Type.Object({
  conversations: Type.Optional(Type.Array(ConversationRow)),
  groups: Type.Optional(Type.Array(GroupSummary)),
  users: Type.Optional(Type.Array(UserSummary)),
  user_summaries: Type.Array(VisibleUserSummary),
  group_value: Type.Optional(Type.String()),
  overlapping: Type.Boolean(),
  ...pageFields,
  partial_data: Type.Boolean(),
})
export type UserStoriesResponse = Static<typeof UserStoriesResponse>

/** Options of an answer. */
export const SEARCH_OPTIONS = 20

/** What begins with the text stands before what holds it elsewhere; then by last activity. */
export const SearchOptionsResponse = Type.Object({
  options: Type.Array(
    Type.Object({
      field: Type.Enum([...searchFields]),
      value: Type.String(),
      label: Type.String(),
      conversation_count: Count,
      last_active: DateTime,
    }),
  ),
  has_more: Type.Boolean(),
})
