// Why is this field what it is, or empty? The same reading that makes rows, with a note of every place it looked at.
import type { Span, Value } from '#proto/otlp/span.ts'
import { type EventRow, Present } from '#proto/rows.ts'
import type { FrameContext } from '../../outcome.ts'
import { costWords } from '../cost.ts'
import { cut } from '../explained-row.ts'
import { MASK, maskText } from '../secrets.ts'
import { isNobody, isPlaceholder, textOfValue } from './accept.ts'
import { settle } from './batch.ts'
import type { Field } from './dialect.ts'
import type { Considered } from './facts.ts'
import { isContent, type KeyFacts } from './keys.ts'
import { frameworks } from './model.ts'
import type { Counting, SpanReading } from './reading.ts'
import { type Rule, rules, type Step } from './rules.ts'
import { readSpan, rowsOf, type SpanRows } from './unit.ts'

/** A place that was looked at. Values are masked and cut. */
export interface ExplainedPlace {
  /** The attribute, or how the place is written in the conventions' table. */
  readonly attribute: string
  /** Whose key it is; `organization` for a rule of the organization. */
  readonly dialect: string
  readonly step: Step
  readonly value: string
}

/** A field of an event. */
export interface ExplainedField {
  readonly field: string
  /** As it is stored, cut; '' when the field is empty. */
  readonly value: string
  /** The place it was taken from; null when it comes from nowhere or from what `because` says. */
  readonly from: ExplainedPlace | null
  /** A sentence where no attribute gave the field; '' when one did. */
  readonly because: string
  /** Places that held something and were passed over. */
  readonly ignored: readonly (ExplainedPlace & { readonly why: string })[]
  /** Where the field was looked for in vain, in order; only when no attribute gave it. */
  readonly looked: readonly { readonly attribute: string; readonly dialect: string }[]
}

/** An attribute of the span, and what it became. */
export interface ExplainedAttribute {
  readonly attribute: string
  /** `field model`, `metadata`, `metadata, masked`, `content`, `left out: repeats what is stored`. */
  readonly became: string
}

/** A span, explained. */
export interface ExplainedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly spanName: string
  readonly eventId: string
  /** Dialects that the span's scope, name or attributes tell. */
  readonly dialects: readonly string[]
  readonly fields: readonly ExplainedField[]
  readonly attributes: readonly ExplainedAttribute[]
}

/** Explains the spans of one request, whose neighbours decide as they do when rows are made. Rules stand in `context.rules`. */
export function explainSpans(spans: readonly Span[], context: FrameContext): readonly ExplainedSpan[] {
  const looks = spans.map((): Considered[] => [])
  const readings = spans.map((span, i) => readSpan(span, context, looks[i] as Considered[]))
  settle(readings)
  return readings.map((reading, i) => explained(reading, rowsOf(reading, context), looks[i] as Considered[]))
}

/** Explains one span as if it had come alone. */
export function explainSpan(span: Span, context: FrameContext): ExplainedSpan {
  return explainSpans([span], context)[0] as ExplainedSpan
}

function explained(reading: SpanReading, rows: SpanRows, considered: readonly Considered[]): ExplainedSpan {
  const { span, dialects } = reading.facts
  const looked = byField(considered)
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    spanName: span.name,
    eventId: rows.event.event_id,
    dialects: dialects.map(dialect => dialect.name),
    fields: columns.map(column => fieldOf(column, reading, rows.event, looked)),
    attributes: attributesOf(reading, rows, looked),
  }
}

/** The places of each field, each once: some fields are asked for twice. */
function byField(considered: readonly Considered[]): ReadonlyMap<Field, readonly Considered[]> {
  const fields = new Map<Field, Considered[]>()
  for (const look of considered) {
    const looks = fields.get(look.rule.field) ?? []
    if (!looks.some(({ rule }) => rule === look.rule)) fields.set(look.rule.field, [...looks, look])
  }
  return fields
}

