// Figures of the events that one metadata filter lets through, of a window and of the one before it, from kept days: what events say and
// what captures say of the key are kept apart, so that an event counts when either says one of the values.

import type { KeyFilter } from '../filters.ts'
import type { Reader } from '../reader.ts'
import { RAGGED_DAYS, SPLIT_RAGGED_DAYS } from '../reads/sql.ts'
import type { Window } from '../window.ts'
import { daysOf, distinctOf, type Part, percentileOf, sumsOf, type WindowFigures } from './figures.ts'
import { capturedOneOf, kindsOf } from './filter.ts'
import type { KeptDays } from './kept.ts'
import { bucketOf, hasFailed, type Said, type SaidRow, saidOf } from './said.ts'
import { BEFORE, raggedSql } from './sql.ts'
import { createUsers } from './users.ts'

/** What is counted. */
export interface AskedFiltered {
  readonly organization: string
  readonly window: Window
  readonly before: Window | null
  readonly filter: KeyFilter
}

/** Figures of windows whose days are those of UTC. Null: what they need is not kept. */
export function readFilteredFigures(
  kept: KeptDays,
  reader: Reader,
  { organization, window, before, filter }: AskedFiltered,
): Promise<WindowFigures | null> {
  const days = daysOf(window, before)
  const isWhole = (day: string): boolean => day > days.first && day < days.last && day !== days.split
  const isCurrent = (day: string): boolean => days.split === undefined || day > days.split
  const { events, captures } = kindsOf(filter.key)
  return kept.with(organization, ['figures', events, ...captures], async (memory, asked) => {
    // The edges first, as with all figures.
    const { said: sql } = raggedSql(
      before === null ? RAGGED_DAYS : SPLIT_RAGGED_DAYS,
      before === null ? '1' : "ts >= {split:DateTime64(9, 'UTC')}",
    )
    const parameters = { ...days.parameters, key_0: filter.key, values_0: filter.values }
    const edges = await reader.read<SaidRow>('ragged_said', sql, parameters)
    if ((await memory.refresh(reader, asked)) !== 'done') return null
    const column = memory.saidOf(events)
    const captured = capturedOneOf(memory, filter)
    const wanted = column.numbersOf(filter.values)
    const atEdges = createUsers()
    const whole = [...column.days].filter(([day]) => isWhole(day))
    // What an edge says is one of the values, or is not.
    const parts = [
      ...whole.map(([day, said]) => ({ day, current: isCurrent(day), said, wanted })),
      ...edges.map(row => ({
        ...{ day: row.key.slice(0, 10), current: !row.key.endsWith(BEFORE) },
        ...{ said: saidOf(memory.ids, atEdges, row), wanted: OF_EDGES },
      })),
    ]
    const gather = createGatherer(memory.ids.size())
    const counted = parts.map(({ day, current, said, wanted }): Part => {
      const passes = (conversation: number, value: number): boolean => wanted.has(value) || captured(conversation)
      return { day, current, ...gather(day, said, passes) }
    })
    const both = before === null ? [true] : [true, false]
    return {
      sums: sumsOf(counted),
      counts: both.flatMap(current => distinctOf(memory, counted, current)),
      p95: percentileOf(counted.filter(({ current }) => current)),
    }
  })
}

/** The first text that is not empty is the only one. */
const OF_EDGES: ReadonlySet<number> = new Set([1])

/** Buckets are 16-bit numbers with a sign; -1 is the first entry. */
const BUCKETS = 32_769

/** Puts together what groups of a day come to. Its arrays serve one day after the other. */
function createGatherer(conversationsMax: number) {
  const seen = new Uint32Array(conversationsMax)
  const histogram = new Uint32Array(BUCKETS)
  let turn = 0
  return (
    day: string,
    { conversations, said, us, ends, entries }: Said,
    passes: (conversation: number, said: number) => boolean,
  ): Pick<Part, 'conversations' | 'figures'> => {
    turn++
    const found: number[] = []
    const sum = { events: 0, errors: 0, timed: 0, us: 0 }
    for (let i = 0; i < conversations.length; i++) {
      const conversation = conversations[i] as number
      if (!passes(conversation, said[i] as number)) continue
      if (seen[conversation] !== turn) found.push(conversation)
      seen[conversation] = turn
      sum.us += us[i] as number
      const end = ends[i] as number
      for (let at = i === 0 ? 0 : (ends[i - 1] as number); at < end; at++) {
        const entry = entries[at] as number
        const bucket = bucketOf(entry)
        sum.events++
        if (hasFailed(entry)) sum.errors++
        if (bucket >= 0) sum.timed++
        ;(histogram[bucket + 1] as number)++
      }
    }
    const figures = { key: day, version: '', ...sum, ...takeBuckets(histogram) }
    return { conversations: Uint32Array.from(found), figures }
  }
}

/** The buckets that any event has, and how many; empties them. */
function takeBuckets(histogram: Uint32Array): { buckets: number[]; counts: number[] } {
  const buckets: number[] = []
  const counts: number[] = []
  for (let i = 0; i < histogram.length; i++) {
    const count = histogram[i] as number
    if (count === 0) continue
    buckets.push(i - 1)
    counts.push(count)
    histogram[i] = 0
  }
  return { buckets, counts }
}
