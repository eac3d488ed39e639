// What came to an open day, as groups that are alike in all that is kept of the day -> what is kept of it, kind by kind. Each is what the
// kind's own statement would say of the same rows.
import { NIL_UUID } from '#proto/ids.ts'
import { dayNumber, timeOf } from './activity.ts'
import { type DayFigures, failuresIn } from './failures.ts'
import { type Ids, wordsOf } from './ids.ts'
import { narrowed } from './narrow.ts'
import * as held from './rows.ts'
import type { Said } from './said.ts'
import type { Users } from './users.ts'

/** Of groups by place, as the store answers them: see `arrivedSql`. */
export interface ArrivedRow extends held.Versioned {
  readonly key: string
  readonly proof: string
  readonly ids: string
  readonly users: readonly string[]
  readonly users_at: readonly number[]
  /** Kind and name; empty: of none. */
  readonly tools: readonly string[]
  readonly tools_at: readonly number[]
  readonly failed: readonly (0 | 1)[]
  /** Of each group that failed, which is one event, its id. */
  readonly failed_events: string
  readonly buckets: readonly number[]
  readonly counts: readonly number[]
  readonly timed: readonly number[]
  readonly us: readonly number[]
  readonly firsts: readonly number[]
  readonly lasts: readonly number[]
  readonly standing: readonly number[]
  /** What is priced alike, as a list in JSON; empty: it has no price. */
  readonly classes?: readonly string[]
  readonly classes_at?: readonly number[]
  readonly input?: readonly number[]
  readonly output?: readonly number[]
  readonly cache_read?: readonly number[]
  readonly cache_write?: readonly number[]
  readonly reasoning?: readonly number[]
  readonly nanos?: readonly number[]
  /** What is said of keys. */
  readonly values?: readonly string[]
  readonly values_at?: readonly number[]
  readonly micros: readonly number[]
}

/** The same, with numbers of its conversations. */
export interface Arrived {
  readonly day: string
  readonly row: ArrivedRow
  readonly conversations: Uint32Array
  /** The number of what is of no conversation; undefined: there is no such thing. */
  readonly nobodys: number | undefined
}

/** Groups of a day. */
export const arrivedOf = (ids: Ids, day: string, row: ArrivedRow): Arrived => ({
  ...{ day, row },
  conversations: held.numbersOf(ids, row.ids),
  nobodys: ids.find(NIL_UUID),
})

/** Conversations, and whom their events name. */
export function pairsArrived(users: Users, { row, conversations, nobodys }: Arrived): held.Pairs {
  const numbers = users.numbersOf(row.users)
  const places = new Map<number, number>()
  const pairs = {
    ...{ users: [] as number[], counts: [] as number[], firsts: [] as number[] },
    ...{ lasts: [] as number[], standing: [] as number[] },
  }
  const { users: named, counts, firsts, lasts, standing } = pairs
  for (let i = 0; i < conversations.length; i++) {
    const conversation = conversations[i] as number
    if (conversation === nobodys) continue
    const [user, count] = [numbers[(row.users_at[i] as number) - 1] as number, row.counts[i] as number]
    const [first, last, at] = [row.firsts[i] as number, row.lasts[i] as number, row.standing[i] as number]
    const place = places.get(conversation)
    if (place === undefined) {
      places.set(conversation, named.push(user) - 1)
      counts.push(count)
      firsts.push(first)
      lasts.push(last)
      standing.push(at)
      continue
    }
    named[place] = users.larger(named[place] as number, user)
    counts[place] = (counts[place] as number) + count
    firsts[place] = Math.min(firsts[place] as number, first)
    lasts[place] = Math.max(lasts[place] as number, last)
    standing[place] = Math.max(standing[place] as number, at)
  }
  return {
    ...{ version: row.version, conversations: Uint32Array.from(places.keys()), users: Uint32Array.from(named) },
    ...{ counts: Uint32Array.from(counts), firsts: Uint32Array.from(firsts), lasts: Uint32Array.from(lasts) },
    standing: Float64Array.from(standing),
  }
}

/** What some groups come to, in numbers that every kind has. */
function sumsOf({ row }: Arrived, groups: Iterable<number>) {
  const byBucket = new Map<number, number>()
  const sums = { events: 0, errors: 0, timed: 0, us: 0, slowest: 0, last: 0 }
  for (const i of groups) {
    const [count, bucket] = [row.counts[i] as number, row.buckets[i] as number]
    sums.events += count
    if (row.failed[i] === 1) sums.errors += count
    sums.timed += row.timed[i] as number
    sums.us += row.us[i] as number
    sums.slowest = Math.max(sums.slowest, row.micros[i] as number)
    sums.last = Math.max(sums.last, row.standing[i] as number)
    byBucket.set(bucket, (byBucket.get(bucket) ?? 0) + count)
  }
  const buckets = { buckets: Int16Array.from(byBucket.keys()), counts: narrowed([...byBucket.values()]) }
  return { sums, buckets }
}

