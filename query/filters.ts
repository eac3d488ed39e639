// The filters of a request -> SQL conditions with bound values. A filter is either answered by a row of `events` or by what is known
// about its conversation; names of parameters are fixed, so that conditions of one query never collide.
import type { BaseFilters, MetadataFilter } from '#proto/dashboard/shared.ts'
import { sources } from '#proto/rows.ts'
import type { Parameters } from './reader.ts'
import { saysOneOfSql } from './reads/metadata-values.ts'
import { latest, latestEntryIn, OURS, standing } from './reads/sql.ts'

/** Conditions that are joined by AND, and what their placeholders hold. */
export interface Conditions {
  readonly sql: readonly string[]
  readonly parameters: Parameters
}

/** ` AND a AND b`, or nothing. */
export const andAll = (conditions: readonly string[]): string => conditions.map(sql => `\n    AND (${sql})`).join('')

/** Joins conditions. */
export function allOf(...parts: readonly Conditions[]): Conditions {
  return {
    sql: parts.flatMap(part => part.sql),
    parameters: Object.assign({}, ...parts.map(part => part.parameters)) as Parameters,
  }
}

export const NOTHING: Conditions = { sql: [], parameters: {} }

/** A value or several; an empty list filters nothing. */
export function listOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return []
  return typeof value === 'string' ? [value] : value
}

/** The base filters but for time, as conditions on rows of `events`; `captured` is by key of the metadata filters. */
export function eventConditions(request: BaseFilters, captured?: Captured): Conditions {
  return allOf(
    agentCondition(listOf(request.agent_name)),
    connectionCondition(listOf(request.connection_type), has => has),
    metadataConditions(byKey(request.metadata_filters), has => has, captured),
  )
}

/** Its metadata filters, where nothing else is filtered; none otherwise. */
export function onlyMetadataOf(request: BaseFilters): readonly KeyFilter[] {
  const others = [...listOf(request.agent_name), ...listOf(request.connection_type)]
  return others.length === 0 ? byKey(request.metadata_filters) : []
}

/** Turns of these agents. Holds for a row of `events`. */
export function agentCondition(agents: readonly string[]): Conditions {
  if (agents.length === 0) return NOTHING
  return { sql: [`kind = 'agent' AND name IN {agents:Array(String)}`], parameters: { agents } }
}

/**
 * Conversations whose connection type, as captured last, is one of these; where none was captured, the surface by which a row came is one
 * of these. `own(has)` says how a row is asked.
 */
export function connectionCondition(types: readonly string[], own: (has: string) => string): Conditions {
  if (types.length === 0) return NOTHING
  const captured = `conversation_id IN (
        SELECT conversation_id FROM sessions WHERE ${OURS}
        GROUP BY conversation_id HAVING ${latest('connection_type')} IN {connection_types:Array(String)})`
  const came = `${own('events.source IN {sources:Array(String)}')} AND conversation_id NOT IN (
        SELECT conversation_id FROM sessions WHERE ${OURS} AND connection_type != '')`
  const surfaces = types.filter(type => sources.some(source => source === type))
  if (surfaces.length === 0) return { sql: [captured], parameters: { connection_types: types } }
  return { sql: [`${captured} OR ${came}`], parameters: { connection_types: types, sources: surfaces } }
}

/** One key of metadata_filters with the values that it may have. */
export interface KeyFilter {
  readonly key: string
  readonly values: readonly string[]
}

/** Metadata filters by key: OR between the values of a key, AND between keys. */
export function byKey(filters: readonly MetadataFilter[] | undefined): KeyFilter[] {
  const values = new Map<string, string[]>()
  for (const { key, value } of filters ?? []) values.set(key, [...(values.get(key) ?? []), value])
  return [...values].map(([key, values]) => ({ key, values }))
}

/**
 * Conditions on metadata, one a key: `own(has)` says how the row's own metadata is asked; then the conversation's metadata, then
 * the traits of its user. Of keys for which it is known whose captures say so, captures are not asked.
 */
export function metadataConditions(
  filters: readonly KeyFilter[],
  own: (has: string) => string,
  captured: Captured = [],
): Conditions {
  return allOf(
    ...filters.map(({ key, values }, i) => {
      const known = captured[i] ?? null
      const others =
        known === null ? [inSessions(i)] : known.length === 0 ? [] : [`conversation_id IN {captured_${i}:Array(UUID)}`]
      return {
        sql: [[own(saysOneOf({ key, values }, i)), ...others].join('\n      OR ')],
        parameters: {
          ...boundTo([{ key, values }], i),
          ...(known === null || known.length === 0 ? {} : { [`captured_${i}`]: known }),
        },
      }
    }),
  )
}

/** By filter: the conversations whose captures meet it; null or left out: the store is to look. */
export type Captured = readonly (readonly string[] | null)[]

const inSessions = (i: number): string => `conversation_id IN (${sessionsWith(i)})`

/** The metadata of an event say one of the values under the key; a missing key is no empty value. */
export function saysOneOf({ values }: KeyFilter, i: number): string {
  const isOne = saysOneOfSql(`metadata[{key_${i}:String}]`, `{values_${i}:Array(String)}`)
  // An empty value alone is like a missing key, and to look for the key takes as long as to read its value.
  return values.includes('') ? `mapContains(metadata, {key_${i}:String}) AND ${isOne}` : isOne
}

/** What filters bind, numbered from a place on. */
export const boundTo = (filters: readonly KeyFilter[], from = 0): Parameters =>
  Object.fromEntries(
    filters.flatMap(({ key, values }, i): [string, Parameters[string]][] => [
      [`key_${from + i}`, key],
      [`values_${from + i}`, values],
    ]),
  )

/** Conversations in whose merged captures a key has one of the values. */
export function sessionsWith(i: number): string {
  const key = `{key_${i}:String}`
  const values = `{values_${i}:Array(String)}`
  return `
        SELECT conversation_id FROM sessions
        WHERE ${OURS} AND (mapContains(metadata, ${key}) OR mapContains(user_data, ${key}))
          AND ${standing()}
        GROUP BY conversation_id
        HAVING ${latestEntryIn('metadata', key, values)} OR ${latestEntryIn('user_data', key, values)}`
}
