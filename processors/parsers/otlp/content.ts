// Input and output of a span: the place that counts, and the text it becomes.
import { isObject, readJsonText } from '#proto/json.ts'
import type { Value } from '#proto/otlp/span.ts'
import { type EventKind, Present } from '#proto/rows.ts'
import { asText, isTrusted } from './accept.ts'
import type { Field } from './dialect.ts'
import type { Accept, Facts } from './facts.ts'
import { displayText, type Side } from './messages.ts'
import { isPrintedObject } from './python.ts'
import type { Rule } from './rules.ts'
import { textOfLiteral } from './unwrap.ts'
import { insideWrapper } from './wrapped.ts'

/**
 * What a side said. `structure`: the messages themselves, when the text leaves some of them out. `lent`: the same with another structure
 * and origin, for those whose text is not made yet.
 */
export interface Said {
  readonly lent?: (structure: Said['structure'], from: string) => Said
  readonly text: string
  readonly structure: { readonly key: string; readonly json: string } | null
  readonly from: string
  /** True for words of a person or a model, false for calls of tools and bodies of no known shape. */
  readonly words: boolean
}

/** One side of a span, null when it is not there: capture is off by default in many frameworks. */
export function contentOf(facts: Facts, kind: EventKind, side: Side): Said | null {
  return facts.take(contentField(kind, side), contentReader(facts, kind, side))?.value ?? null
}

/** Bits of `present` for sides of a turn that are there, but nobody said. */
export function unsaidBits({ kind }: { readonly kind: EventKind }, input: Said | null, output: Said | null): number {
  if (kind !== 'agent') return 0
  return (input?.words === false ? Present.inputUnsaid : 0) | (output?.words === false ? Present.outputUnsaid : 0)
}

/** The field that holds one side of a span. */
export function contentField(kind: EventKind, side: Side): Field {
  return kind === 'tool' ? `tool_${side}` : side
}

/** How the values of that field are read. */
export function contentReader({ dialects }: Pick<Facts, 'dialects'>, kind: EventKind, side: Side): Accept<Said> {
  if (kind === 'llm' && side === 'input') return asInputOfCall
  if (kind !== 'tool') return side === 'input' ? asInput : asOutput
  return dialects.some(dialect => dialect.wrapsTools === true) ? ofWrappedTool : ofTool
}

const asInput = (value: Value, rule: Rule): Said | null => asWords(value, rule, 'input')
const asInputOfCall = (value: Value, rule: Rule): Said | null => (isOfTurns(rule) ? null : asInput(value, rule))
const asOutput = (value: Value, rule: Rule): Said | null => asWords(value, rule, 'output')

/** True for a place that is not read on model calls. */
export const isOfTurns = ({ source }: Rule): boolean =>
  typeof source === 'object' && 'words' in source && source.ofTurns === true

/** A text as it was sent. */
function asSent(value: Value, rule: Rule): Said | null {
  const text = asText(value, rule)
  return text === null ? null : { text, structure: null, from: rule.label, words: true }
}

/** What a tool took or gave, as it was sent. */
function ofTool(value: Value, rule: Rule): Said | null {
  const schema = typeof rule.source === 'object' && 'values' in rule.source && isSchema(value)
  return schema ? null : asSent(value, rule)
}

/** The same without what the framework wrapped around it; the whole stays in the metadata. */
function ofWrappedTool(value: Value, rule: Rule): Said | null {
  const said = ofTool(value, rule)
  const text = said === null || isTrusted(rule) ? null : insideWrapper(value)
  if (said === null || text === null || text === said.text) return said
  // Of a text in quotes nothing is left out.
  if (text === textOfLiteral(value)) return { ...said, text }
  return { ...said, text, structure: { key: rule.label, json: said.text } }
}

/** The description of a tool's parameters rather than their values. */
function isSchema(value: Value): boolean {
  const object = typeof value === 'string' ? readJsonText(value) : value
  return isObject(object) && (isObject(object.properties) || object.type === 'object')
}

function asWords(value: Value, rule: Rule, side: Side): Said | null {
  const { source } = rule
  if (typeof source === 'object' && 'sent' in source) return asSent(value, rule)
  const whole = asText(value, rule)
  if (whole === null) return null
  const shown = displayText(value, side)
  const text = shown?.text ?? ''
  // Messages without words have nothing to show, nor has a list that holds both sides when this one is missing.
  const strict = typeof source === 'object' && ('words' in source || 'family' in source || 'events' in source)
  if (text === '')
    return strict || shown !== null ? null : { text: whole, structure: null, from: rule.label, words: false }
  const more = whole !== text && !(whole.startsWith('"') && whole === JSON.stringify(text))
  return {
    text,
    structure: more ? { key: structureKey(rule), json: whole } : null,
    from: rule.label,
    words: shown?.words === true && !isPrintedObject(text),
  }
}

/** The metadata key of kept messages: the attribute they stood in, or the family without its dot. */
export function structureKey({ source, label }: Rule): string {
  if (typeof source === 'object' && 'family' in source) return source.family.slice(0, -1)
  if (typeof source === 'object' && 'events' in source) return Object.keys(source.events)[0] as string
  return label
}