/** Events and latencies, and what failed. */
export function figuresArrived(arrived: Arrived): DayFigures {
  const { day, row, conversations } = arrived
  const { sums, buckets } = sumsOf(arrived, conversations.keys())
  const { last: _last, slowest: _slowest, ...figures } = sums
  const failed = row.failed.flatMap((one, i) => (one === 1 ? [i] : []))
  const failures = failuresIn({
    conversations: Uint32Array.from(failed, i => conversations[i] as number),
    events: wordsOf(row.failed_events),
    instants: Float64Array.from(failed, i => row.standing[i] as number),
    all: true,
  })
  return { key: day, version: row.version, ...figures, ...buckets, failures }
}

/** Places of groups by the place of a text that they have, without those of the empty text. */
function byText(texts: readonly string[], places: readonly number[]): readonly (readonly [string, number[]])[] {
  const found = texts.map((text): [string, number[]] => [text, []])
  places.forEach((place, i) => found[place - 1]?.[1].push(i))
  return found.filter(([text]) => text !== '')
}

/** Calls by tool. */
export function toolsArrived(arrived: Arrived): held.ToolsOfDay {
  const { day, row, conversations } = arrived
  const tools = byText(row.tools, row.tools_at).map(([tool, groups]): held.ToolDay => {
    const { sums, buckets } = sumsOf(arrived, groups)
    const { events: calls, last, ...others } = sums
    const space = tool.indexOf(' ')
    return {
      ...{
        kind: tool.slice(0, space) as held.ToolDay['kind'],
        name: tool.slice(space + 1),
        calls,
        ...others,
        ...buckets,
      },
      last_at: timeOf({ day: dayNumber(day), nanos: last }),
      conversations: Uint32Array.from(new Set(groups.map(i => conversations[i] as number))),
    }
  })
  return { version: row.version, tools }
}

const NONE: readonly number[] = []

/** What was priced. */
export function pricesArrived({ row, conversations }: Arrived): held.PricesOfDay {
  const {
    counts,
    input = NONE,
    output = NONE,
    cache_read = NONE,
    cache_write = NONE,
    reasoning = NONE,
    nanos = NONE,
  } = row
  const columns = [counts, input, output, cache_read, cache_write, reasoning, nanos]
  const priced = byText(row.classes ?? [], row.classes_at ?? NONE).map(([text, groups]): held.Priced => {
    const [model, provider, ...numbers] = JSON.parse(text) as [string, string, string, string, string]
    const [how, repeating, size] = numbers.map(Number) as [number, 0 | 1, number]
    const places = new Map<number, number>()
    for (const i of groups) {
      const conversation = conversations[i] as number
      if (!places.has(conversation)) places.set(conversation, places.size)
    }
    const sums = columns.map(column => {
      const sum = new Array<number>(places.size).fill(0)
      for (const i of groups) {
        const place = places.get(conversations[i] as number) as number
        sum[place] = (sum[place] as number) + (column[i] as number)
      }
      return sum
    })
    return {
      ...{ model, provider, how, repeating, size, conversations: Uint32Array.from(places.keys()) },
      sums: sums.map(held.orNone),
    }
  })
  return { version: row.version, priced }
}

/** What is said of keys; `texts` number it. */
export function saidArrived(texts: Users, { row, conversations }: Arrived): Said {
  const { values = [], values_at = NONE, micros } = row
  const numbers = texts.numbersOf(values)
  const groups = Map.groupBy(conversations.keys(), i => `${conversations[i]} ${values_at[i]}`)
  const all = [...groups.values()].map(some => ({
    conversation: conversations[some[0] as number] as number,
    said: numbers[(values_at[some[0] as number] as number) - 1] as number,
    plain: some.filter(i => row.tools[(row.tools_at[i] as number) - 1] === ''),
    calls: some.filter(i => row.tools[(row.tools_at[i] as number) - 1] !== ''),
  }))
  const plain = all.map(one => one.plain)
  const calls = all.map(one => one.calls)
  const each = (places: readonly number[], of: (i: number) => number): number[] =>
    places.flatMap(i => new Array<number>(row.counts[i] as number).fill(of(i)))
  const count = (places: readonly number[]): number => places.reduce((sum, i) => sum + (row.counts[i] as number), 0)
  // What `bucketOf` and `hasFailed` take apart.
  const entryOf = (i: number): number => ((row.buckets[i] as number) + 1) * 2 + (row.failed[i] as 0 | 1)
  return {
    version: row.version,
    conversations: Uint32Array.from(all, one => one.conversation),
    said: narrowed(all.map(one => one.said)),
    us: narrowed(plain.map(places => places.reduce((sum, i) => sum + (row.us[i] as number), 0))),
    counts: narrowed(plain.map(count)),
    entries: Uint16Array.from(each(plain.flat(), entryOf)),
    callCounts: narrowed(calls.map(count)),
    tools: row.tools,
    called: narrowed(each(calls.flat(), i => row.tools_at[i] as number)),
    callEntries: Uint16Array.from(each(calls.flat(), entryOf)),
    callUs: narrowed(each(calls.flat(), i => micros[i] as number)),
  }
}
