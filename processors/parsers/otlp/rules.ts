// The dialects' data compiled for reading: every place of every field is a rule with a rank, found by the attribute it reads. A span
// is read by looking up its own attributes here, so that the number of dialects costs nothing.
import type { RuleDraft, RuleField } from '#proto/rules.ts'
import { type Dialect, type Field, type FieldSources, fields, type Source } from './dialect.ts'
import { dialects } from './dialects.ts'
import { precedence } from './precedence.ts'

/** The steps of precedence.ts. */
export type Step = 'contract' | 'organization' | 'own' | 'fields' | 'late'

/** One place where a field may stand. */
export interface Rule {
  readonly field: Field
  /** Position of the field in `fields`. */
  readonly slot: number
  /** Lower comes first. */
  readonly rank: number
  readonly step: Step
  /** null = a rule of the organization. */
  readonly dialect: Dialect | null
  readonly source: Source
  /** The attribute it reads; '' when it reads something else. */
  readonly key: string
  /** True for a place whose text may stand in the quotes of JSON. */
  readonly literal: boolean
  /** How the place is named to people. */
  readonly label: string
}

/** Ranks of the steps; places of one step stay below a thousand. */
const stepRank: Readonly<Record<Step, number>> = {
  contract: 0,
  organization: 1000,
  own: 2000,
  fields: 3000,
  late: 4000,
}

/** Position of each field in `fields`. */
export const slots = Object.fromEntries(fields.map((field, slot) => [field, slot])) as Readonly<Record<Field, number>>

/** The name of a place. */
export function labelOf(source: Source): string {
  if (typeof source === 'string') return source
  if ('sent' in source) return source.sent
  if ('words' in source) return source.words
  if ('values' in source) return source.values
  if ('json' in source) return `${source.json}#${source.path}`
  if ('sum' in source) return source.sum.map(labelOf).join(' + ')
  if ('event' in source) return `event ${source.event}#${source.key}`
  if ('events' in source) return `events ${Object.keys(source.events).join(', ')}`
  if ('family' in source) return `${source.family}N`
  if ('root' in source) return `root ${source.root}`
  if ('resource' in source) return `resource.${source.resource}`
  return `${source.prefix}*${source.suffix}`
}

/** The attribute that a place reads, '' when it is none of the span's own. */
function keyOf(source: Source): string {
  if (typeof source === 'string') return source
  if ('sent' in source) return source.sent
  if ('words' in source) return source.words
  if ('values' in source) return source.values
  if ('json' in source) return source.json
  if ('root' in source) return source.root
  return 'sum' in source ? keyOf(source.sum[0]) : ''
}

function dialectsOf(field: Field): readonly Dialect[] {
  const order = precedence[field]
  const named = order.flatMap(name => dialects.filter(dialect => dialect.name === name))
  return [...named, ...dialects.filter(dialect => !order.includes(dialect.name))]
}

function rulesOf(field: Field): Rule[] {
  const rules: Rule[] = []
  const add = (step: Step, dialect: Dialect, from: FieldSources | undefined): void => {
    for (const source of from?.[field] ?? []) {
      const key = keyOf(source)
      const rank = stepRank[step] + rules.length
      const literal = dialect.carriesJson === true && (dialect.carries ?? []).some(prefix => key.startsWith(prefix))
      rules.push({ field, slot: slots[field], rank, step, dialect, source, key, literal, label: labelOf(source) })
    }
  }
  const order = dialectsOf(field)
  const [contract, ...others] = [
    ...order.filter(({ name }) => name === 'contract'),
    ...order.filter(({ name }) => name !== 'contract'),
  ] as [Dialect, ...Dialect[]]
  add('contract', contract, contract.fields)
  for (const dialect of others) add('own', dialect, dialect.own)
  for (const dialect of others) add('fields', dialect, dialect.fields)
  for (const dialect of others) add('late', dialect, dialect.late)
  return rules
}

/** Every rule of every field, in the order in which they count. */
export const rules: Readonly<Record<Field, readonly Rule[]>> = Object.fromEntries(
  fields.map(field => [field, rulesOf(field)]),
) as unknown as Readonly<Record<Field, readonly Rule[]>>

export const allRules: readonly Rule[] = fields.flatMap(field => rules[field])

// ---- rules of an organization ------------------------------------------------------------------------------------------

/**
 * Rules by the attribute they read. One that begins with `resource.` is also looked for on the resource; `KEY#PATH` is what stands in
 * an object that the attribute holds.
 */
export type OrganizationRules = ReadonlyMap<string, readonly Rule[]>

const meant: Partial<Readonly<Record<RuleField, readonly Field[]>>> = {
  name: ['agent_name', 'tool_name'],
  input: ['input', 'tool_input'],
  output: ['output', 'tool_output'],
}

/** Compiles an organization's rules; an earlier one comes before a later one for the same field. */
export function compileRules(list: readonly RuleDraft[]): OrganizationRules {
  const compiled = new Map<string, Rule[]>()
  for (const [i, { attribute, field: name }] of list.entries()) {
    for (const field of meant[name] ?? [name as Field]) {
      const resource = attribute.startsWith('resource.') ? attribute.slice('resource.'.length) : ''
      const place = {
        field,
        slot: slots[field],
        step: 'organization',
        dialect: null,
        literal: false,
        label: attribute,
      } as const
      const rank = stepRank.organization + Math.min(2 * i, 990)
      const [key = '', ...path] = attribute.split('#')
      const rules = compiled.get(key) ?? []
      const source: Source = path.length === 0 ? key : { json: key, path: path.join('#') }
      rules.push({ ...place, rank, source, key })
      if (resource !== '') rules.push({ ...place, rank: rank + 1, source: { resource }, key: '' })
      compiled.set(key, rules)
    }
  }
  return compiled
}
