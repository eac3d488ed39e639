// Tokens and cost of a span. What is reported is read here; whether it counts is decided for a batch in sums.ts.

import { isObject, readJsonText } from '#proto/json.ts'
import type { Value } from '#proto/otlp/span.ts'
import { nanoDollarsOf, tokensOf } from '../amounts.ts'
import type { Usage } from '../rows.ts'
import type { CacheRule, Dialect, Field } from './dialect.ts'
import type { Facts, Found } from './facts.ts'

export const asTokens = (value: Value): number | null => tokensOf(value)
export const asDollars = (value: Value): number | null => nanoDollarsOf(value)

/** What a span reports, and the fields it took it from. */
export interface Reported {
  readonly usage: Usage
  readonly fields: readonly Field[]
}

/** The usage that a span reports, null when it reports none. */
export function reportedBy(facts: Facts, model: string): Reported | null {
  const fields: Field[] = []
  const read = (field: Field): Found<number> | null => {
    const found = facts.find(field, field === 'cost' ? asDollars : asTokens)
    if (found !== null) fields.push(field)
    return found
  }
  const input = read('input_tokens')
  const output = read('output_tokens')
  const cacheRead = read('cache_read_tokens')?.value ?? null
  const cacheWrite = read('cache_write_tokens')?.value ?? null
  const reasoning = read('reasoning_tokens')?.value ?? null
  const cost = costOf(facts, read)
  if (fields.length === 0) return null
  const sent: Usage = {
    inputTokens: input?.value ?? null,
    outputTokens: output?.value ?? null,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    reasoningTokens: reasoning,
    costNanos: cost,
  }
  return { usage: wholeUsage(sent, conventionOf(facts, input, output, model)), fields }
}

/** By which convention counts were sent; the same for all spans whose counts stand in the same places. */
export interface CountingConvention {
  /** Cached tokens are not among the input, however few they are. */
  readonly cacheApart: boolean
  /** Reasoning is not among the output. */
  readonly thinksApart: boolean
}

/** The convention of the places where input and output were found. */
export function conventionOf(
  facts: Facts,
  input: Found<number> | null,
  output: Found<number> | null,
  model: string,
): CountingConvention {
  const apart = beyondTotal(facts, input, output)
  return {
    cacheApart: input !== null && excludesCache(facts, input, model, apart),
    thinksApart: output !== null && isApart(output.rule.dialect?.outputExcludesReasoning, apart),
  }
}

/** Counts as they were sent -> with the parts that belong to them. */
export function wholeUsage(sent: Usage, { cacheApart, thinksApart }: CountingConvention): Usage {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens, costNanos } = sent
  const cached = (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0)
  return {
    // Read as tokens again: the sum of two counts may be more than a count can be. More cached tokens than input cannot be among it.
    inputTokens:
      inputTokens === null ? null : tokensOf(inputTokens + (cacheApart || cached > inputTokens ? cached : 0)),
    outputTokens: outputTokens === null ? null : tokensOf(outputTokens + (thinksApart ? (reasoningTokens ?? 0) : 0)),
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens:
      reasoningTokens === null || outputTokens === null || thinksApart
        ? reasoningTokens
        : Math.min(reasoningTokens, outputTokens),
    costNanos,
  }
}

/** Marks the attributes of counted usage as used up: what does not count stays in the metadata. */
export function useReported(facts: Facts, reported: Reported): void {
  for (const field of reported.fields) facts.take(field, field === 'cost' ? asDollars : asTokens)
}

/** The cost of a span in billionths of a dollar: the explicit one. The only place that decides it. */
function costOf(_facts: Facts, read: (field: Field) => Found<number> | null): number | null {
  return read('cost')?.value ?? null
}

/** Models by their makers' own names, as Anthropic and Bedrock have them. */
const nativeAnthropic = /^(?:claude|anthropic\.|us\.|eu\.|apac\.|global\.)/

/**
 * By convention cached tokens are part of the input. They are not where the framework says so, and where the parts add up to the total
 * only with them.
 */
function excludesCache(facts: Facts, input: Found<number>, model: string, apart: boolean): boolean {
  if (isApart(input.rule.dialect?.inputExcludesCache, apart)) return true
  const passed = (dialect: Dialect): boolean => dialect.inputExcludesCache === 'anthropic models'
  return facts.dialects.some(passed) && nativeAnthropic.test(model) && !model.includes('/')
}

function isApart(rule: CacheRule | undefined, apart: boolean): boolean {
  return rule === 'always' || (rule === 'by total' && apart)
}

/** True when input and output alone fall short of the total reported beside them, or when none is reported. */
function beyondTotal(facts: Facts, input: Found<number> | null, output: Found<number> | null): boolean {
  const source = input?.rule.source ?? output?.rule.source
  if (typeof source !== 'object' || !('json' in source)) return false
  // Names of OpenAI's own bodies are passed through, where cached tokens are part of the prompt's.
  if (/prompt/i.test(source.path)) return false
  const held = facts.attributes.get(source.json) ?? null
  const object = typeof held === 'string' ? readJsonText(held) : held
  const total = isObject(object) && Object.hasOwn(object, 'total') ? tokensOf(object.total) : null
  return total === null || (input?.value ?? 0) + (output?.value ?? 0) < total
}
