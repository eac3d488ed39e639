// What the dialects know about one attribute key, one span name, one scope: looked up once and remembered. Keys come from a small
// vocabulary, so nearly every look-up is one of a Map; a sender with endless new keys only empties the memory.
import type { Resource, Scope, Value } from '#proto/otlp/span.ts'
import type { Dialect, Type } from './dialect.ts'
import { dialects } from './dialects.ts'
import { allRules, type Rule } from './rules.ts'
import { failureKeys } from './signs.ts'
import { textOfLiteral } from './unwrap.ts'

/** What the presence of an attribute tells. */
export const Sign = { tool: 1, model: 2, plumbing: 4, failure: 8 } as const

/** Sides whose bulk an attribute repeats. */
export const Bulk = { always: 1, input: 2, output: 4 } as const

/** What is known about an attribute key. */
export interface KeyFacts {
  readonly rules: readonly Rule[]
  readonly signs: number
  readonly bulk: number
  /** True when it holds what was said, on whatever span; else the dialects on whose spans it does. */
  readonly content: true | readonly Dialect[]
  /** The application's own key, when a framework carried the attribute; else null. */
  readonly carried: string | null
  /** True for a carried attribute whose text may stand in the quotes of JSON. */
  readonly literal: boolean
  /** True for a carried attribute that its framework put there for the span alone. */
  readonly ofSpan: boolean
  /** Dialects that only this attribute's presence tells. */
  readonly tells: readonly Dialect[]
  /** Dialects by the attribute's value. */
  readonly values: ReadonlyMap<string, readonly Dialect[]> | null
}

/** The value of a carried attribute as the application gave it. */
export const carriedValue = ({ literal }: KeyFacts, value: Value): Value => (literal ? textOfLiteral(value) : value)

/** What is known about a span name. */
export interface NameFacts {
  readonly tells: readonly Dialect[]
  /** The name of the tool, when the span is named like the call of one; else ''. */
  readonly tool: string
}

const REMEMBERED = 8192
/** Keys longer than this are not remembered. */
const KEY_UNITS = 256

function memory<T>(make: (key: string) => T): (key: string) => T {
  const known = new Map<string, T>()
  return key => {
    const found = known.get(key)
    if (found !== undefined) return found
    const made = make(key)
    if (key.length > KEY_UNITS) return made
    if (known.size >= REMEMBERED) known.clear()
    known.set(key, made)
    return made
  }
}

function grouped<T>(entries: readonly (readonly [string, T])[]): Map<string, T[]> {
  const map = new Map<string, T[]>()
  for (const [key, value] of entries) map.set(key, [...(map.get(key) ?? []), value])
  return map
}

// ---- attributes --------------------------------------------------------------------------------------------------------

const byKey = grouped(allRules.filter(rule => rule.key !== '').map(rule => [rule.key, rule] as const))
const byFamily = grouped(
  allRules.flatMap(rule =>
    typeof rule.source === 'object' && 'family' in rule.source ? [[rule.source.family, rule] as const] : [],
  ),
)
const byEnds = allRules.flatMap(rule =>
  typeof rule.source === 'object' && 'prefix' in rule.source ? [{ ...rule.source, rule }] : [],
)

const carries = dialects.flatMap(dialect => dialect.carries ?? []).toSorted((a, b) => b.length - a.length)
const carriesJson = dialects.flatMap(dialect => (dialect.carriesJson === true ? (dialect.carries ?? []) : []))

/** Attributes of spans that carry requests and queries rather than turns. */
const plumbing = ['http.', 'db.', 'rpc.', 'messaging.', 'url.', 'net.', 'faas.', 'graphql.']

const bulky: readonly (readonly [key: string, bulk: number])[] = dialects.flatMap(({ bulky: lists = {} }) => [
  ...(lists.always ?? []).map(key => [key, Bulk.always] as const),
  ...(lists.input ?? []).map(key => [key, Bulk.input] as const),
  ...(lists.output ?? []).map(key => [key, Bulk.output] as const),
])

/** Fields that hold what was said. */
export const contentFields: ReadonlySet<string> = new Set(['input', 'output', 'tool_input', 'tool_output'])
const saying: readonly string[] = [...bulky.map(([key]) => key), ...dialects.flatMap(({ content = [] }) => content)]

/** See `KeyFacts`. Of a family only numbered attributes are messages. */
function contentOf(key: string, rules: readonly Rule[]): KeyFacts['content'] {
  const numbered = familyOf(key) !== ''
  if (saying.some(pattern => covers(pattern, key) && (numbered || !pattern.endsWith('.')))) return true
  const read = rules.filter(({ field }) => contentFields.has(field))
  if (read.some(({ step }) => step !== 'own')) return true
  return read.flatMap(({ dialect }) => dialect ?? [])
}

/** True when the attribute of a span of these dialects holds what was said. */
export function isContent({ content }: KeyFacts, of: readonly Dialect[]): boolean {
  return content === true || content.some(dialect => of.includes(dialect))
}

const toolKeys = new Set(dialects.flatMap(dialect => dialect.toolKeys ?? []))
const modelKeys = new Set(dialects.flatMap(dialect => dialect.modelKeys ?? []))

const told: readonly (readonly [key: string, dialect: Dialect])[] = dialects.flatMap(dialect =>
  (dialect.matches.keys ?? []).map(key => [key, dialect] as const),
)
const valueTold = grouped(
  dialects.flatMap(dialect =>
    Object.entries(dialect.matches.values ?? {}).map(([key, values]) => [key, { dialect, values }] as const),
  ),
)

