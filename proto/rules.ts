// An organization's own rules for reading spans: this attribute is that field.
import type { Static } from 'typebox'
import Type from 'typebox'

/** Fields that a rule may give. `name` is that of agents and tools alike, `input` and `output` those of tools too; cost is in dollars. */
export const ruleFields = [
  ...(['kind', 'session_id', 'user_id', 'user_email', 'name', 'model', 'provider', 'cost', 'input', 'output'] as const),
  ...(['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens'] as const),
] as const
export type RuleField = (typeof ruleFields)[number]

/** Rules of one organization. */
export const RULES_MAX = 50

/** A rule as it is given. An earlier rule comes before a later one for the same field. */
export const RuleDraft = Type.Object(
  {
    /** Key of a span attribute; `resource.KEY` also of a resource attribute; `KEY#PATH` what stands in an object that it holds. */
    attribute: Type.String({ minLength: 1, maxLength: 256 }),
    field: Type.Enum([...ruleFields]),
  },
  { additionalProperties: false },
)
export type RuleDraft = Static<typeof RuleDraft>

/** A rule that is kept. */
export interface Rule extends RuleDraft {
  readonly id: string
  /** ISO 8601. */
  readonly created_at: string
  /** Id of the user, or `api key`. */
  readonly created_by: string
}
