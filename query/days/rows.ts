// What the store answers of days -> what is held of them: flat arrays of numbers, under the version of the rows that they come from.
import { ID_BYTES, type Ids, wordsOf } from './ids.ts'
import { type Numbers, narrowed } from './narrow.ts'
import type { Users } from './users.ts'

/** What stands under a version. */
export interface Versioned {
  readonly version: string
}

/** Conversations and, by place, numbers of users, 0 = nobody; and of events, where they come from events. */
export interface Pairs extends Versioned {
  readonly conversations: Uint32Array
  readonly users: Uint32Array
  readonly counts: Uint32Array
  /** Seconds in which the day's first and last event of each conversation stand, or some that was taken back. */
  readonly firsts: Uint32Array
  readonly lasts: Uint32Array
  /** Nanoseconds of the day at which the last event stands that was not taken back. */
  readonly standing: Float64Array
}

/** Pairs as the store answers them. */
export interface PairsRow extends Versioned {
  readonly key: string
  readonly ids: string
  readonly users: readonly string[]
  readonly counts?: readonly number[]
  readonly firsts?: readonly number[]
  readonly lasts?: readonly number[]
  readonly standing?: readonly number[]
}

/** What a day came to, as the store answers it; counts are whole numbers below 2^53. */
export interface Figures extends Versioned {
  readonly key: string
  readonly events: number
  readonly errors: number
  readonly timed: number
  readonly us: number
  /** Latency buckets, negative for what was not timed, and how many events each of them has. */
  readonly buckets: ArrayLike<number>
  readonly counts: ArrayLike<number>
}

/** Calls of one tool on a day. */
export interface ToolDay {
  readonly kind: 'tool' | 'resource' | 'prompt'
  readonly name: string
  readonly calls: number
  readonly errors: number
  readonly timed: number
  readonly us: number
  /** Whole microseconds of the longest call; 0 where none was timed. */
  readonly slowest: number
  /** ISO 8601 */
  readonly last_at: string
  /** Who called, each conversation once. */
  readonly conversations: Uint32Array
  readonly buckets: ArrayLike<number>
  readonly counts: ArrayLike<number>
}

/** The same as the store answers it; what is of no tool comes with an empty kind, for its version. */
export interface ToolRow extends Versioned, Omit<ToolDay, 'kind' | 'conversations'> {
  readonly key: string
  readonly kind: ToolDay['kind'] | ''
  readonly ids: string
}

/** Tools of a day; calls of one may stand in several pieces, and so may who made them. */
export interface ToolsOfDay extends Versioned {
  readonly tools: readonly ToolDay[]
}

/** What is told apart among what was priced. */
export interface PriceClass {
  readonly model: string
  readonly provider: string
  readonly how: number
  /** 1 = agents that may say again what model calls said. */
  readonly repeating: 0 | 1
  readonly size: number
}

/** What was priced alike on a day: conversations, and by place their sums. */
export interface Priced extends PriceClass {
  readonly conversations: Uint32Array
  /** Events, tokens (in, out, read from caches, written to them, for reasoning), nano-dollars; without numbers where all are 0. */
  readonly sums: readonly Float64Array[]
}

/** The same as the store answers it. */
export interface PricedRow extends PriceClass, Versioned {
  readonly key: string
  readonly ids: string
  readonly sums: readonly (readonly number[])[]
}

/** What was priced on a day; what was priced alike may stand in several pieces. */
export interface PricesOfDay extends Versioned {
  readonly priced: readonly Priced[]
}

/** Numbers of ids that stand one after the other in base64. */
export function numbersOf(ids: Ids, base64: string): Uint32Array {
  const words = wordsOf(base64)
  const numbers = new Uint32Array((words.length * 4) / ID_BYTES)
  for (let i = 0; i < numbers.length; i++) numbers[i] = ids.numberOf(words, i * 4)
  return numbers
}

const NONE = new Float64Array(0)
const NO_WORDS = new Uint32Array(0)

/** Pairs of a day's events. */
export function pairsOf(ids: Ids, users: Users, row: PairsRow): Pairs {
  return {
    version: row.version,
    conversations: numbersOf(ids, row.ids),
    users: users.numbersOf(row.users),
    counts: Uint32Array.from(row.counts ?? []),
    firsts: Uint32Array.from(row.firsts ?? []),
    lasts: Uint32Array.from(row.lasts ?? []),
    standing: Float64Array.from(row.standing ?? []),
  }
}

