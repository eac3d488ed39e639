// Rows of the days that windows begin and end on, as flat arrays: what a window holds of such a day is summed up here and not read again.
// Windows of a dashboard begin on the same few days from midnight to midnight.
import { NIL_UUID } from '#proto/ids.ts'
import type { Window } from '../window.ts'
import { dayNumber, timeOf } from './activity.ts'
import { createHistogram } from './histogram.ts'
import type { Ids } from './ids.ts'
import { type Numbers, narrowed } from './narrow.ts'
import { keepRecent } from './recent.ts'
import { type Figures, numbersOf, type ToolDay, type Versioned, versionOf } from './rows.ts'
import { withBytes } from './scratch.ts'
import type { Users } from './users.ts'

const DAY_MS = 86_400_000
const NANOS = 1_000_000
/** Days at most; the one that was not asked for the longest time goes. */
const DAYS_MAX = 16
/** Of one row. */
const ROW_BYTES = 29
/** More rows than this are read for each question: one answer of the store holds all of a day. */
const ROWS_MAX = 500_000

/** Rows of one tool, or of what is of none; without those that were taken back. */
export interface EdgeRows extends Pick<ToolDay, 'name'> {
  readonly kind: ToolDay['kind'] | ''
  readonly conversations: Uint32Array
  /** Nanoseconds of the day. */
  readonly instants: Float64Array
  /** How many alike stand there. */
  readonly counts: Uint32Array
  /** Whole microseconds; below 0: not timed. */
  readonly micros: Float64Array
  readonly buckets: Int16Array
  readonly failed: Uint8Array
  /** The number of what is of no conversation; undefined: there is no such thing. */
  readonly nobodys?: number | undefined
  /** Numbers of what is said of some keys; left out where nobody asks. */
  readonly said?: Numbers
}

/** The same as the store answers it. */
export interface EdgeRow extends Versioned, Pick<EdgeRows, 'kind' | 'name'> {
  readonly ids: string
  readonly instants: readonly number[]
  readonly counts: readonly number[]
  readonly micros: readonly number[]
  readonly buckets: readonly number[]
  readonly failed: readonly number[]
  /** What is said, each text once, and its place from 1 on. */
  readonly texts?: readonly string[]
  readonly said?: readonly number[]
}

/** Rows of a day. */
export interface EdgeDay extends Versioned {
  readonly rows: readonly EdgeRows[]
}

/** What a window holds of a day, in nanoseconds since it began. */
export interface Edge {
  readonly day: string
  readonly from: number
  readonly to: number
}

/** The days of a window's ends; those that a window holds whole are among them, where they begin or end it. */
export function edgesOf({ fromMs, toMs, parameters }: Window): Edge[] {
  return [...new Set([parameters.from_day, parameters.to_day])].flatMap(day => {
    const start = Date.parse(day)
    const [from, to] = [Math.max(fromMs - start, 0), Math.min(toMs - start, DAY_MS)]
    return from < to ? [{ day, from: from * NANOS, to: to * NANOS }] : []
  })
}

/** Days that are kept, under their versions. */
export interface EdgeDays {
  /** Rows of a day that was brought to its version. */
  rowsOf(day: string): readonly EdgeRows[]
  /** Whether days of so many rows are worth keeping where so many bytes are free. */
  fits(rows: readonly number[], freeBytes: number): boolean
  /**
   * Brings some days to the versions that the store says; others may have to go for them. Whether any of them came with another version:
   * that one is newer.
   */
  refresh(
    days: readonly string[],
    versions: ReadonlyMap<string, string>,
    read: (day: string) => Promise<readonly EdgeRow[]>,
  ): Promise<boolean>
  /** Lets go of all days but some. */
  shrink(but: readonly string[]): void
  bytes(): number
}