// ---- fields ------------------------------------------------------------------------------------------------------------

/** A column of the row, the field behind it, and what its value is when no attribute gave it. */
interface Column {
  readonly name: string
  readonly field: (reading: SpanReading) => Field
  readonly value: (row: EventRow) => string
  readonly because: (reading: SpanReading, row: EventRow) => string
}

const counted = (count: number, present: boolean): string => (present ? String(count) : '')

function amount(name: Field, bit: number, value: (row: EventRow) => number): Column {
  return {
    name,
    field: () => name,
    value: row => counted(value(row), (row.present & bit) !== 0),
    because: ({ counting }) => countingWords[counting],
  }
}

const countingWords: Readonly<Record<Counting, string>> = {
  none: '',
  counted: '',
  own: '',
  'repeated below': 'a span below this one counts it',
  'repeated always': 'its framework repeats here what the model calls below it report',
  'a step': 'a step repeats what the call it belongs to reports',
  'same call': 'the span that stands for the same call counts it',
}

function side(name: 'input' | 'output'): Column {
  return {
    name,
    field: ({ kind }) => (kind.type === 'tool' ? `tool_${name}` : name),
    value: row => row[`${name}_preview`],
    because: ({ lent }) => {
      const from = lent[name]
      return from === null ? '' : `taken from ${from.said.from} of the span ${from.spanId}`
    },
  }
}

const columns: readonly Column[] = [
  { name: 'kind', field: () => 'kind', value: row => row.kind, because: ({ kind }) => kind.by },
  {
    name: 'name',
    field: ({ kind }) => (kind.type === 'tool' ? 'tool_name' : kind.kind === 'llm' ? 'model' : 'agent_name'),
    value: row => row.name,
    because: () => 'the span name',
  },
  {
    name: 'session_id',
    field: () => 'session_id',
    value: row => row.session_id || row.conversation_id,
    because: () => 'the trace id: nothing names a session',
  },
  { name: 'user_id', field: () => 'user_id', value: row => row.user_id, because: () => '' },
  {
    name: 'user_email',
    field: () => 'user_email',
    value: () => '',
    because: () => '',
  },
  { name: 'model', field: () => 'model', value: row => row.model, because: () => '' },
  {
    name: 'provider',
    field: () => 'provider',
    value: row => row.provider,
    because: (_, row) => (row.provider === '' ? '' : 'the beginning of the model'),
  },
  amount('input_tokens', 4, row => row.input_tokens),
  amount('output_tokens', 8, row => row.output_tokens),
  amount('cache_read_tokens', 32, row => row.cache_read_tokens),
  amount('cache_write_tokens', 64, row => row.cache_write_tokens),
  amount('reasoning_tokens', 128, row => row.reasoning_tokens),
  {
    name: 'cost',
    field: () => 'cost',
    value: row => counted(row.cost_nanos / 1e9, (row.present & Present.cost) !== 0),
    because: ({ counting }, row) => costWords(row) || countingWords[counting],
  },
  side('input'),
  side('output'),
  {
    name: 'failed',
    field: () => 'error_type',
    value: row => (row.failed === 1 ? 'true' : 'false'),
    because: ({ failure }) => (failure === null ? 'no sign of a failure' : failure.by),
  },
  { name: 'error_type', field: () => 'error_type', value: row => row.error_type, because: () => '' },
  {
    name: 'error_message',
    field: () => 'error_message',
    value: row => row.error_message,
    because: ({ facts }) => (facts.span.statusMessage === '' ? '' : 'the message of the status'),
  },
]

