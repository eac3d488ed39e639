// What failed on a day -> flat arrays, newest first: lists of failures are chosen from them, and nothing has to be looked for. Of a day on
// which very much failed the newest are kept.
import { type Ids, uuidOf, wordsOf } from './ids.ts'
import { bytesOfFigures, type Figures, figuresOf, numbersOf } from './rows.ts'

/** Failed events that are kept of a day. */
export const FAILURES_MAX = 2_000
const ID_WORDS = 4
/** Of one event. */
const FAILURE_BYTES = 28

/** Failed events of a day by time, newest first, and by id where times are equal. */
export interface Failures {
  readonly conversations: Uint32Array
  /** Four words of each id. */
  readonly events: Uint32Array
  /** Nanoseconds of the day. */
  readonly instants: Float64Array
  /** Whether these are all that failed; others come after the last of them. */
  readonly all: boolean
}

/** What a day came to, with what failed. */
export interface DayFigures extends Figures {
  readonly failures: Failures
}

/** The same as the store answers it. */
export interface DayFiguresRow extends Figures {
  readonly failed_in_all: number
  readonly failed_events: string
  readonly failed_ids: string
  readonly failed_at: readonly number[]
}

/** Figures of a day and its failures. */
export const dayFiguresOf = (ids: Ids, row: DayFiguresRow): DayFigures => ({
  ...figuresOf(row),
  failures: {
    conversations: numbersOf(ids, row.failed_ids),
    events: wordsOf(row.failed_events),
    instants: Float64Array.from(row.failed_at),
    all: row.failed_in_all === row.failed_at.length,
  },
})

/** About what they take. */
export const bytesOfDayFigures = (figures: DayFigures): number =>
  bytesOfFigures(figures) + figures.failures.instants.length * FAILURE_BYTES

/** The id of the failure at a place. */
export const failedEventOf = ({ events }: Failures, place: number): string => uuidOf(events, place * ID_WORDS)

interface Place {
  readonly of: Failures
  readonly place: number
}

/** Failures of two parts of a day: of what either does not know nothing is said. */
export function failuresOfBoth(one: Failures, other: Failures): Failures {
  if (one.instants.length === 0 && one.all) return other
  if (other.instants.length === 0 && other.all) return one
  const ends = [one, other].flatMap(of => (of.all ? [] : [{ of, place: of.instants.length - 1 }]))
  const known = [one, other]
    .flatMap(placesOf)
    .sort(compare)
    .filter(failure => ends.every(end => compare(failure, end) <= 0))
  return newestOf(known, ends.length === 0)
}

/** Failures in any order, as they are kept. */
export const failuresIn = (of: Failures): Failures => newestOf(placesOf(of).sort(compare), of.all)

const placesOf = (of: Failures): Place[] => Array.from(of.instants, (_, place) => ({ of, place }))

/** The first that may be kept of some that are in order; `all`: there are no others. */
function newestOf(known: readonly Place[], all: boolean): Failures {
  const newest = known.slice(0, FAILURES_MAX)
  return {
    conversations: Uint32Array.from(newest, ({ of, place }) => of.conversations[place] as number),
    events: Uint32Array.from(
      newest.flatMap(({ of, place }) => [...of.events.subarray(place * ID_WORDS, (place + 1) * ID_WORDS)]),
    ),
    instants: Float64Array.from(newest, ({ of, place }) => of.instants[place] as number),
    all: all && newest.length === known.length,
  }
}

function compare(a: Place, b: Place): number {
  const later = (b.of.instants[b.place] as number) - (a.of.instants[a.place] as number)
  if (later !== 0) return later
  const [id, other] = [failedEventOf(a.of, a.place), failedEventOf(b.of, b.place)]
  return id === other ? 0 : id < other ? -1 : 1
}
