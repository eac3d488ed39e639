// Shapes of /dashboard/api/intent-keywords.
import Type from 'typebox'
import { Count, Nullable, placeFields, Uuid } from '#proto/dashboard/shared.ts'

/** Terms of an answer, and events shown for each. */
export const KEYWORDS_SHOWN = 50
export const KEYWORD_SAMPLES = 3

/** Terms of what users wrote, most frequent first; a term counts once an event. */
export const IntentKeywordsResponse = Type.Object({
  /** Events with an input. */
  total_analyzed: Count,
  keywords: Type.Array(
    Type.Object({
      keyword: Type.String(),
      count: Count,
      /** Of the events that were looked at. */
      share: Type.Number({ minimum: 0, maximum: 1 }),
      /** Of the share, against the window before: 0.5 = half as much again. Null where it did not occur, or nothing is before. */
      change: Nullable(Type.Number()),
      sample_event_ids: Type.Array(Uuid),
      /** The same events, and where each is. */
      samples: Type.Array(Type.Object(placeFields)),
    }),
  ),
})