const ofSpan = dialects.flatMap(dialect => dialect.ofSpan ?? [])

/** True for the key itself, or for keys below it when it ends in a dot. */
function covers(pattern: string, key: string): boolean {
  return pattern.endsWith('.') ? key.startsWith(pattern) : key === pattern
}

/** The part of a key before its first number, dot included; '' when it has none. */
function familyOf(key: string): string {
  return /^(.*?\.)\d/.exec(key)?.[1] ?? ''
}

function makeKeyFacts(key: string): KeyFacts {
  const rules = [...(byKey.get(key) ?? []), ...(byFamily.get(familyOf(key)) ?? [])]
  for (const { prefix, suffix, rule } of byEnds) {
    if (key.startsWith(prefix) && key.endsWith(suffix)) rules.push({ ...rule, source: key, key, label: key })
  }
  let signs = 0
  if (toolKeys.has(key)) signs |= Sign.tool
  if (modelKeys.has(key)) signs |= Sign.model
  if (plumbing.some(prefix => key.startsWith(prefix))) signs |= Sign.plumbing
  if (failureKeys.has(key)) signs |= Sign.failure
  let bulk = 0
  for (const [pattern, side] of bulky) if (covers(pattern, key)) bulk |= side
  const carrier = carries.find(prefix => key.startsWith(prefix) && key.length > prefix.length)
  const values = valueTold.get(key)
  return {
    ...{ rules, signs, bulk, content: contentOf(key, rules) },
    carried: carrier === undefined ? null : key.slice(carrier.length),
    literal: carrier !== undefined && carriesJson.includes(carrier),
    ofSpan: ofSpan.some(each => (each.endsWith('*') ? key.startsWith(each.slice(0, -1)) : key === each)),
    tells: told.flatMap(([pattern, dialect]) => (covers(pattern, key) ? [dialect] : [])),
    values:
      values === undefined
        ? null
        : grouped(values.flatMap(({ dialect, values: list }) => list.map(value => [value, dialect] as const))),
  }
}

/** What is known about an attribute key. */
export const keyFacts = memory(makeKeyFacts)

// ---- names -------------------------------------------------------------------------------------------------------------

const nameTold = dialects.flatMap(dialect => (dialect.matches.names ?? []).map(name => [name, dialect] as const))

/** Longer ones first: `tool.` is the beginning of others. */
const toolPrefixes = dialects.flatMap(dialect => dialect.toolPrefixes ?? []).toSorted((a, b) => b.length - a.length)

/** What is known about the name of a span. */
export const nameFacts = memory((name: string): NameFacts => {
  const prefix = toolPrefixes.find(each => name.startsWith(each) && name.length > each.length)
  return {
    tells: nameTold.flatMap(([beginning, dialect]) => (name.startsWith(beginning) ? [dialect] : [])),
    tool: prefix === undefined ? '' : name.slice(prefix.length).trim(),
  }
})

/** The type that a dialect gives spans of this name; the longest beginning or end counts. */
export function typeByName(dialect: Dialect, name: string): Type | null {
  let best: string | null = null
  for (const beginning of Object.keys(dialect.names ?? {})) {
    const fits = beginning.startsWith('*') ? name.endsWith(beginning.slice(1)) : name.startsWith(beginning)
    if (fits && (best === null || beginning.length > best.length)) best = beginning
  }
  return best === null ? null : ((dialect.names as Record<string, Type>)[best] as Type)
}

// ---- scopes, resources, events -----------------------------------------------------------------------------------------

const scopeTold = dialects.flatMap(dialect => (dialect.matches.scopes ?? []).map(scope => [scope, dialect] as const))

const dialectsByScope = memory((scope: string): readonly Dialect[] => [
  ...new Set(scopeTold.flatMap(([beginning, dialect]) => (scope.startsWith(beginning) ? [dialect] : []))),
])

/** Dialects that the name of a scope tells. */
export function scopeDialects(scope: Scope): readonly Dialect[] {
  return dialectsByScope(scope.name)
}

const byResource = grouped(
  allRules.flatMap(rule =>
    typeof rule.source === 'object' && 'resource' in rule.source ? [[rule.source.resource, rule] as const] : [],
  ),
)
const resourceKnown = new WeakMap<Resource, readonly Rule[]>()

/** Rules that read an attribute of this resource. A resource is shared by the spans of a batch. */
export function resourceRules(resource: Resource): readonly Rule[] {
  const known = resourceKnown.get(resource)
  if (known !== undefined) return known
  const found = [...resource.attributes.keys()].flatMap(key => byResource.get(key) ?? [])
  resourceKnown.set(resource, found)
  return found
}

const eventNames = (rule: Rule): string[] => {
  if (typeof rule.source !== 'object') return []
  if ('event' in rule.source) return [rule.source.event]
  return 'events' in rule.source ? Object.keys(rule.source.events) : []
}
const byEvent = grouped(allRules.flatMap(rule => eventNames(rule).map(name => [name, rule] as const)))

/** Names of events that a rule reads. */
export const eventNamesRead: readonly string[] = [...byEvent.keys()]

/** Rules that read events of this name. */
export function eventRules(name: string): readonly Rule[] {
  return byEvent.get(name) ?? []
}

/** True for events of a name that tells what was said. */
export function isContentEvent(name: string): boolean {
  return eventRules(name).some(({ field }) => contentFields.has(field))
}
