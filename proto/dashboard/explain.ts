// Shapes of /dashboard/api/explain-event and /dashboard/api/attribute-rules.
import type { Static } from 'typebox'
import Type from 'typebox'
import { DateTime, Nullable, Uuid } from '#proto/dashboard/shared.ts'
import { RULES_MAX, RuleDraft, ruleFields } from '#proto/rules.ts'

export const ExplainRequest = Type.Object({ event_id: Uuid })

const placeFields = {
  /** The attribute, or how the place is written where it is none. */
  attribute: Type.String(),
  /** Whose key it is: a framework's, the contract's, the organization's own rule. */
  dialect: Type.String(),
}

/** A place that held something. Values are masked and cut. */
const Place = Type.Object({ ...placeFields, step: Type.String(), value: Type.String() })
export type Place = Static<typeof Place>

const Field = Type.Object({
  field: Type.String(),
  /** As the payload is read now; '' = empty. */
  value: Type.String(),
  /** As it is stored; null where that is not kept by itself. */
  stored: Nullable(Type.String()),
  /** Where it was taken from. */
  from: Nullable(Place),
  /** A sentence where no attribute gave the field. */
  because: Type.String(),
  /** Places that held something and were passed over. */
  ignored: Type.Array(Type.Object({ ...placeFields, step: Type.String(), value: Type.String(), why: Type.String() })),
  /** Where an empty field was looked for, in order. */
  looked: Type.Array(Type.Object(placeFields)),
})

export const ExplainResponse = Type.Object({
  event_id: Uuid,
  /** `payload`: read again as it was sent. `stored`: the payload is gone, only what is stored could be told. */
  read_from: Type.Enum(['payload', 'stored']),
  /** Why the payload could not be read; '' when it was. */
  because: Type.String(),
  source: Type.Enum(['sdk', 'mcp', 'voice', 'otlp']),
  span: Nullable(Type.Object({ trace_id: Type.String(), span_id: Type.String(), name: Type.String() })),
  /** Frameworks whose marks the span carries. */
  dialects: Type.Array(Type.String()),
  fields: Type.Array(Field),
  /** Every attribute that was sent, and what became of it. */
  attributes: Type.Array(Type.Object({ attribute: Type.String(), became: Type.String() })),
})
export type ExplainResponse = Static<typeof ExplainResponse>

export const Rule = Type.Object({
  id: Uuid,
  attribute: Type.String(),
  field: Type.Enum([...ruleFields]),
  created_at: DateTime,
  created_by: Type.String(),
})

export const RulesResponse = Type.Object({
  rules: Type.Array(Rule),
  /** Fields that a rule may give. */
  fields: Type.Array(Type.String()),
})

export const TryRulesRequest = Type.Object({
  event_id: Uuid,
  /** Tried after the rules that are kept. */
  rules: Type.Array(RuleDraft, { minItems: 1, maxItems: RULES_MAX }),
})

export const TryRulesResponse = Type.Object({
  event_id: Uuid,
  /** Fields that the rules change, read from the payload without and with them. */
  changes: Type.Array(
    Type.Object({
      field: Type.String(),
      before: Type.String(),
      after: Type.String(),
      /** The place that gives the field with the rules. */
      from: Nullable(Place),
      because: Type.String(),
    }),
  ),
  /** Rules that change nothing of this event, and why not. */
  idle: Type.Array(Type.Object({ attribute: Type.String(), field: Type.String(), why: Type.String() })),
})
