// Records of finished ranges against what stands in the store: every position of a partition belongs to a record, and of every range there
// are as many rows as were recorded. This finds what leaves no trace in the store: rows that never came.
import type { RecordedRange } from '#proto/recorded-range.ts'
import type { Store } from '#store/client.ts'
import type { Shards } from '#store/shards.ts'
import { GENTLE } from './scope.ts'

/** A range of which the store holds another number of rows than was recorded, or of which there is no record. */
export interface LedgerDifference {
  readonly check: 'ledger'
  readonly partition: number
  readonly from: number
  readonly to: number
  readonly detail: string
}

/** What was compared, over all partitions. */
export interface LedgerReport {
  readonly differences: readonly LedgerDifference[]
  readonly ranges: number
  /** Rows of events that were recorded; how many of them count, and how many were taken back by a correction. */
  readonly events: number
  readonly standing: number
  readonly reversed: number
  readonly repeats: number
  readonly dead: number
  /** Ranges with fewer rows than recorded, where something has been erased since, or of which replays have taken a part. */
  readonly unproven: number
}

/** What the store is compared with. */
export interface LedgerOptions {
  readonly records: readonly RecordedRange[]
  /** True when the first records are gone. */
  readonly trimmed: boolean
  /** Last position by partition that is compared. */
  readonly settled: ReadonlyMap<number, number>
  readonly tell?: (line: string) => void
}

const TABLES = ['events', 'texts', 'links', 'sessions'] as const
/** Ranges, and positions of the streams, of one question. */
const SLICE_RANGES = 500
const SLICE_POSITIONS = 100_000

/** The same of every shard, each with the records of its partitions. */
export async function compareLedgers(shards: Shards, options: LedgerOptions): Promise<LedgerReport> {
  const reports: LedgerReport[] = []
  for (const store of shards.all) {
    const own = [...options.settled].filter(([partition]) => shards.ofPartition(partition) === store)
    reports.push(await compareLedger(store, { ...options, settled: new Map(own) }))
  }
  const sum = (of: (report: LedgerReport) => number): number => reports.reduce((total, one) => total + of(one), 0)
  return {
    differences: reports.flatMap(({ differences }) => differences),
    ranges: sum(({ ranges }) => ranges),
    events: sum(({ events }) => events),
    standing: sum(({ standing }) => standing),
    reversed: sum(({ reversed }) => reversed),
    repeats: sum(({ repeats }) => repeats),
    dead: sum(({ dead }) => dead),
    unproven: sum(({ unproven }) => unproven),
  }
}

/** Compares all records of settled positions. @throws when the store does not answer. */
export async function compareLedger(store: Store, options: LedgerOptions): Promise<LedgerReport> {
  const { settled, trimmed, tell = () => {} } = options
  const erased = await somethingErased(store)
  const differences: LedgerDifference[] = []
  const sums = { ranges: 0, events: 0, standing: 0, reversed: 0, repeats: 0, dead: 0, unproven: 0 }
  for (const [partition, through] of settled) {
    const records = currentOf(options.records.filter(one => one.partition === partition && one.to <= through))
    if (!trimmed) differences.push(...gapsOf(partition, records, through))
    for (const slice of slicesOf(records)) {
      const counts = await countRanges(store, partition, slice)
      for (const [i, record] of slice.entries()) {
        const found = counts[i] as RangeCounts
        sums.ranges++
        sums.events += record.rows.events ?? 0
        sums.standing += found.standing
        sums.reversed += found.rows.events - found.standing
        sums.repeats += record.repeats
        sums.dead += record.dead
        const wrong = TABLES.filter(table => found.rows[table] !== (record.rows[table] ?? 0))
        if (wrong.length === 0) continue
        const fewer = wrong.every(table => found.rows[table] < (record.rows[table] ?? 0))
        if (fewer && (erased || record.replayed)) sums.unproven++
        else
          differences.push({
            check: 'ledger',
            partition,
            from: record.from,
            to: record.to,
            detail: describe(record, found, wrong),
          })
      }
    }
    tell(
      `ledger of partition ${partition}: ${records.length} ranges up to ${through}, ${differences.length} differences so far`,
    )
  }
  return { differences, ...sums }
}

function describe(record: RecordedRange, found: RangeCounts, wrong: readonly (typeof TABLES)[number][]): string {
  return wrong.map(table => `${found.rows[table]} of ${record.rows[table] ?? 0} rows of ${table}`).join(', ')
}

/** A record that nothing has taken the place of; `replayed`: a part of its range was read again. */
type Current = RecordedRange & { readonly replayed: boolean }

