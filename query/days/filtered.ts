// Figures of the events that metadata filters let through, of a window and of the one before it, from kept days: what events say and
// what captures say of the keys are kept apart, so that an event counts when either says one of the values of each.

import type { KeyFilter } from '../filters.ts'
import type { Reader } from '../reader.ts'
import {
  type AskedFigures,
  distinctOf,
  type Part,
  partWithin,
  percentileOf,
  sumsOf,
  type WindowFigures,
} from './figures.ts'
import { kindsOf } from './filter.ts'
import { createHistogram } from './histogram.ts'
import type { KeptDays } from './kept.ts'
import type { OrganizationDays, Refresh } from './organization.ts'
import { type PassingDay, readPassing } from './passing.ts'
import { bucketOf, hasFailed } from './said.ts'
import { withWords } from './scratch.ts'
import { sent } from './sent.ts'

/** What is counted. */
export interface AskedFiltered extends AskedFigures {
  readonly filters: readonly KeyFilter[]
}

/** Figures of windows whose days are those of UTC. Null: what they need is not kept. */
export async function readFilteredFigures(
  kept: KeptDays,
  reader: Reader,
  { organization, window, before, filters, beside }: AskedFiltered,
): Promise<WindowFigures | null> {
  const kinds = kindsOf(filters)
  if (kinds === null) return null
  const work = async (memory: OrganizationDays, asked: Refresh): Promise<WindowFigures | null> => {
    const passing = await readPassing(reader, memory, { asked, filters, window, before })
    if (passing === null) return null
    await sent()
    const days = withWords(memory.ids.size(), seen => {
      const gather = createGatherer(seen)
      return passing.days.map((day): Part => ({ day: day.day, current: day.current, ...gather(day) }))
    })
    const counted = [...days, ...passing.edges.map(({ rows, ...of }) => partWithin(memory, rows, of))]
    const both = before === null ? [true] : [true, false]
    return {
      sums: sumsOf(counted),
      counts: both.flatMap(current => distinctOf(memory, counted, current)),
      p95: percentileOf(counted.filter(({ current }) => current)),
    }
  }
  return kept.with({ organization, reader }, ['figures', kinds.events, ...kinds.captures], work, beside)
}

/** Puts together what groups of a day come to, one day after the other. `seen`: by conversation, on the how many-th of them last. */
function createGatherer(seen: Uint32Array) {
  const histogram = createHistogram()
  let turn = 0
  return ({ day, said, passes }: PassingDay): Pick<Part, 'conversations' | 'figures'> => {
    turn++
    const found: number[] = []
    const sum = { events: 0, errors: 0, timed: 0, us: 0 }
    const add = (entries: Uint16Array, from: number, to: number): void => {
      for (let at = from; at < to; at++) {
        const entry = entries[at] as number
        const bucket = bucketOf(entry)
        sum.events++
        if (hasFailed(entry)) sum.errors++
        if (bucket >= 0) sum.timed++
        histogram.add(bucket)
      }
    }
    const { conversations, entries, callEntries, callUs } = said
    let [end, callsEnd] = [0, 0]
    for (let i = 0; i < conversations.length; i++) {
      const [from, callsFrom] = [end, callsEnd]
      end += said.counts[i] as number
      callsEnd += said.callCounts[i] as number
      const conversation = conversations[i] as number
      if (!passes(conversation, said.said[i] as number)) continue
      if (seen[conversation] !== turn) found.push(conversation)
      seen[conversation] = turn
      sum.us += said.us[i] as number
      add(entries, from, end)
      add(callEntries, callsFrom, callsEnd)
      for (let at = callsFrom; at < callsEnd; at++) sum.us += callUs[at] as number
    }
    const figures = { key: day, version: '', ...sum, ...histogram.take() }
    return { conversations: Uint32Array.from(found), figures }
  }
}
