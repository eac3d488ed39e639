// Two parts of a day that have no row in common -> the day: what is kept of both is added up, kind by kind. Conversations that both parts
// name stand once where their number counts, and twice where only sums are taken over them, or where whoever counts them marks them.
import { type DayFigures, failuresOfBoth } from './failures.ts'
import { joined, narrowed } from './narrow.ts'
import type * as held from './rows.ts'
import type { Said } from './said.ts'
import type { Users } from './users.ts'

/** The version of both parts: sums wrap around at 64 bits. What replaced captures is part of a version behind a space. */
export function versionOfBoth(one: string, other: string): string {
  const [sum = '0', ...more] = one.split(' ')
  const both = BigInt.asIntN(64, BigInt(sum) + BigInt(other.split(' ')[0] as string))
  return [both, ...more].join(' ')
}

/** Conversations of events: counts and bounds of those that both have are put together. */
export function addEvents(users: Users, one: held.Pairs, other: held.Pairs): held.Pairs {
  const { at, pairs } = joinedPairs(one, other)
  for (const [i, place] of at) {
    pairs.users[place] = users.larger(pairs.users[place] as number, other.users[i] as number)
    pairs.counts[place] = (pairs.counts[place] as number) + (other.counts[i] as number)
    pairs.firsts[place] = Math.min(pairs.firsts[place] as number, other.firsts[i] as number)
    pairs.lasts[place] = Math.max(pairs.lasts[place] as number, other.lasts[i] as number)
    pairs.standing[place] = Math.max(pairs.standing[place] as number, other.standing[i] as number)
  }
  return pairs
}

/** Conversations of captures, or what these say of a key: what arrived later stands, if it says anything. */
export function addCaptures(earlier: held.Pairs, later: held.Pairs): held.Pairs {
  const { at, pairs } = joinedPairs(earlier, later)
  for (const [i, place] of at) pairs.users[place] = (later.users[i] as number) || (pairs.users[place] as number)
  return pairs
}

const MAYBE = 1 << 16

/** Those of one with those behind them that only the other has; and where those stand that both have, by their place in the other. */
function joinedPairs(one: held.Pairs, other: held.Pairs): { pairs: held.Pairs; at: ReadonlyMap<number, number> } {
  const places = new Map<number, number>()
  // By its last bits, whether a number may be among them: a day has a hundred times as many as what came to it.
  const maybe = new Uint8Array(MAYBE)
  for (let i = 0; i < other.conversations.length; i++) {
    const conversation = other.conversations[i] as number
    places.set(conversation, i)
    maybe[conversation % MAYBE] = 1
  }
  const at = new Map<number, number>()
  for (let place = 0; place < one.conversations.length && places.size > 0; place++) {
    const conversation = one.conversations[place] as number
    const i = maybe[conversation % MAYBE] === 1 ? places.get(conversation) : undefined
    if (i === undefined) continue
    at.set(i, place)
    places.delete(conversation)
  }
  const added = Uint32Array.from(places.values())
  const join = <List extends Uint32Array | Float64Array>(
    of: List,
    more: List,
    make: (length: number) => List,
  ): List => {
    if (of.length === 0 && more.length === 0) return of
    const all = make(one.conversations.length + added.length)
    all.set(of)
    for (let i = 0; i < added.length; i++) all[of.length + i] = more[added[i] as number] as number
    return all
  }
  const words = (length: number) => new Uint32Array(length)
  const pairs = {
    version: versionOfBoth(one.version, other.version),
    conversations: join(one.conversations, other.conversations, words),
    users: join(one.users, other.users, words),
    counts: join(one.counts, other.counts, words),
    firsts: join(one.firsts, other.firsts, words),
    lasts: join(one.lasts, other.lasts, words),
    standing: join(one.standing, other.standing, length => new Float64Array(length)),
  }
  return { pairs, at }
}

/** Figures, and what failed. */
export function addFigures(one: DayFigures, other: DayFigures): DayFigures {
  const { key, events, errors, timed, us } = one
  return {
    ...{ key, version: versionOfBoth(one.version, other.version), events: events + other.events },
    ...{ errors: errors + other.errors, timed: timed + other.timed, us: us + other.us, ...bucketsOfBoth(one, other) },
    failures: failuresOfBoth(one.failures, other.failures),
  }
}

type Buckets = Pick<held.Figures, 'buckets' | 'counts'>

function bucketsOfBoth(one: Buckets, other: Buckets): { buckets: Int16Array; counts: Float64Array } {
  const byBucket = new Map<number, number>()
  for (const { buckets, counts } of [one, other]) {
    for (let i = 0; i < buckets.length; i++) {
      const bucket = buckets[i] as number
      byBucket.set(bucket, (byBucket.get(bucket) ?? 0) + (counts[i] as number))
    }
  }
  return { buckets: Int16Array.from(byBucket.keys()), counts: Float64Array.from(byBucket.values()) }
}

