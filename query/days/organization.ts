// What is kept in memory of one organization: who was active on which day, whom captures and events name, and what days came to. Every day
// stands under its version, and each question asks for the versions first: what they say has changed is read anew, and nothing else.

import type { Parameters, Reader } from '../reader.ts'
import { createIds, ID_BYTES, wordsOf } from './ids.ts'
import { DAY_CAPTURES_SQL, DAY_CONVERSATIONS_SQL, DAY_FIGURES_SQL, VERSIONS_SQL } from './sql.ts'

/** Conversations and, by place, numbers of users; 0 = nobody. */
export interface Pairs {
  readonly version: string
  readonly conversations: Uint32Array
  readonly users: Uint32Array
}

/** Pairs as the store answers them. */
export interface PairsRow {
  readonly key: string
  readonly version: string
  readonly ids: string
  readonly users: readonly string[]
}

/** What a day came to, as the store answers it; counts are whole numbers below 2^53. */
export interface Figures {
  readonly key: string
  readonly version: string
  readonly events: number
  readonly errors: number
  readonly timed: number
  readonly us: number
  /** Latency buckets, negative for what was not timed, and how many events each of them has. */
  readonly buckets: ArrayLike<number>
  readonly counts: ArrayLike<number>
}

/** What is kept of an organization. */
export interface OrganizationDays {
  /**
   * Brings it to what the store holds: everything that was stored before the call is in it. False: it would take more than `maxBytes`.
   */
  refresh(reader: Reader, maxBytes: number): Promise<boolean>
  /** Days with events, in no order. */
  days(): Iterable<string>
  conversationsOf(day: string): Uint32Array
  figuresOf(day: string): Figures | undefined
  /** Of a conversation; 0 = nobody is known. */
  userOf(conversation: number): number
  /** Numbers of conversations of a row that was read elsewhere. */
  numbersOf(row: PairsRow): Uint32Array
  /** Numbers of conversations and of users are below these. */
  sizes(): { conversations: number; users: number }
  bytes(): number
}

/**
 * Days that are read by one statement: what it answers stays in the tens of MB. Captures lie by conversation, so that each look for those
 * of some days looks through all of them.
 */
const DAYS_EACH = { day_conversations: 16, day_figures: 32, day_captures: 64 } as const
const DAY_MS = 86_400_000

interface Versioned {
  readonly version: string
}

/** Versions by day. */
type Versions = ReadonlyMap<string, string>

interface VersionRow {
  readonly of: 'events' | 'captures' | 'replaced'
  readonly day: string
  readonly version: string
}

