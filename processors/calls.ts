// Which report of a voice call stands. The same report again is a repeat; one that says something else takes the place of the one
// before. The later position of the stream wins, in whatever order lanes read them.
//
// What is known: the newest calls of this owner, and for all others what `sessions` holds. A call is forgotten only once its range
// is stored, so between the two nothing is missed, however long ago the earlier report came.
import type { Store } from '#store/client.ts'
import type { PartitionContext } from './context.ts'
import { insist } from './context.ts'
import { inScope, isStoredAt } from './lanes.ts'
import type { Cursor, OrdinalRun, Replaced, Scope } from './protocol.ts'
import { laneOf } from './protocol.ts'
import type { Fingerprints } from './repeats.ts'
import type { Judgement } from './verdicts.ts'

/** Calls remembered without asking the store. */
const CALLS_MAX = 50_000

interface Position {
  readonly sequence: number
  readonly frame: number
}

/** A report as a worker read it. `ordinal` counts the units of its range. */
export interface CallReport extends Position {
  readonly ordinal: number
  readonly organization: string
  readonly conversation: string
  /** Fingerprint of what it says. */
  readonly report: string
}

/** The report that stands. `before` = those that may still count until its own range is stored, the newest first. */
interface Standing extends Position {
  readonly report: string
  readonly before: readonly string[]
}

/** Reports by "organization/conversation". */
export type FoundCalls = ReadonlyMap<string, Standing>

/** A range of a lane, both ends inclusive. */
export interface CallRange {
  readonly lane: number
  readonly from: number
  readonly to: number
}

interface CallVerdict {
  readonly repeats: readonly number[]
  readonly replaced: readonly Replaced[]
  undo(): void
}

const organizationOf = (key: string): string => key.slice(0, key.indexOf('/'))

const positionKey = ({ sequence, frame }: Position): string => `${sequence}/${frame}`

/** The stream position of a "sequence/frame". */
export const sequenceOf = (at: string): number => Number(at.split('/', 1)[0])

const callKey = ({ organization, conversation }: { organization: string; conversation: string }): string =>
  `${organization}/${conversation}`

const isBefore = (a: Position, b: Position): boolean =>
  a.sequence < b.sequence || (a.sequence === b.sequence && a.frame < b.frame)

const covers = ({ from, to }: { from: number; to: number }, sequence: number): boolean =>
  sequence >= from && sequence <= to

/** The calls that a partition's owner remembers. */
export class CallBook {
  readonly #cursor: () => Cursor
  readonly #max: number
  readonly #standing = new Map<string, Standing>()
  /** Ranges that were judged and are not known to be finished. */
  #judged: CallRange[] = []

  /** `max`: calls to remember. */
  constructor(cursor: () => Cursor, max = CALLS_MAX) {
    this.#cursor = cursor
    this.#max = max
  }

  /** Calls remembered now. */
  get size(): number {
    return this.#standing.size
  }

