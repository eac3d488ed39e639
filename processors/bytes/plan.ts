// A span that was read the way of objects -> a plan for all that are like it: the same resource, scope and name, the same keys in the
// same order, and the same values wherever a value decides. What the plan leaves open is what only flows into a field.
import type { Resource, Scope, Span, Value } from '#proto/otlp/span.ts'
import type { FrameContext } from '../outcome.ts'
import type { Billing } from '../parsers/cost.ts'
import { asId, asName } from '../parsers/otlp/accept.ts'
import { billingOf } from '../parsers/otlp/billing.ts'
import { contentField, contentReader, isOfTurns, type Said } from '../parsers/otlp/content.ts'
import type { Dialect, Field } from '../parsers/otlp/dialect.ts'
import { type Accept, Facts, type Found } from '../parsers/otlp/facts.ts'
import { type Failure, failureOf, passesOn } from '../parsers/otlp/failure.ts'
import { readFamily } from '../parsers/otlp/families.ts'
import { isNobodys, type SpanKind } from '../parsers/otlp/kinds.ts'
import { type EventSource, eventSource } from '../parsers/otlp/message-events.ts'
import { providerOf } from '../parsers/otlp/model.ts'
import type { SpanReading } from '../parsers/otlp/reading.ts'
import type { Rule } from '../parsers/otlp/rules.ts'
import { readSpan } from '../parsers/otlp/unit.ts'
import { asDollars, asTokens, type CountingConvention, conventionOf } from '../parsers/otlp/usage.ts'
import { NO_USAGE } from '../parsers/rows.ts'
import type { Attributes } from './content.ts'
import { type FailurePlan, failurePlan } from './failing.ts'
import { familyForm, saidInFamily } from './family.ts'
import { hashOf } from './interned.ts'
import type { Variant } from './metadata.ts'
import { isSumOfKeys, type KeyInfo } from './vocabulary.ts'

/** A place of content, and the attribute it reads; -1 = what it holds is always the same. */
export interface ContentPlace {
  readonly rule: Rule
  readonly at: number
  readonly fixed: Said | null
  /** Attributes of a family, by position … */
  readonly family: readonly number[] | null
  /** … and what they say, where that is simple; null = it has to be looked at. */
  readonly simply: ((attributes: Attributes) => Said | null) | null
  /** Where in the span's events; null = not there. */
  readonly events: EventSource | null
}

/** Where a side of the span may stand, in the order in which places count. */
export interface ContentPlan {
  readonly accept: Accept<Said>
  readonly places: readonly ContentPlace[]
}

/** Where an amount stands: an attribute or two that are added, or always the same. */
export interface AmountPlan {
  readonly field: Field
  readonly rule: Rule
  readonly positions: readonly number[]
  readonly fixed: number
}

/** What spans report, if they do. */
export interface UsagePlan {
  /** In the order of `Usage`; null = not sent. */
  readonly amounts: readonly (AmountPlan | null)[]
  readonly convention: CountingConvention
  readonly fields: readonly Field[]
}

/** An id: the attribute it stands in, or what is always the same. */
export interface IdPlan {
  readonly at: number
  readonly fixed: string
  /** Of the fixed text, as `hashOf` has it. */
  readonly hash: number
}

/** How spans of one likeness are read. */
export interface Plan {
  readonly kind: SpanKind
  readonly model: string
  readonly provider: string
  readonly failure: Failure | null
  /** How the failure is read when its events tell of it; null = `failure` is always the same. */
  readonly failing: FailurePlan | null
  /** Whatever fails of it is counted elsewhere. */
  readonly passesOn: boolean
  readonly spanKind: number
  readonly statusCode: number
  /** What `metadata` holds. */
  readonly metadata: Value
  readonly resource: Resource
  readonly scope: Scope
  readonly name: string
  readonly dialects: readonly Dialect[]
  readonly wrapsTools: boolean
  readonly keys: readonly KeyInfo[]
  readonly positions: ReadonlyMap<string, number>
  /** Attributes that identity and provider used up. */
  readonly used: ReadonlySet<string>
  readonly session: IdPlan | null
  readonly user: IdPlan | null
  /** The user's address. */
  readonly email: IdPlan | null
  readonly input: ContentPlan
  readonly output: ContentPlan
  readonly usage: UsagePlan | null
  readonly billing: Billing
  /** Attributes about the user and about the conversation, by position. */
  readonly traits: readonly number[]
  /** Metadata by what was decided; see metadata.ts. null = left to the way of objects. */
  readonly variants: Map<number, Variant | null>
}

/** What became of each attribute of a span on the way to its likeness; see likeness.ts. */
export const Code = { none: 0, empty: 1, there: 2, amount: 3, id: 4, text: 5, other: 6, exact: 7 } as const

interface Placed {
  readonly positions: ReadonlyMap<string, number>
  readonly codes: readonly number[]
}

/** Places of a side: variants are told apart by a number that holds two of them. */
export const PLACES_MAX = 62

