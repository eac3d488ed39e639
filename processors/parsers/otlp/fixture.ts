// For tests of spans: a request is parsed from both encodings, which must give the same rows.
import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import { jsonBytes, protobufBytes, request, span } from '#proto/otlp/fixture.ts'
import type { EventRow } from '#proto/rows.ts'
import type { Unit } from '../../outcome.ts'
import { context, unitsOf } from '../fixture.ts'
import { parseTraces } from '../otlp.ts'

/** The units of a request. */
export function parse(t: Test, body: Parameters<typeof jsonBytes>[0]): readonly Unit[] {
  const units = unitsOf(parseTraces(jsonBytes(body), 'json', context))
  const others = unitsOf(parseTraces(protobufBytes(body), 'protobuf', context))
  // Compared first without words: a difference is put into words by comparing again, which takes long for long texts.
  if (!isDeepStrictEqual(others, units)) t.same(others, units, 'both encodings give the same rows')
  return units
}

/** The row of one span with these attributes. */
export function row(t: Test, values: Record<string, unknown>, fields: object = {}): EventRow {
  return parse(t, request([span(1, 1, { ...fields }, values)]))[0]?.events[0] as EventRow
}

/** What was said in that span beyond its input and output. */
export function contentOf(t: Test, values: Record<string, unknown>, fields: object = {}): Record<string, string> {
  return parse(t, request([span(1, 1, { ...fields }, values)]))[0]?.texts[0]?.content ?? {}
}

/** Fields of a span that is no root. */
export const child = { parentSpanId: '00000000000000ff' }

/** Attributes. */
export type Values = Record<string, unknown>

/** A span by number, with the number of its parent (0 = a root). */
export const at = (id: number, parent: number, name: string, values: Values, fields: object = {}) =>
  span(
    1,
    id,
    { name, ...(parent === 0 ? {} : { parentSpanId: parent.toString(16).padStart(16, '0') }), ...fields },
    values,
  )

/** The rows of spans of one scope. */
export const rowsOf = (t: Test, spans: readonly object[], scope = 'shop'): EventRow[] =>
  parse(t, request(spans as never, {}, { name: scope })).map(unit => unit.events[0] as EventRow)

/** What all events of these spans add up to: input, output, cached, written, reasoning. */
export function sumOf(rows: readonly EventRow[]): number[] {
  const columns = [
    'input_tokens',
    'output_tokens',
    'cache_read_tokens',
    'cache_write_tokens',
    'reasoning_tokens',
  ] as const
  return columns.map(column => rows.reduce((sum, row) => sum + row[column], 0))
}

/** Usage by the conventions. */
export const gen = (input: number, output: number, more: Values = {}): Values => ({
  'gen_ai.usage.input_tokens': input,
  'gen_ai.usage.output_tokens': output,
  ...more,
})
/** The operation by the conventions. */
export const op = (name: string): Values => ({ 'gen_ai.operation.name': name })

/** What a case says about a span. */
export interface Given {
  readonly scope?: string
  readonly name?: string
  readonly values?: Record<string, unknown>
  readonly fields?: object
  readonly root?: true
}

/** The row of one span, by what its case says about it. */
export function given(t: Test, { scope = 'shop', name = 'span', values = {}, fields = {}, root }: Given): EventRow {
  const parent = root === true ? {} : { parentSpanId: '00000000000000ff' }
  const [unit] = parse(t, request([span(1, 1, { name, ...parent, ...fields }, values)], {}, { name: scope }))
  return unit?.events[0] as EventRow
}