/** The version of a day's captures, which what replaced captures is part of. */
export const captureVersion = ({ version }: Versioned, replaced: string): string => `${version} ${replaced}`

/** Pairs of which nothing but names is known. */
export const namesOnly = (version: string, conversations: Uint32Array, users: Uint32Array): Pairs => ({
  ...{ version, conversations, users, counts: NO_WORDS, firsts: NO_WORDS, lasts: NO_WORDS, standing: NONE },
})

/** The same as the store answers them. */
export const capturePairsOf = (ids: Ids, users: Users, row: PairsRow, replaced: string): Pairs =>
  namesOnly(captureVersion(row, replaced), numbersOf(ids, row.ids), users.numbersOf(row.users))

const bucketsOf = ({ buckets, counts }: Pick<Figures, 'buckets' | 'counts'>) => ({
  buckets: Int16Array.from(buckets),
  counts: narrowed(counts),
})

/** Figures of a day. */
export function figuresOf(row: Figures): Figures {
  const { key, version, events, errors, timed, us } = row
  return { key, version, events, errors, timed, us, ...bucketsOf(row) }
}

/** Calls of a tool. */
export function toolOf(ids: Ids, row: ToolRow): ToolDay {
  const { kind, name, calls, errors, timed, us, slowest, last_at } = row
  const conversations = numbersOf(ids, row.ids)
  return {
    ...{ kind: kind as ToolDay['kind'], name, calls, errors, timed, us, slowest, last_at, conversations },
    ...bucketsOf(row),
  }
}

/** The version of rows together: the sums of the store wrap around at 64 bits, and so does theirs. */
export function versionOf(rows: readonly Versioned[]): string {
  const sum = rows.reduce((sum, row) => sum + BigInt(row.version), 0n)
  return BigInt.asIntN(64, sum).toString()
}

/** What was priced on a day, from all rows of it. */
export function pricesOf(ids: Ids, rows: readonly PricedRow[]): PricesOfDay {
  const priced = rows
    .filter(({ how }) => how > 0)
    .map(({ model, provider, how, repeating, size, ...row }) => ({
      ...{ model, provider, how, repeating, size, conversations: numbersOf(ids, row.ids) },
      sums: row.sums.map(orNone),
    }))
  return { version: versionOf(rows), priced }
}

/** A list of sums; without numbers where all of them are 0. */
export const orNone = (sums: readonly number[]): Float64Array =>
  sums.some(n => n !== 0) ? Float64Array.from(sums) : NONE

/** Tools of a day from all rows of it. */
export function toolsOf(ids: Ids, rows: readonly ToolRow[]): ToolsOfDay {
  const tools = rows.filter(({ kind, calls }) => kind !== '' && calls > 0).map(row => toolOf(ids, row))
  return { version: versionOf(rows), tools }
}

/** What something takes, reckoned once: what is held of a day is made once and never changed, and each question asks for the sum. */
function reckoned<T extends object>(bytesOf: (held: T) => number): (held: T) => number {
  const known = new WeakMap<T, number>()
  return held => {
    const found = known.get(held) ?? bytesOf(held)
    known.set(held, found)
    return found
  }
}

/** Of buckets and of how many there are of each, once they are flat arrays. */
const bytesOfBuckets = ({ buckets, counts }: Pick<Figures, 'buckets' | 'counts'>): number =>
  buckets.length * 2 + ((counts as Numbers).byteLength ?? 0)

/** About what they take. */
export const bytesOfPairs = ({ conversations, counts, standing }: Pairs): number =>
  conversations.byteLength * 2 + counts.byteLength * 3 + standing.byteLength + 300
export const bytesOfFigures = (figures: Figures): number => bytesOfBuckets(figures) + 400
export const bytesOfTools = reckoned(({ tools }: ToolsOfDay): number =>
  tools.reduce((sum, tool) => sum + tool.conversations.byteLength + bytesOfBuckets(tool) + 700, 200),
)
export const bytesOfPrices = reckoned(({ priced }: PricesOfDay): number =>
  priced.reduce((sum, { conversations, sums }) => {
    const lists = sums.reduce((bytes, list) => bytes + list.byteLength, 0)
    return sum + conversations.byteLength + lists + 1_000
  }, 200),
)
