// One span while it is being read: which of its attributes may be which field, what was found there, and what is used up.
import { isObject, readJsonText } from '#proto/json.ts'
import type { Attributes, Span, Value } from '#proto/otlp/span.ts'
import { amountOf } from '../amounts.ts'
import type { Dialect, Field, Source } from './dialect.ts'
import { type Family, readFamily } from './families.ts'
import { eventRules, type KeyFacts, keyFacts, type NameFacts, nameFacts, resourceRules, scopeDialects } from './keys.ts'
import { inEvents } from './message-events.ts'
import { readPythonText } from './python.ts'
import { type OrganizationRules, type Rule, slots } from './rules.ts'
import { textOfLiteral } from './unwrap.ts'

/** What a place held. */
export interface Found<T> {
  readonly value: T
  readonly rule: Rule
}

/** Reads a value as T, or null when it is none. */
export type Accept<T> = (value: Value, rule: Rule) => T | null

/** A place that held something, and whether it was taken; kept only for explanations. */
export interface Considered {
  readonly rule: Rule
  readonly value: Value
  /** False when the value says nothing. */
  readonly accepted: boolean
  /** True for the first one that was accepted. */
  readonly taken: boolean
}

/** A span and what has been read from it so far. */
export class Facts {
  readonly span: Span
  readonly name: NameFacts
  /** Dialects that a sign of this span tells, without repetition. */
  readonly dialects: Dialect[] = []
  /** Signs of its attributes; see keys.ts. */
  readonly signs: number
  /** What is known about each attribute, in their order. */
  readonly keys: readonly KeyFacts[]
  /** Span attributes that went into a field and need not be kept as metadata. */
  readonly used = new Set<string>()
  /** Filled with every place that was looked at; null unless somebody asks why. */
  readonly considered: Considered[] | null
  readonly #candidates: (Rule[] | undefined)[] = []
  #json: Map<string, unknown> | null = null
  #families: Map<string, Family | null> | null = null

  constructor(span: Span, organization: OrganizationRules | null = null, considered: Considered[] | null = null) {
    this.span = span
    this.considered = considered
    this.name = nameFacts(span.name)
    const keys: KeyFacts[] = []
    let signs = 0
    for (const dialect of scopeDialects(span.scope)) this.dialects.push(dialect)
    for (const dialect of this.name.tells) this.#tell(dialect)
    for (const [key, value] of span.attributes) {
      const facts = keyFacts(key)
      keys.push(facts)
      if (value === null || value === '') continue
      signs |= facts.signs
      for (const dialect of facts.tells) this.#tell(dialect)
      if (facts.values !== null && typeof value === 'string') {
        for (const dialect of facts.values.get(value.toLowerCase()) ?? []) this.#tell(dialect)
      }
      for (const rule of facts.rules) this.#offer(rule)
      for (const rule of organization?.get(key) ?? []) this.#offer(rule)
    }
    for (const event of span.events) for (const rule of eventRules(event.name)) this.#offer(rule)
    for (const rule of resourceRules(span.resource)) this.#offer(rule)
    if (organization !== null) this.#offerResource(organization)
    this.keys = keys
    this.signs = signs
  }

  get attributes(): Attributes {
    return this.span.attributes
  }

  get isRoot(): boolean {
    return this.span.parentSpanId === ''
  }

  /** True when the span has an attribute with a value under this key. */
  has(key: string): boolean {
    const value = this.span.attributes.get(key)
    return value !== undefined && value !== null && value !== ''
  }

  /** A span attribute as text; '' when it is none. */
  text(key: string): string {
    const value = this.span.attributes.get(key)
    return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
  }

  /** The first place of a field whose value is accepted. The attribute it stood in is used up. */
  take<T>(field: Field, accept: Accept<T>): Found<T> | null {
    const found = this.find(field, accept)
    if (found !== null) this.#use(found.rule.source)
    return found
  }

  /** The first place of a field whose value is accepted; it stays in the metadata. */
  find<T>(field: Field, accept: Accept<T>): Found<T> | null {
    const rules = this.#candidates[slots[field]]
    if (rules === undefined) return null
    if (rules.length > 1) rules.sort(byRank)
    let found: Found<T> | null = null
    for (const rule of rules) {
      if (rule.step === 'own' && !this.dialects.includes(rule.dialect as Dialect)) continue
      const held = this.#valueOf(rule)
      if (held === undefined || held === null) continue
      const value = accept(held, rule)
      this.considered?.push({ rule, value: held, accepted: value !== null, taken: found === null && value !== null })
      if (value === null || found !== null) continue
      found = { value, rule }
      if (this.considered === null) return found
    }
    return found
  }

