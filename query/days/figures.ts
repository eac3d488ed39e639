// Figures of a window and of the one before it from kept days: whole days from memory, the ragged ones from rows that are kept or read.

import { bucketMs } from '../latency.ts'
import type { Reader } from '../reader.ts'
import type { DaySums, Distinct } from '../reads/metrics.ts'
import { RAGGED_DAYS, SPLIT_RAGGED_DAYS } from '../reads/sql.ts'
import { parametersOfBoth, type Window } from '../window.ts'
import { type AskedEdge, type EdgeRows, edgesOf, figuresWithin } from './edges.ts'
import type { KeptDays } from './kept.ts'
import { levelsOf } from './levels.ts'
import { asOfNow, type Kind, type OrganizationDays, type Refresh } from './organization.ts'
import { type Figures, numbersOf, type PairsRow } from './rows.ts'
import { withBytes } from './scratch.ts'
import { sent } from './sent.ts'
import { BEFORE, raggedSql } from './sql.ts'

/** The same as `readDaySums`, `readDistinct` and `readP95` answer. */
export interface WindowFigures {
  readonly sums: readonly DaySums[]
  readonly counts: readonly Distinct[]
  readonly p95: number | null
}

/** A window and the one before it, as one; days between `first` and `last` are whole but for `split`. */
export interface Days {
  readonly parameters: Readonly<Record<string, string>>
  readonly first: string
  readonly last: string
  readonly split: string | undefined
}

/** The days of both. */
export function daysOf(window: Window, before: Window | null): Days {
  const { parameters } = window
  if (before === null) return { parameters, first: parameters.from_day, last: parameters.to_day, split: undefined }
  const both = parametersOfBoth(window, before)
  return { parameters: both, first: both.from_day as string, last: both.to_day as string, split: both.split_day }
}

/** What is counted. */
export interface AskedFigures {
  readonly organization: string
  readonly window: Window
  readonly before: Window | null
  /** What other parts of the request will ask of kept days. */
  readonly beside?: readonly Kind[] | undefined
}

/** Figures of windows whose days are those of UTC, of all events. Null: they are not kept. */
export function readKeptFigures(
  kept: KeptDays,
  reader: Reader,
  { organization, window, before, beside }: AskedFigures,
): Promise<WindowFigures | null> {
  const days = daysOf(window, before)
  const windows = before === null ? [window] : [window, before]
  const isWhole = (day: string): boolean => day > days.first && day < days.last && day !== days.split
  const work = async (memory: OrganizationDays, asked: Refresh): Promise<WindowFigures | null> => {
    const edges = windows.flatMap(of => edgesOf(of).map(edge => ({ edge, current: of === window })))
    const dates = [...new Set(edges.map(({ edge }) => edge.day))]
    const inMemory = memory.keepsRowsOf(dates, asked.maxBytes)
    // The edges first: whoever is named there is in memory afterwards, unless he was taken away meanwhile.
    const ragged = inMemory ? null : await readRagged(reader, days)
    const refreshed = await memory.refresh(reader, inMemory ? { ...asked, edges: dates } : asOfNow(memory, asked))
    if (refreshed !== 'done') return null
    await sent()
    const whole = [...memory.days()].filter(isWhole)
    const isCurrent = (day: string): boolean => days.split === undefined || day > days.split
    const parts: Part[] = [
      ...whole.map(day => ({
        day,
        current: isCurrent(day),
        conversations: memory.conversationsOf(day),
        figures: memory.figuresOf(day),
      })),
      ...(ragged?.(memory) ?? edges.map(of => partWithin(memory, memory.rowsOf(of.edge.day), of))),
    ]
    return {
      sums: sumsOf(parts),
      counts: windows.flatMap(of => distinctOf(memory, parts, of === window)),
      p95: percentileOf(parts.filter(({ current }) => current)),
    }
  }
  return kept.with({ organization, reader }, ['figures'], work, beside)
}

/** What a window holds of a day that it does not hold whole, from rows that are kept. */
export function partWithin(
  memory: OrganizationDays,
  rows: readonly EdgeRows[],
  { edge, current }: { readonly edge: AskedEdge; readonly current: boolean },
): Part {
  const { conversations, ...figures } = figuresWithin(rows, edge, memory.ids.size())
  return { day: edge.day, current, conversations, figures }
}

/** The same, read from rows. */
async function readRagged(
  reader: Reader,
  { parameters, split }: Days,
): Promise<(memory: OrganizationDays) => readonly Part[]> {
  const sql = raggedSql(
    split === undefined ? RAGGED_DAYS : SPLIT_RAGGED_DAYS,
    split === undefined ? '1' : "ts >= {split:DateTime64(9, 'UTC')}",
  )
  const [pairs, figures] = await Promise.all([
    reader.read<PairsRow>('ragged_conversations', sql.conversations, parameters),
    reader.read<Figures>('ragged_figures', sql.figures, parameters),
  ])
  return memory =>
    pairs.map(row => ({
      day: row.key.slice(0, 10),
      current: !row.key.endsWith(BEFORE),
      conversations: numbersOf(memory.ids, row.ids),
      figures: figures.find(({ key }) => key === row.key),
    }))
}

/** What a window holds of a day. */
export interface Part {
  readonly day: string
  readonly current: boolean
  readonly conversations: Uint32Array
  readonly figures: Figures | undefined
}

const flag = (current: boolean): 0 | 1 => (current ? 1 : 0)

/** Sums by day, oldest first; days without events are absent. */
export function sumsOf(parts: readonly Part[]): DaySums[] {
  const days = parts.flatMap(({ day, current, figures }) =>
    figures === undefined || figures.events <= 0
      ? []
      : [
          {
            ...{ day, current: flag(current), events: figures.events, errors: figures.errors },
            ...{ timed: String(figures.timed), us: String(figures.us) },
          },
        ],
  )
  return days.sort((a, b) => (a.day < b.day ? -1 : 1))
}

/** By day and for the whole window: each conversation and each known user once. */
export const distinctOf = (memory: OrganizationDays, all: readonly Part[], current: boolean): Distinct[] =>
  withBytes(memory.ids.size(), ever => countDistinct(memory, all, { current, ever }))

/** `ever`: marks of conversations. */
function countDistinct(
  memory: OrganizationDays,
  all: readonly Part[],
  { current, ever }: { readonly current: boolean; readonly ever: Uint8Array },
): Distinct[] {
  const parts = all.filter(part => part.current === current && part.conversations.length > 0)
  const usersEver = new Uint8Array(memory.users.size())
  const usersOfDay = new Uint32Array(memory.users.size())
  const { users: owners } = memory.settled()
  const whole = { conversations: 0, users: 0 }
  const counts = parts.map(({ day, conversations }, i): Distinct => {
    let known = 0
    for (const conversation of conversations) {
      if (ever[conversation] === 0) {
        ever[conversation] = 1
        whole.conversations++
      }
      const user = owners[conversation] ?? 0
      if (user === 0 || usersOfDay[user] === i + 1) continue
      usersOfDay[user] = i + 1
      known++
      if (usersEver[user] === 1) continue
      usersEver[user] = 1
      whole.users++
    }
    return { current: flag(current), day, whole: 0, conversations: conversations.length, users: known }
  })
  return [...counts, { current: flag(current), day: '', whole: 1, ...whole }]
}

/** The latency that 95 % of what was timed do not exceed, in milliseconds; null where nothing was. */
export function percentileOf(parts: readonly Part[]): number | null {
  const [bucket] = levelsOf(
    parts.flatMap(({ figures }) => figures ?? []),
    [0.95],
  )
  return bucketMs(bucket ?? null)
}