/** Nothing kept yet. */
export function createOrganizationDays(): OrganizationDays {
  const ids = createIds()
  const users = createUsers()
  const events = new Map<string, Pairs>()
  const captures = new Map<string, Pairs>()
  const figures = new Map<string, Figures>()
  let captured = new Uint32Array(0)
  let seen = new Uint32Array(0)
  let stale = true

  const numbersOf = ({ ids: base64 }: Pick<PairsRow, 'ids'>): Uint32Array => {
    const words = wordsOf(base64)
    const numbers = new Uint32Array((words.length * 4) / ID_BYTES)
    for (let i = 0; i < numbers.length; i++) numbers[i] = ids.numberOf(words, i * 4)
    return numbers
  }

  const bytes = (): number => {
    let sum = ids.bytes() + users.bytes() + captured.byteLength + seen.byteLength
    for (const kept of [events, captures]) {
      for (const { conversations } of kept.values()) sum += conversations.byteLength * 2 + 200
    }
    for (const { buckets } of figures.values()) sum += buckets.length * 10 + 400
    return sum
  }

  /** Days of a kind that do not stand under the version that the store says, oldest first; what it no longer knows is forgotten. */
  const changed = (kept: Map<string, Versioned>, versions: Versions): string[] => {
    for (const day of kept.keys()) {
      if (versions.has(day)) continue
      kept.delete(day)
      stale = true
    }
    return [...versions].flatMap(([day, version]) => (kept.get(day)?.version === version ? [] : [day])).sort()
  }

  const resolve = (): void => {
    captured = new Uint32Array(ids.size())
    seen = new Uint32Array(ids.size())
    // A capture is later than all of an earlier day, so that the last day that names somebody stands.
    for (const day of [...captures.keys()].sort()) {
      const { conversations, users: named } = captures.get(day) as Pairs
      for (let i = 0; i < conversations.length; i++) captured[conversations[i] as number] = named[i] as number
    }
    for (const { conversations, users: named } of events.values()) {
      for (let i = 0; i < conversations.length; i++) {
        const conversation = conversations[i] as number
        seen[conversation] = users.larger(seen[conversation] as number, named[i] as number)
      }
    }
    stale = false
  }

  async function refresh(reader: Reader, maxBytes: number): Promise<boolean> {
    const versions = versionsOf(await reader.read<VersionRow>('day_versions', VERSIONS_SQL))
    const fits = (): boolean => bytes() <= maxBytes
    const keepPairs = (kept: Map<string, Pairs>, more: string) => (row: PairsRow) => {
      const { key, version } = row
      kept.set(key, { version: version + more, conversations: numbersOf(row), users: users.numbersOf(row.users) })
      stale = true
    }
    const keepFigures = (row: Figures): void => {
      const { buckets, counts } = row
      figures.set(row.key, { ...row, buckets: Int16Array.from(buckets), counts: Float64Array.from(counts) })
    }
    const fill = async <T, K>(
      question: keyof typeof DAYS_EACH,
      sql: string,
      { kept, versions, keep }: { kept: Map<string, K & Versioned>; versions: Versions; keep: (row: T) => void },
    ): Promise<boolean> => {
      const each = DAYS_EACH[question]
      const days = changed(kept, versions)
      for (let i = 0; i < days.length && fits(); i += each) {
        const some = days.slice(i, i + each)
        // Whatever becomes of the read: a day that is not kept is read next time, and one that the store no longer has stays away.
        for (const day of some) stale = kept.delete(day) || stale
        for (const row of await reader.read<T>(question, sql, boundDays(some))) keep(row)
      }
      return fits()
    }
    const replaced = ` ${versions.replaced}`
    const arrived = new Map([...versions.captures].map(([day, version]) => [day, version + replaced]))
    const ofEvents = { kept: events, versions: versions.events, keep: keepPairs(events, '') }
    const ofCaptures = { kept: captures, versions: arrived, keep: keepPairs(captures, replaced) }
    const ofFigures = { kept: figures, versions: versions.events, keep: keepFigures }
    const done =
      (await fill('day_conversations', DAY_CONVERSATIONS_SQL, ofEvents)) &&
      (await fill('day_captures', DAY_CAPTURES_SQL, ofCaptures)) &&
      (await fill('day_figures', DAY_FIGURES_SQL, ofFigures))
    if (done && stale) resolve()
    return done
  }

  return {
    refresh,
    days: () => events.keys(),
    conversationsOf: day => events.get(day)?.conversations ?? NONE,
    figuresOf: day => figures.get(day),
    userOf: conversation => captured[conversation] || seen[conversation] || 0,
    numbersOf,
    sizes: () => ({ conversations: ids.size(), users: users.size() }),
    bytes,
  }
}

const NONE = new Uint32Array(0)

function versionsOf(rows: readonly VersionRow[]) {
  const of = (kind: VersionRow['of']): Map<string, string> =>
    new Map(rows.flatMap(row => (row.of === kind ? [[row.day, row.version] as const] : [])))
  return { events: of('events'), captures: of('captures'), replaced: of('replaced').get('') ?? '' }
}

/** `days` are in order and not empty. */
function boundDays(days: readonly string[]): Parameters {
  const until = new Date(Date.parse(days.at(-1) as string) + DAY_MS).toISOString()
  return { days, since: `${days[0]} 00:00:00.000`, until: `${until.slice(0, 10)} 00:00:00.000` }
}

/** Names of users -> numbers from 1 on; 0 is the empty name. */
function createUsers() {
  const numbers = new Map<string, number>([['', 0]])
  const names = ['']
  let chars = 0
  const numberOf = (name: string): number => {
    const known = numbers.get(name)
    if (known !== undefined) return known
    numbers.set(name, names.length)
    chars += name.length
    return names.push(name) - 1
  }
  return {
    size: () => names.length,
    // What an entry of a Map and of a list takes besides its text.
    bytes: () => chars + names.length * 80,
    numbersOf: (list: readonly string[]): Uint32Array => Uint32Array.from(list, numberOf),
    /** The one whose name is larger, as the store compares: by bytes. */
    larger(a: number, b: number): number {
      if (a === b || b === 0) return a
      if (a === 0) return b
      return Buffer.compare(Buffer.from(names[a] as string), Buffer.from(names[b] as string)) < 0 ? b : a
    },
  }
}