/** How things that may stand several times are told apart and put together. */
interface Piecewise<T extends { readonly conversations: Uint32Array }> {
  nameOf(piece: T): string
  join(one: T, other: T): T
}

/**
 * Both lists, in which pieces of one name may stand several times: they are put together while the earlier one is at most twice as long. So
 * what came to a day is copied a few times, and not all of the day with each look at it.
 */
function inPieces<T extends { readonly conversations: Uint32Array }>(
  one: readonly T[],
  other: readonly T[],
  { nameOf, join }: Piecewise<T>,
): T[] {
  const byName = Map.groupBy(one, nameOf)
  for (const each of other) {
    const name = nameOf(each)
    const pieces = byName.get(name) ?? []
    let last = each
    for (let before = pieces.at(-1); before && isNear(before, last); before = pieces.at(-1)) {
      last = join(before, last)
      pieces.pop()
    }
    byName.set(name, [...pieces, last])
  }
  return [...byName.values()].flat()
}

const isNear = (one: Pick<held.Pairs, 'conversations'>, other: Pick<held.Pairs, 'conversations'>): boolean =>
  one.conversations.length <= other.conversations.length * 2

/** Tools: one may stand in several pieces. */
export function addTools(one: held.ToolsOfDay, other: held.ToolsOfDay): held.ToolsOfDay {
  const nameOf = ({ kind, name }: held.ToolDay): string => `${kind} ${name}`
  return {
    version: versionOfBoth(one.version, other.version),
    tools: inPieces(one.tools, other.tools, { nameOf, join: toolOfBoth }),
  }
}

function toolOfBoth(one: held.ToolDay, other: held.ToolDay): held.ToolDay {
  const more = new Set(other.conversations)
  for (const conversation of one.conversations) more.delete(conversation)
  const conversations = new Uint32Array(one.conversations.length + more.size)
  conversations.set(one.conversations)
  conversations.set([...more], one.conversations.length)
  return {
    ...{ kind: one.kind, name: one.name, calls: one.calls + other.calls, errors: one.errors + other.errors },
    ...{ timed: one.timed + other.timed, us: one.us + other.us, ...bucketsOfBoth(one, other), conversations },
    slowest: Math.max(one.slowest, other.slowest),
    last_at: one.last_at > other.last_at ? one.last_at : other.last_at,
  }
}

/** What was priced: what is priced alike may stand in several pieces, in which sums of both stand one after the other. */
export function addPrices(one: held.PricesOfDay, other: held.PricesOfDay): held.PricesOfDay {
  const nameOf = ({ model, provider, how, repeating, size }: held.Priced): string =>
    JSON.stringify([model, provider, how, repeating, size])
  return {
    version: versionOfBoth(one.version, other.version),
    priced: inPieces(one.priced, other.priced, { nameOf, join: pricedOfBoth }),
  }
}

function pricedOfBoth(one: held.Priced, other: held.Priced): held.Priced {
  const before = one.conversations.length
  const length = before + other.conversations.length
  const conversations = joined(one.conversations, other.conversations) as Uint32Array
  const sums = one.sums.map((list, i) => {
    const more = other.sums[i] as Float64Array
    // Without numbers all of them are 0.
    if (list.length === 0 && more.length === 0) return list
    const both = new Float64Array(length)
    both.set(list)
    both.set(more, before)
    return both
  })
  return { ...one, conversations, sums }
}

/** What events say of keys: groups of both, one after the other. */
export function addSaid(one: Said, other: Said): Said {
  const tools = [...one.tools]
  const places = new Map(tools.map((tool, i) => [tool, i + 1]))
  const placeOf = (tool: string): number => {
    const place = places.get(tool) ?? tools.push(tool)
    places.set(tool, place)
    return place
  }
  const moved = other.tools.map(placeOf)
  const called = narrowed(Array.from(other.called, place => moved[place - 1] as number))
  return {
    version: versionOfBoth(one.version, other.version),
    conversations: joined(one.conversations, other.conversations) as Uint32Array,
    said: joined(one.said, other.said),
    us: joined(one.us, other.us),
    counts: joined(one.counts, other.counts),
    entries: joined(one.entries, other.entries) as Uint16Array,
    callCounts: joined(one.callCounts, other.callCounts),
    ...{ tools, called: joined(one.called, called) },
    callEntries: joined(one.callEntries, other.callEntries) as Uint16Array,
    callUs: joined(one.callUs, other.callUs),
  }
}