  /** The reports of a range of which only the store can say what stands outside of the range. */
  unknown(reports: readonly CallReport[], range: CallRange): CallReport[] {
    return reports.filter(report => !this.#outside(callKey(report), range))
  }

  /**
   * Judges the reports of a range, in stream order, and remembers those that stand until `undo`. `found`: what the store says about
   * `unknown`. A report that a later one of its own range replaces is never stored.
   */
  judge(reports: readonly CallReport[], range: CallRange, found: FoundCalls): CallVerdict {
    const repeats: number[] = []
    const replaced: Replaced[] = []
    const earlier = new Map<string, Standing | undefined>()
    for (const [key, list] of Map.groupBy(reports, callKey)) {
      const standing = this.#outside(key, range) ?? found.get(key)
      const { winner, losers } = contest(list, standing)
      repeats.push(...losers)
      if (!winner) continue
      const before = standing ? this.#unsettled(standing, organizationOf(key)) : []
      replaced.push(...before.map(at => ({ at, by: positionKey(winner) })))
      earlier.set(key, this.#standing.get(key))
      this.#keep(key, { ...winner, before })
    }
    this.#judged.push(range)
    this.#trim()
    const undo = (): void => {
      this.#judged = this.#judged.filter(judged => judged !== range)
      for (const [key, before] of earlier) {
        // Another lane may have judged a later report meanwhile: that one knows what stood before.
        const now = this.#standing.get(key)
        if (now && !covers(range, now.sequence)) continue
        if (before) this.#keep(key, before)
        else this.#standing.delete(key)
      }
    }
    return { repeats: repeats.sort((a, b) => a - b), replaced, undo }
  }

  /** Remembers what a recorded intent stores. */
  learn(reports: readonly CallReport[], repeats: readonly OrdinalRun[], replaced: readonly Replaced[]): void {
    const before = Map.groupBy(replaced, one => one.by)
    let run = 0
    for (const report of reports) {
      while (run < repeats.length && (repeats[run] as OrdinalRun)[1] < report.ordinal) run++
      if (run < repeats.length && (repeats[run] as OrdinalRun)[0] <= report.ordinal) continue
      const known = this.#standing.get(callKey(report))
      if (known && isBefore(report, known)) continue
      const gone = before.get(positionKey(report)) ?? []
      this.#keep(callKey(report), { ...report, before: gone.map(one => one.at) })
    }
  }

  /** Forgets the calls of a range that was stored otherwise than it was judged: from now on the store knows better. */
  forget(range: { readonly from: number; readonly to: number } & Scope): void {
    for (const [key, { sequence }] of this.#standing) {
      if (covers(range, sequence) && inScope(range, organizationOf(key))) this.#standing.delete(key)
    }
  }

  /** True when what an organization has at a position is in the store, and the cursor says so, and nothing is about to store it again. */
  isStored(sequence: number, organization: string): boolean {
    return isStoredAt(this.#cursor(), sequence, organization) && !this.isUnderWay(sequence)
  }

  /** True while a range that holds the position is judged or recorded, and not finished; of any lane that passes it. */
  isUnderWay(sequence: number): boolean {
    const cursor = this.#cursor()
    return (
      cursor.intents.some(intent => !intent.done && covers(intent, sequence)) ||
      this.#judged.some(range => covers(range, sequence) && !isFinished(cursor, range))
    )
  }

  /** A report that gives way, and before it those that may still count: none beyond the first whose range is finished. */
  #unsettled(standing: Standing, organization: string): string[] {
    const chain = [positionKey(standing), ...standing.before]
    const settled = chain.findIndex(at => this.isStored(sequenceOf(at), organization))
    return settled === -1 ? chain : chain.slice(0, settled + 1)
  }

  #outside(key: string, range: CallRange): Standing | undefined {
    const standing = this.#standing.get(key)
    return standing && !covers(range, standing.sequence) ? standing : undefined
  }

  #keep(key: string, { sequence, frame, report, before }: Standing): void {
    // Again at the end: the map is in the order of what was judged last.
    this.#standing.delete(key)
    this.#standing.set(key, { sequence, frame, report, before })
  }

  #trim(): void {
    const cursor = this.#cursor()
    this.#judged = this.#judged.filter(range => !isFinished(cursor, range))
    for (const [key, { sequence }] of this.#standing) {
      if (this.#standing.size <= this.#max || !this.isStored(sequence, organizationOf(key))) break
      this.#standing.delete(key)
    }
  }
}

function isFinished(cursor: Cursor, { lane, from, to }: CallRange): boolean {
  const floor = laneOf(cursor, lane)?.floor ?? Number.POSITIVE_INFINITY
  return floor >= to || cursor.intents.some(intent => intent.lane === lane && intent.from === from && intent.done)
}

