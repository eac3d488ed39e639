// What the store answers of days -> what is held of them: flat arrays of numbers, under the version of the rows that they come from.
import { ID_BYTES, type Ids, wordsOf } from './ids.ts'
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
}

/** Pairs as the store answers them. */
export interface PairsRow extends Versioned {
  readonly key: string
  readonly ids: string
  readonly users: readonly string[]
  readonly counts?: readonly number[]
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

/** Tools of a day. */
export interface ToolsOfDay extends Versioned {
  readonly tools: readonly ToolDay[]
}

/** Numbers of ids that stand one after the other in base64. */
export function numbersOf(ids: Ids, base64: string): Uint32Array {
  const words = wordsOf(base64)
  const numbers = new Uint32Array((words.length * 4) / ID_BYTES)
  for (let i = 0; i < numbers.length; i++) numbers[i] = ids.numberOf(words, i * 4)
  return numbers
}

/** Pairs of a day; `more` is part of their version. */
export function pairsOf(ids: Ids, users: Users, row: PairsRow, more = ''): Pairs {
  return {
    version: row.version + more,
    conversations: numbersOf(ids, row.ids),
    users: users.numbersOf(row.users),
    counts: Uint32Array.from(row.counts ?? []),
  }
}

const bucketsOf = ({ buckets, counts }: Pick<Figures, 'buckets' | 'counts'>) => ({
  buckets: Int16Array.from(buckets),
  counts: Float64Array.from(counts),
})

/** Figures of a day. */
export const figuresOf = (row: Figures): Figures => ({ ...row, ...bucketsOf(row) })

/** Calls of a tool. */
export function toolOf(ids: Ids, row: ToolRow): ToolDay {
  const { kind, name, calls, errors, timed, us, last_at } = row
  const conversations = numbersOf(ids, row.ids)
  return {
    ...{ kind: kind as ToolDay['kind'], name, calls, errors, timed, us, last_at, conversations },
    ...bucketsOf(row),
  }
}

/** Tools of a day from all rows of it. The sums of the store wrap around at 64 bits, and so does theirs. */
export function toolsOf(ids: Ids, rows: readonly ToolRow[]): ToolsOfDay {
  const version = BigInt.asIntN(
    64,
    rows.reduce((sum, row) => sum + BigInt(row.version), 0n),
  )
  const tools = rows.filter(({ kind, calls }) => kind !== '' && calls > 0).map(row => toolOf(ids, row))
  return { version: version.toString(), tools }
}

/** About what they take. */
export const bytesOfPairs = ({ conversations, users, counts }: Pairs): number =>
  conversations.byteLength + users.byteLength + counts.byteLength + 200
export const bytesOfFigures = ({ buckets }: Figures): number => buckets.length * 10 + 400
export const bytesOfTools = ({ tools }: ToolsOfDay): number =>
  tools.reduce((sum, { conversations, buckets }) => sum + conversations.byteLength + buckets.length * 10 + 700, 200)