  /** The places of a field that this span has, in the order in which they count. */
  placesOf(field: Field): readonly Rule[] {
    const rules = this.#candidates[slots[field]] ?? []
    return rules.toSorted(byRank).filter(rule => rule.step !== 'own' || this.dialects.includes(rule.dialect as Dialect))
  }

  /** What a place holds. */
  at(rule: Rule): Value | undefined {
    return this.#valueOf(rule)
  }

  #tell(dialect: Dialect): void {
    if (!this.dialects.includes(dialect)) this.dialects.push(dialect)
  }

  #offer(rule: Rule): void {
    const rules = this.#candidates[rule.slot]
    if (rules === undefined) this.#candidates[rule.slot] = [rule]
    // Many attributes of one family, or events of one name, offer the same rule.
    else if (!rules.includes(rule)) rules.push(rule)
  }

  #offerResource(organization: OrganizationRules): void {
    for (const key of this.span.resource.attributes.keys()) {
      for (const rule of organization.get(`resource.${key}`) ?? []) if (rule.key === '') this.#offer(rule)
    }
  }

  #use(source: Source): void {
    if (typeof source === 'string') this.used.add(source)
    else if ('sent' in source) this.used.add(source.sent)
    else if ('root' in source) this.used.add(source.root)
    else if ('words' in source) this.used.add(source.words)
    else if ('values' in source) this.used.add(source.values)
    else if ('family' in source) {
      for (const key of this.#family(source.family)?.keys ?? []) this.used.add(key)
    }
  }

  #valueOf(rule: Rule): Value | undefined {
    return asWritten(rule, this.#at(rule.source))
  }

  #at(source: Source): Value | undefined {
    if (typeof source === 'string') return this.attributes.get(source)
    if ('sent' in source) return this.attributes.get(source.sent)
    if ('words' in source) return this.attributes.get(source.words)
    if ('values' in source) return this.attributes.get(source.values)
    if ('root' in source) return this.isRoot ? this.attributes.get(source.root) : undefined
    if ('json' in source) return this.#inside(source.json, source.path)
    if ('sum' in source) return this.#sum(source.sum)
    if ('resource' in source) return this.span.resource.attributes.get(source.resource)
    if ('event' in source || 'events' in source) return inEvents(source, this.span.events)
    if ('family' in source) return this.#family(source.family)?.messages as Value | undefined
    return undefined
  }

  #sum(sources: readonly Source[]): Value | undefined {
    const amounts = sources.map(source => amountOf(this.#at(source)))
    return amounts.reduce((a, b) => (a === null || b === null ? null : a + b), 0)
  }

  #family(prefix: string): Family | null {
    this.#families ??= new Map()
    const known = this.#families.get(prefix)
    if (known !== undefined) return known
    const family = readFamily(this.attributes, prefix)
    this.#families.set(prefix, family)
    return family
  }

  /** What stands at a path inside an attribute that is an object or JSON of one; parsed once per span. */
  #inside(key: string, path: string): Value | undefined {
    this.#json ??= new Map()
    let object = this.#json.get(key)
    if (object === undefined) {
      const value = this.attributes.get(key)
      object = typeof value === 'string' ? objectIn(value) : value
      this.#json.set(key, object ?? null)
    }
    const whole = own(object, path)
    if (whole !== undefined || !path.includes('.')) return whole as Value | undefined
    let here: unknown = object
    for (const step of path.split('.')) here = own(here, step)
    return here as Value | undefined
  }
}

/** The object of a text: JSON, or what Python prints. */
function objectIn(text: string): unknown {
  return /^\s*\{/.test(text) ? (readJsonText(text) ?? readPythonText(text)) : undefined
}

const byRank = (a: Rule, b: Rule): number => a.rank - b.rank

function own(object: unknown, key: string): unknown {
  return isObject(object) && Object.hasOwn(object, key) ? object[key] : undefined
}

/** The value of a place whose dialect may write it, or every value, as JSON. */
export function asWritten(rule: Rule, value: Value | undefined): Value | undefined {
  if (typeof value !== 'string') return value
  if (rule.literal) return textOfLiteral(value)
  return rule.dialect?.jsonValues === true ? decoded(value) : value
}

/** A value that was written as JSON; a text that is none stays what it is. */
function decoded(text: string): Value {
  // As a number it might lose digits; whoever takes numbers takes their text as well.
  if (/^\s*-?\d{16,}\s*$/.test(text)) return text.trim()
  const value = /^\s*(["\d{[-]|true|false|null)/.test(text) ? readJsonText(text) : undefined
  return value === undefined ? text : (value as Value)
}
