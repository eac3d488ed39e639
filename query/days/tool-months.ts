// Tools of the days of a month, added up once: sums, and who called as bits, until a day of it is read anew. Days that are still being
// written are left out, so that what arrives today leaves all months as they are.
import { type Bits, bytesOfBits, contains, createMarks, forEachOf, type Marks } from './bits.ts'
import { createHistogram } from './histogram.ts'
import type { People } from './people.ts'
import { keepRecent } from './recent.ts'
import type { ToolDay, ToolsOfDay } from './rows.ts'

/** Months, or ends of them, that are kept; the one that was not asked for the longest time goes. */
const MONTHS_MAX = 48
/** Newest days that are never part of a month. */
const OPEN_DAYS = 2

/** Empty between two calls. */
const histogram = createHistogram()

/** Calls of one tool on some days, with whoever called. */
export interface ToolSum extends Omit<ToolDay, 'conversations'> {
  mark(conversations: Marks, users: Marks): void
}

/** Tools of one day. */
export function toolSumOf(tool: ToolDay, people: People): ToolSum {
  return {
    ...tool,
    mark(conversations, users) {
      const { conversations: of } = tool
      for (let i = 0; i < of.length; i++) {
        const conversation = of[i] as number
        if (conversations.has(conversation)) continue
        conversations.add(conversation)
        users.add(people.userOf(conversation))
      }
    },
  }
}

/** Months of an organization. */
export interface ToolMonths {
  /** Tools of some days, which are in order: month by month as far as they are closed, else day by day. */
  of(days: readonly string[], toolsOf: (day: string) => ToolsOfDay | undefined, sizes: Sizes): ToolSum[]
  clear(): void
  bytes(): number
}

/** Numbers of conversations and of users are below them. */
export interface Sizes {
  readonly conversations: number
  readonly users: number
}

interface Month {
  /** What it was made of, by identity: what is held of a day is made anew whenever it is read. */
  readonly days: readonly (ToolsOfDay | undefined)[]
  readonly tools: readonly Called[]
  /** Up to where changes of people are in `users` of its tools. */
  known: number
}

interface Called extends Omit<ToolDay, 'conversations'> {
  readonly conversations: Bits
  users: Bits
}

/** No months yet. */
export function createToolMonths(people: People): ToolMonths {
  const months = new Map<string, Month>()
  const monthOf = (name: string, days: Month['days'], sizes: Sizes): Month => {
    const found = months.get(name)
    const same = found?.days.length === days.length && found.days.every((day, i) => day === days[i])
    const month = found !== undefined && same ? found : makeMonth(days, sizes, people)
    keepRecent(months, [name, month], MONTHS_MAX)
    catchUp(month, sizes, people)
    return month
  }
  return {
    of(days, toolsOf, sizes) {
      const closed = days.slice(0, -OPEN_DAYS)
      const open = days.slice(-OPEN_DAYS).flatMap(day => toolsOf(day)?.tools ?? [])
      const ofMonths = [...Map.groupBy(closed, day => day.slice(0, 7)).values()].flatMap(some =>
        // By its ends: windows begin and end inside of months.
        monthOf(`${some[0]} ${some.at(-1)}`, some.map(toolsOf), sizes).tools.map(sumOfCalled),
      )
      return [...ofMonths, ...open.map(tool => toolSumOf(tool, people))]
    },
    clear: () => months.clear(),
    bytes() {
      const bits = [...months.values()].flatMap(({ tools }) => tools)
      return bits.reduce((sum, { conversations, users }) => sum + bytesOfBits(conversations) + bytesOfBits(users), 0)
    },
  }
}

const sumOfCalled = (called: Called): ToolSum => ({
  ...called,
  mark(conversations, users) {
    conversations.addAll(called.conversations)
    users.addAll(called.users)
  },
})

function makeMonth(days: Month['days'], sizes: Sizes, people: People): Month {
  const marks = { conversations: createMarks(sizes.conversations), users: createMarks(sizes.users) }
  const calls = days.flatMap(day => day?.tools ?? [])
  const tools = [...Map.groupBy(calls, ({ kind, name }) => `${kind} ${name}`).values()].map((some): Called => {
    for (const tool of some) toolSumOf(tool, people).mark(marks.conversations, marks.users)
    const who = { conversations: marks.conversations.keep(), users: marks.users.keep() }
    marks.conversations.clear()
    marks.users.clear()
    return { ...together(some), ...who }
  })
  return { days, tools, known: people.changes().end }
}

/** Makes users anew where a conversation has another since. */
function catchUp(month: Month, { users }: Sizes, people: People): void {
  const { end, since } = people.changes()
  if (month.known === end) return
  const changed = since(month.known)
  const marks = createMarks(users)
  for (const called of month.tools) {
    if (changed !== null && !changed.some(conversation => contains(called.conversations, conversation))) continue
    forEachOf(called.conversations, conversation => marks.add(people.userOf(conversation)))
    called.users = marks.keep()
    marks.clear()
  }
  month.known = end
}

/** Sums of one tool, without who called. */
export function together(some: readonly Omit<ToolDay, 'conversations'>[]): Omit<ToolDay, 'conversations'> {
  const { kind, name } = some[0] as ToolDay
  const sums = { calls: 0, errors: 0, timed: 0, us: 0, slowest: 0, last_at: '' }
  for (const { calls, errors, timed, us, slowest, last_at, buckets, counts } of some) {
    sums.calls += calls
    sums.errors += errors
    sums.timed += timed
    sums.us += us
    sums.slowest = Math.max(sums.slowest, slowest)
    if (last_at > sums.last_at) sums.last_at = last_at
    for (let i = 0; i < buckets.length; i++) histogram.add(buckets[i] as number, counts[i] as number)
  }
  const { buckets, counts } = histogram.take()
  return { kind, name, ...sums, buckets: Int16Array.from(buckets), counts: Float64Array.from(counts) }
}