/** The report of a list that is to be stored, and the ordinals of those that are not. */
function contest(
  list: readonly CallReport[],
  standing: Standing | undefined,
): { winner: CallReport | undefined; losers: number[] } {
  const losers: number[] = []
  let winner: CallReport | undefined
  for (const report of list) {
    const isRepeat = report.report === (winner ?? standing)?.report
    if (isRepeat || (standing && isBefore(report, standing))) {
      losers.push(report.ordinal)
      continue
    }
    if (winner) losers.push(winner.ordinal)
    winner = report
  }
  if (!winner || winner.report !== standing?.report) return { winner, losers }
  return { winner: undefined, losers: [...losers, winner.ordinal] }
}

const STANDING_SQL = `
  SELECT organization, conversation_id AS conversation, origin_sequence AS sequence, origin_frame AS frame, report
  FROM sessions
  WHERE organization IN {organizations:Array(UUID)} AND conversation_id IN {conversations:Array(UUID)}
    AND source = 'voice' AND origin_partition = {partition:UInt16}
    AND NOT (origin_sequence BETWEEN {from:UInt64} AND {to:UInt64})
  ORDER BY origin_sequence DESC, origin_frame DESC, origin_generation DESC
  LIMIT 1 BY organization, conversation_id`

/** The latest stored reports of some calls outside of a range. @throws when the store is away. */
export async function findCalls(
  store: Store,
  partition: number,
  reports: readonly CallReport[],
  { from, to }: CallRange,
): Promise<FoundCalls> {
  if (reports.length === 0) return new Map()
  const rows = await store.read<Omit<CallReport, 'sequence' | 'ordinal'> & { sequence: string }>(STANDING_SQL, {
    parameters: {
      organizations: [...new Set(reports.map(report => report.organization))],
      conversations: [...new Set(reports.map(report => report.conversation))],
      partition,
      from,
      to,
    },
  })
  return new Map(
    rows.map(row => {
      const { sequence, frame, report } = row
      return [callKey(row), { sequence: Number(sequence), frame, report, before: [] }]
    }),
  )
}

/** How a range is judged when calls are judged too. */
export interface RangeJudgement {
  judge(prints: Fingerprints): readonly OrdinalRun[] | Promise<readonly OrdinalRun[]>
  undo(): void
  /** What the last judgement lets give way. */
  replaced?(): readonly Replaced[]
}

/** Adds the calls of a range to a judgement of all else. `find`: findCalls, until it answers. */
export function withCalls(
  { book, find }: { book: CallBook; find: (unknown: readonly CallReport[]) => Promise<FoundCalls> },
  judgement: Judgement,
  range: CallRange,
): RangeJudgement {
  let turn = 0
  let verdict: CallVerdict | undefined
  return {
    judge: async prints => {
      const calls = prints.calls ?? []
      if (calls.length === 0) return judgement.judge(prints)
      const mine = ++turn
      const found = await find(book.unknown(calls, range))
      // Undone while the store was asked: nobody waits for this answer any more.
      if (mine !== turn) return []
      verdict = book.judge(calls, range, found)
      return joined(judgement.judge(prints), verdict.repeats)
    },
    undo: () => {
      turn++
      judgement.undo()
      verdict?.undo()
      verdict = undefined
    },
    replaced: () => verdict?.replaced ?? [],
  }
}

/** Runs and ordinals, none of them twice, as runs in order. */
function joined(runs: readonly OrdinalRun[], ordinals: readonly number[]): OrdinalRun[] {
  const all = [...runs, ...ordinals.map(ordinal => [ordinal, ordinal] as const)].sort((a, b) => a[0] - b[0])
  const out: [number, number][] = []
  for (const [first, last] of all) {
    const end = out.at(-1)
    if (end && end[1] === first - 1) end[1] = last
    else out.push([first, last])
  }
  return out
}

/** Adds the calls of a range to a judgement of all else: by what the partition's owner remembers, else by what the store says. */
export function judgementOf(context: PartitionContext, judgement: Judgement, range: CallRange): RangeJudgement {
  const { calls, partition, settling, signal } = context
  const find = (unknown: readonly CallReport[]): Promise<FoundCalls> =>
    insist(settling.outage, signal, () => findCalls(settling.store, partition, unknown, range))
  return withCalls({ book: calls, find }, judgement, range)
}