/** The plan of a span; null when its rows are always left to the way of objects. Precondition: no key comes twice. */
export function planOf(
  span: Span,
  keys: readonly KeyInfo[],
  codes: readonly number[],
  context: FrameContext,
): Plan | null {
  const sample = readSpan(span, context)
  const { facts, kind, model } = sample
  // Their conversation is another one than their session says.
  if (isNobodys(kind, facts)) return null
  const positions = new Map(keys.map(({ key }, at) => [key, at]))
  const placed = { positions, codes }
  const billing = billingOf(span.attributes, NO_USAGE)
  if (billing.malformed.length > 0) return null
  // Read once more, without content: which of its places counts is each span's own affair.
  const bare = new Facts(span)
  bare.take('session_id', asId)
  bare.take('user_id', asId)
  providerOf(bare, model)
  const input = contentPlan(facts, sample, 'input', positions)
  const output = contentPlan(facts, sample, 'output', positions)
  const usage = usagePlan(facts, model, placed)
  const session = idPlan(facts.find('session_id', asId), placed)
  const user = idPlan(facts.find('user_id', asId), placed)
  const email = idPlan(facts.find('user_email', asName), placed)
  if (input.places.length > PLACES_MAX || output.places.length > PLACES_MAX) return null
  if (kind.name.length > 256 || model.length > 256 || sample.provider.length > 256) return null
  return {
    ...{ kind, model, provider: sample.provider },
    ...{ failure: failureOf(facts), failing: failurePlan(facts), passesOn: passesOn(kind, facts.isRoot) },
    ...{ spanKind: span.kind, statusCode: span.statusCode, metadata: span.attributes.get('metadata') ?? null },
    ...{
      resource: span.resource,
      scope: span.scope,
      name: span.name,
      dialects: facts.dialects,
      keys,
      positions,
      used: bare.used,
    },
    ...{ session, user, email, input, output, usage, billing },
    wrapsTools: facts.dialects.some(dialect => dialect.wrapsTools === true),
    traits: keys.flatMap(({ key }, at) => (key.startsWith('user.') ? [at] : [])),
    variants: new Map(),
  }
}

function contentPlan(
  facts: Facts,
  { kind: { kind } }: SpanReading,
  side: 'input' | 'output',
  positions: ReadonlyMap<string, number>,
): ContentPlan {
  const accept = contentReader(facts, kind, side)
  const rules = facts.placesOf(contentField(kind, side)).filter(rule => kind !== 'llm' || !isOfTurns(rule))
  const places = rules.map((rule): ContentPlace => {
    const { source } = rule
    const events = eventSource(source)
    const none = { rule, at: -1, fixed: null, family: null, simply: null, events }
    if (events !== null) return none
    if (typeof source === 'object' && 'family' in source) {
      const names = readFamily(facts.attributes, source.family)?.keys
      if (names === undefined) return none
      const family = names.map(key => positions.get(key) as number)
      const form = kind === 'tool' ? null : familyForm(names, family, source.family)
      return { ...none, family, simply: form === null ? null : each => saidInFamily(form, side, rule, each) }
    }
    const simple = typeof source === 'string' || 'sent' in source || 'words' in source || 'values' in source
    const at = simple ? (positions.get(rule.key) ?? -1) : -1
    const held = at >= 0 ? null : (facts.at(rule) ?? null)
    return { ...none, at, fixed: held === null ? null : accept(held, rule) }
  })
  const speaks = ({ at, fixed, family, events }: ContentPlace): boolean =>
    at >= 0 || fixed !== null || family !== null || events !== null
  return { accept, places: places.filter(speaks) }
}

const amountFields = [
  ...([
    'input_tokens',
    'output_tokens',
    'cache_read_tokens',
    'cache_write_tokens',
    'reasoning_tokens',
    'cost',
  ] as const),
]

function usagePlan(facts: Facts, model: string, { positions, codes }: Placed): UsagePlan | null {
  const found = amountFields.map(field => facts.find(field, field === 'cost' ? asDollars : asTokens))
  if (found.every(each => each === null)) return null
  const isOpen = (key: string): boolean => codes[positions.get(key) ?? -1] === Code.amount
  const amounts = found.map((each, i): AmountPlan | null => {
    if (each === null) return null
    const { rule, value } = each
    const read = isSumOfKeys(rule) ? (rule.source as { sum: readonly string[] }).sum : [rule.key]
    const open = rule.key !== '' && (typeof rule.source === 'string' || isSumOfKeys(rule)) && read.every(isOpen)
    const field = amountFields[i] as Field
    return { field, rule, positions: open ? read.map(key => positions.get(key) as number) : [], fixed: value }
  })
  const [input = null, output = null] = found
  return {
    amounts,
    convention: conventionOf(facts, input, output, model),
    fields: amountFields.filter((_, i) => found[i] !== null),
  }
}

function idPlan(found: Found<string> | null, { positions, codes }: Placed): IdPlan | null {
  if (found === null) return null
  const { source } = found.rule
  const whole = typeof source === 'string' || 'root' in source
  const at = whole ? (positions.get(found.rule.key) ?? -1) : -1
  const bytes = Buffer.from(found.value)
  const hash = hashOf(bytes, 0, bytes.length)
  return { at: at >= 0 && codes[at] === Code.id ? at : -1, fixed: found.value, hash }
}