/** No days yet. `texts` number what is said of keys, where that is asked for. */
export function createEdgeDays(ids: Ids, texts?: Users): EdgeDays {
  const kept = new Map<string, EdgeDay>()
  const touch = (day: string): void => {
    const found = kept.get(day)
    if (found !== undefined) keepRecent(kept, [day, found], DAYS_MAX)
  }
  return {
    rowsOf: day => kept.get(day)?.rows ?? [],
    fits: (rows, freeBytes) =>
      // Twice, since whatever else is kept grows as well.
      Math.max(0, ...rows) <= ROWS_MAX && rows.reduce((sum, n) => sum + n, 0) * ROW_BYTES * 2 <= freeBytes,
    async refresh(days, versions, read) {
      // None of those that are asked for goes for another of them.
      for (const day of days) touch(day)
      let newer = false
      for (const day of days) {
        const version = versions.get(day)
        if (kept.get(day)?.version === version) continue
        kept.delete(day)
        if (version === undefined) continue
        const found = await read(day)
        const cameWith = versionOf(found)
        keepRecent(kept, [day, { version: cameWith, rows: found.map(row => rowsOf(ids, row, texts)) }], DAYS_MAX)
        newer ||= cameWith !== version
      }
      return newer
    },
    shrink(but) {
      for (const day of kept.keys()) if (!but.includes(day)) kept.delete(day)
    },
    bytes: () => [...kept.values()].reduce((sum, { rows }) => sum + bytesOf(rows), 0),
  }
}

const rowsOf = (ids: Ids, row: EdgeRow, texts?: Users): EdgeRows => ({
  ...(texts && { said: saidOf(row, texts) }),
  ...{ kind: row.kind, name: row.name, conversations: numbersOf(ids, row.ids) },
  ...{ instants: Float64Array.from(row.instants), counts: Uint32Array.from(row.counts) },
  ...{ micros: Float64Array.from(row.micros), buckets: Int16Array.from(row.buckets) },
  failed: Uint8Array.from(row.failed),
  nobodys: ids.find(NIL_UUID),
})

function saidOf({ said = [], texts = [] }: EdgeRow, { numbersOf }: Users): Numbers {
  const numbers = numbersOf(texts)
  return narrowed(said.map(place => numbers[place - 1] as number))
}

const bytesOf = (rows: readonly EdgeRows[]): number =>
  rows.reduce((sum, { instants }) => sum + instants.length * ROW_BYTES + 1_000, 200)

/** What is summed up of an edge: everything, or what passes. */
export interface AskedEdge extends Edge {
  readonly passes?: Passes
}

/** Sums of some rows between two instants, and who is there. */
interface Summed extends Figures {
  readonly conversations: Uint32Array
  /** Nanoseconds of the day at which the last one stands. */
  readonly last: number
  /** Whole microseconds of the longest; 0 where none was timed. */
  readonly slowest: number
}

/** Whether an event passes, by its conversation and by the number of what it says. */
export type Passes = (conversation: number, said: number) => boolean

/** Empty between two calls. */
const histogram = createHistogram()

function summed(all: readonly EdgeRows[], { day, from, to, passes }: AskedEdge, marks: Uint8Array): Summed {
  const found: number[] = []
  const sums = { events: 0, errors: 0, timed: 0, us: 0, slowest: 0, last: 0 }
  for (const { conversations, instants, counts, micros, buckets, failed, said, nobodys } of all) {
    for (let i = 0; i < instants.length; i++) {
      const at = instants[i] as number
      if (at < from || at >= to) continue
      const conversation = conversations[i] as number
      if (passes !== undefined && !passes(conversation, said?.[i] ?? 0)) continue
      const [n, us] = [counts[i] as number, micros[i] as number]
      sums.events += n
      sums.errors += n * (failed[i] as number)
      if (us >= 0) {
        sums.timed += n
        sums.us += n * us
        if (us > sums.slowest) sums.slowest = us
      }
      if (at > sums.last) sums.last = at
      histogram.add(buckets[i] as number, n)
      if (marks[conversation] === 1 || conversation === nobodys) continue
      marks[conversation] = 1
      found.push(conversation)
    }
  }
  for (const conversation of found) marks[conversation] = 0
  return { key: day, version: '', ...sums, conversations: Uint32Array.from(found), ...histogram.take() }
}

/** What everything between two instants of a day comes to. `conversations`: how many have numbers. */
export const figuresWithin = (rows: readonly EdgeRows[], edge: AskedEdge, conversations: number): Summed =>
  withBytes(conversations, marks => summed(rows, edge, marks))

/** The same by tool; tools without calls there are absent. */
export const toolsWithin = (rows: readonly EdgeRows[], edge: AskedEdge, conversations: number): ToolDay[] =>
  withBytes(conversations, marks =>
    rows.flatMap(of => {
      const { kind, name } = of
      if (kind === '') return []
      const { events: calls, last, ...sums } = summed([of], edge, marks)
      const last_at = timeOf({ day: dayNumber(edge.day), nanos: last })
      return calls === 0 ? [] : [{ ...sums, kind, name, calls, last_at }]
    }),
  )