/** The records that count: one a range, and none whose whole range was read again under a higher generation. */
export function currentOf(records: readonly RecordedRange[]): Current[] {
  const unique = new Map<string, RecordedRange>()
  for (const record of records) {
    const name = `${record.from}-${record.to} ${String(record.only)} ${String(record.without)}`
    const there = unique.get(name)
    if (there === undefined || there.generation <= record.generation) unique.set(name, record)
  }
  const sorted = [...unique.values()].sort((a, b) => a.from - b.from || a.to - b.to)
  // Replays speak of all organizations.
  const whole = sorted.filter(({ only, without }) => !only && !without)
  return sorted.flatMap((record): Current[] => {
    const later = whole.filter(
      one => one.generation > record.generation && one.from <= record.to && one.to >= record.from,
    )
    if (later.length === 0) return [{ ...record, replayed: false }]
    const left = gapsBetween(later, record.from, record.to)
    return left.length === 0 ? [] : [{ ...record, replayed: true }]
  })
}

/** Settled positions that no record speaks of. */
export function gapsOf(partition: number, records: readonly RecordedRange[], through: number): LedgerDifference[] {
  // Of a position that organizations share between lanes, the record of all others stands for the position.
  const covering = records.filter(({ only }) => !only)
  return gapsBetween(covering, 1, through).map(([from, to]) => ({
    check: 'ledger',
    partition,
    from,
    to,
    detail: 'no record speaks of these positions',
  }))
}

function gapsBetween(ranges: readonly { from: number; to: number }[], from: number, to: number): [number, number][] {
  const gaps: [number, number][] = []
  let next = from
  for (const range of ranges.toSorted((a, b) => a.from - b.from)) {
    if (range.from > next) gaps.push([next, Math.min(to, range.from - 1)])
    next = Math.max(next, range.to + 1)
    if (next > to) break
  }
  if (next <= to) gaps.push([next, to])
  return gaps
}

function slicesOf(records: readonly Current[]): Current[][] {
  const slices: Current[][] = []
  for (const record of records) {
    const slice = slices.at(-1)
    const first = slice?.[0]
    if (slice && first && slice.length < SLICE_RANGES && record.to - first.from < SLICE_POSITIONS) slice.push(record)
    else slices.push([record])
  }
  return slices
}

/** Rows at a range's positions in the generation of its record; events that a correction took back count among them. */
interface RangeCounts {
  readonly rows: Readonly<Record<(typeof TABLES)[number], number>>
  readonly standing: number
}

interface Counted {
  readonly sequence: string
  readonly generation: number
  readonly organization: string
  readonly n: string
  readonly standing: string
}

async function countRanges(store: Store, partition: number, slice: readonly Current[]): Promise<RangeCounts[]> {
  const from = Math.min(...slice.map(one => one.from))
  const to = Math.max(...slice.map(one => one.to))
  const where = `origin_partition = ${partition} AND origin_sequence BETWEEN ${from} AND ${to}`
  const at = 'origin_sequence, origin_generation, organization, origin_frame, origin_index'
  const sources = {
    // Reversed rows may be folded away; `corrections` keeps that they were there.
    events: `SELECT ${at}, max(counts) AS stands FROM (
        SELECT ${at}, sum(sign) > 0 AS counts FROM events WHERE ${where} GROUP BY ${at} HAVING counts
        UNION ALL SELECT ${at}, 0 AS counts FROM corrections WHERE ${where} AND sign = -1) GROUP BY ${at}`,
    texts: `SELECT DISTINCT ${at}, 1 AS stands FROM texts WHERE ${where}`,
    links: `SELECT DISTINCT ${at}, 1 AS stands FROM links WHERE ${where}`,
    sessions: `SELECT DISTINCT ${at}, 1 AS stands FROM sessions WHERE ${where}`,
  }
  const counts = slice.map(() => ({ rows: { events: 0, texts: 0, links: 0, sessions: 0 }, standing: 0 }))
  for (const table of TABLES) {
    const found = await store.read<Counted>(
      `SELECT toString(origin_sequence) AS sequence, origin_generation AS generation, toString(organization) AS organization,
          toString(count()) AS n, toString(sum(stands)) AS standing
       FROM (${sources[table]}) GROUP BY sequence, generation, organization`,
      { settings: GENTLE },
    )
    const bySequence = Map.groupBy(found, one => Number(one.sequence))
    const sequences = [...bySequence.keys()].sort((a, b) => a - b)
    for (const [i, record] of slice.entries()) {
      const count = counts[i] as (typeof counts)[number]
      for (
        let s = firstFrom(sequences, record.from);
        s < sequences.length && (sequences[s] as number) <= record.to;
        s++
      ) {
        for (const one of bySequence.get(sequences[s] as number) ?? []) {
          if (Number(one.generation) !== record.generation || !speaksOf(record, one.organization)) continue
          count.rows[table] += Number(one.n)
          if (table === 'events') count.standing += Number(one.standing)
        }
      }
    }
  }
  return counts
}

function firstFrom(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] as number) < value) low = middle + 1
    else high = middle
  }
  return low
}

const speaksOf = ({ only, without }: RecordedRange, organization: string): boolean =>
  only ? only.includes(organization) : !without?.includes(organization)

async function somethingErased(store: Store): Promise<boolean> {
  const [row] = await store.read<{ n: string }>('SELECT count() AS n FROM erased')
  return Number(row?.n) > 0
}