function fieldOf(
  column: Column,
  reading: SpanReading,
  row: EventRow,
  looked: ReadonlyMap<Field, readonly Considered[]>,
): ExplainedField {
  const field = column.field(reading)
  const looks = column.name === 'failed' ? [] : (looked.get(field) ?? [])
  const winner = looks.find(look => look.taken)
  const email = column.name === 'user_email' && winner !== undefined ? textOfValue(winner.value) : ''
  const value = cut(email || column.value(row))
  const because = column.because(reading, row)
  // Usage that does not count was found and then passed over.
  const overruled = winner !== undefined && value === ''
  const took = winner !== undefined && !overruled
  const ignored = looks.filter(look => look !== winner || overruled)
  return {
    field: column.name,
    value,
    from: took ? placeOf(winner) : null,
    because: took ? '' : because,
    ignored: ignored.map(look => ({ ...placeOf(look), why: look === winner ? because : whyNot(look, winner) })),
    looked: winner === undefined && column.name !== 'failed' ? placesOf(field, reading) : [],
  }
}

/** The places that are read for a field of this span. */
function placesOf(field: Field, { facts }: SpanReading): { attribute: string; dialect: string }[] {
  const read = (rule: Rule): boolean => rule.step !== 'own' || facts.dialects.some(dialect => dialect === rule.dialect)
  return rules[field].filter(read).map(rule => ({ attribute: rule.label, dialect: nameOf(rule) }))
}

function placeOf({ rule, value }: Considered): ExplainedPlace {
  const shown = typeof value === 'string' ? maskText(value) : textOfValue(value)
  return { attribute: rule.label, dialect: nameOf(rule), step: rule.step, value: cut(shown) }
}

function nameOf(rule: Rule): string {
  return rule.dialect?.name ?? 'organization'
}

function whyNot({ rule, value, accepted }: Considered, winner: Considered | undefined): string {
  if (accepted) return `comes after ${winner?.rule.label ?? 'another place'}`
  const text = textOfValue(value)
  if (text.trim() === '') return 'is empty'
  if (isPlaceholder(text)) return 'says that there is no value'
  if (rule.field === 'kind') return `is no kind that ${nameOf(rule)} knows`
  if (rule.field === 'session_id' || rule.field === 'user_id') {
    return isNobody(text) ? 'identifies nobody: a framework fills it in' : 'is neither text nor number'
  }
  if (rule.field === 'provider' && frameworks.has(text.toLowerCase()))
    return 'names a framework, not the maker of the model'
  if (/tokens|cost/.test(rule.field)) return 'is no amount'
  return rule.field.endsWith('put') ? 'holds no words of this side' : 'is no text'
}

// ---- attributes --------------------------------------------------------------------------------------------------------

function attributesOf(
  { facts }: SpanReading,
  { event, texts, kept }: SpanRows,
  looked: ReadonlyMap<Field, readonly Considered[]>,
): ExplainedAttribute[] {
  const fields = new Map<string, string[]>()
  for (const [field, looks] of looked) {
    const key = looks.find(look => look.taken)?.rule.key ?? ''
    if (key !== '') fields.set(key, [...(fields.get(key) ?? []), field])
  }
  const omitted = new Set(kept.omitted)
  const content = texts[0]?.content ?? {}
  let i = 0
  return [...facts.attributes].map(([attribute, value]) => {
    const known = facts.keys[i++] as KeyFacts
    const parts = (fields.get(attribute) ?? []).map(field => `field ${field}`)
    if (omitted.has(attribute)) parts.push('left out: repeats what is stored')
    else if (facts.used.has(attribute)) parts.push(...(parts.length === 0 ? ['part of a field'] : []))
    else if (isContent(known, facts.dialects)) parts.push(`content${maskedWord(content[attribute], value)}`)
    else parts.push(metadataOf(attribute, known.carried, value, event))
    return { attribute, became: parts.join(', ') }
  })
}

function metadataOf(attribute: string, carried: string | null, value: Value, event: EventRow): string {
  const key = Object.hasOwn(event.metadata, attribute) || carried === null ? attribute : carried
  return `metadata${key === attribute ? '' : ` ${key}`}${maskedWord(event.metadata[key], value)}`
}

const maskedWord = (kept: string | undefined, value: Value): string =>
  kept === MASK && value !== MASK ? ', masked' : ''
