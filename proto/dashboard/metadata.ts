// Shapes of metadata-distribution and of the configuration of metadata keys.
import type { Static } from 'typebox'
import Type from 'typebox'
import { Count, DateTime, Nullable, QueryFilters } from '#proto/dashboard/shared.ts'

/** Keys of an answer, values of a key, and characters of a value at most. */
export const KEYS_SHOWN = 50
export const VALUES_SHOWN = 20
export const VALUE_CHARS = 256

/** `attributes`: parley's own keys as well. */
export const MetadataDistributionRequest = Type.Object({
  ...QueryFilters.properties,
  attributes: Type.Boolean({ default: false }),
})

/** The same of lists of keys, as a query string. */
export const MetadataKeysRequest = Type.Object({ attributes: Type.Optional(Type.Enum(['true', 'false'])) })

/** Most used keys first, and of each the most used values; the rest of its events is `other_count`. */
export const MetadataDistributionResponse = Type.Object({
  total_events: Count,
  keys: Type.Array(
    Type.Object({
      key: Type.String(),
      source: Type.Enum(['event_metadata', 'conversation_metadata', 'user_metadata']),
      event_count: Count,
      distinct_values: Count,
      values: Type.Array(Type.Object({ value: Type.String(), count: Count })),
      other_count: Count,
    }),
  ),
})

/** Keys that are told of an organization, most used first. */
export const KEYS_AVAILABLE = 1000

/** Keys of a configuration, each counted once. */
export const KEYS_MAX = 100
const Keys = Type.Array(Type.String({ minLength: 1, maxLength: 128 }))

/** Absent fields stay as they are; duplicates are dropped before there may be `KEYS_MAX`. */
export const MetadataKeysUpdate = Type.Object({ keys: Type.Optional(Keys), include_keys: Type.Optional(Keys) })

/** `keys`: offered as columns, filters and groups, in that order. `include_keys`: in exports and prompts. */
export const MetadataKeys = Type.Object({
  keys: Type.Array(Type.String()),
  include_keys: Type.Array(Type.String()),
  /** Seen in the last 30 days, by name. */
  available_keys: Type.Array(Type.String()),
  /** The same, most used first: events (or conversations) that have the key, the type of its values, and how many there are, 2 % exact. */
  available: Type.Array(
    Type.Object({
      key: Type.String(),
      type: Type.Enum(['number', 'boolean', 'time', 'list', 'object', 'text', 'mixed']),
      count: Count,
      distinct_values: Count,
    }),
  ),
  /** Null until it was configured. */
  updated_at: Nullable(DateTime),
})
export type MetadataKeys = Static<typeof MetadataKeys>
