// Tools of days together, month by month, beside Sets: while days are read anew and conversations turn out to be of other users.
import t from 'tap'
import { createMarks } from './bits.ts'
import { createPeople } from './people.ts'
import type { Pairs, ToolDay, ToolsOfDay } from './rows.ts'
import { createToolMonths, type ToolSum } from './tool-months.ts'
import { createUsers } from './users.ts'

const DAYS = Array.from({ length: 75 }, (_, i) => new Date(Date.UTC(2026, 2, 20 + i)).toISOString().slice(0, 10))
const CONVERSATIONS = 30_000
const NAMES = ['find', 'send']

const users = createUsers()
const [nobody, ada, bob, cyd] = users.numbersOf(['', 'ada', 'bob', 'cyd']) as unknown as [number, ...number[]]
const people = createPeople(users)

/** Whose all conversations are, as captured on one day. */
const settle = (userOf: (conversation: number) => number | undefined): void => {
  const conversations = Uint32Array.from({ length: CONVERSATIONS }, (_, i) => i)
  const none = { version: '', counts: [], firsts: [], lasts: [], standing: [] } as unknown as Pairs
  const captured = { ...none, conversations, users: Uint32Array.from(conversations, i => userOf(i) ?? 0) }
  people.settle({ size: CONVERSATIONS, captures: new Map([['2026-03-01', captured]]), events: new Map() })
}

/** Three conversations a day and tool, some of them those of the day before. */
const dayOf = (i: number, more: readonly number[] = []): ToolsOfDay => ({
  version: '',
  tools: NAMES.map((name, n): ToolDay => {
    const conversations = Uint32Array.from([i * 40 + n, i * 40 + 7, (i + 1) * 40 + n, ...more])
    const last_at = `${DAYS[i]}T10:00:00.000000000Z`
    return {
      ...{
        kind: 'tool',
        name,
        calls: 5 + n,
        errors: n,
        timed: 4,
        us: 1_000 * i,
        slowest: i * 7 + n,
        last_at,
        conversations,
      },
      ...{ buckets: [i % 9, 3], counts: [2, 2] },
    }
  }),
})

const days = new Map(DAYS.map((day, i) => [day, dayOf(i)]))
const months = createToolMonths(people)

function told(sums: readonly ToolSum[], name: string) {
  const [conversations, of] = [createMarks(CONVERSATIONS), createMarks(users.size())]
  const some = sums.filter(sum => sum.name === name)
  for (const { mark } of some) mark(conversations, of)
  return {
    ...{ conversations: conversations.count(), users: of.count() - (of.has(0) ? 1 : 0) },
    ...{ calls: total(some, sum => sum.calls), us: total(some, sum => sum.us) },
    slowest: Math.max(0, ...some.map(sum => sum.slowest)),
    slow: total(some, ({ buckets, counts }) => counts[Array.from(buckets).indexOf(8)] ?? 0),
  }
}

const total = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((sum, one) => sum + of(one), 0)

function recounted(asked: readonly string[], name: string) {
  const some = asked.flatMap(day => days.get(day)?.tools.filter(tool => tool.name === name) ?? [])
  const conversations = new Set(some.flatMap(tool => Array.from(tool.conversations)))
  const of = new Set([...conversations].map(people.userOf).filter(user => user > 0))
  const slow = total(some, ({ buckets, counts }) => total(Array.from(buckets), b => (b === 8 ? (counts[0] ?? 0) : 0)))
  return {
    conversations: conversations.size,
    users: of.size,
    calls: total(some, s => s.calls),
    us: total(some, s => s.us),
    slowest: Math.max(0, ...some.map(s => s.slowest)),
    slow,
  }
}

/** All of the days, and windows that begin and end inside of months. */
const WINDOWS = [DAYS, DAYS.slice(20), DAYS.slice(20, 60), DAYS.slice(-3), DAYS.slice(4, 5), []]

t.test('months answer as their days do', async t => {
  const compare = (after: string): void => {
    for (const asked of WINDOWS) {
      const sums = months.of(asked, day => days.get(day), { conversations: CONVERSATIONS, users: users.size() })
      for (const name of NAMES) {
        t.strictSame(
          told(sums, name),
          recounted(asked, name),
          `${after}: ${asked.length} days from ${asked[0]}, ${name}`,
        )
      }
    }
  }
  settle(() => nobody)
  compare('nobody is known')
  settle(i => (i % 40 === 7 ? ada : nobody))
  compare('somebody is')
  days.set(DAYS[30] as string, dayOf(30, [9_999, 29_999]))
  compare('a closed day has been read anew')
  settle(i => (i === 29_999 ? bob : i % 40 === 7 ? ada : nobody))
  compare('one conversation of a closed month is of another')
  settle(i => (i % 3 === 0 ? cyd : i === 29_999 ? bob : nobody))
  compare('more have changed than are remembered')
  days.delete(DAYS[50] as string)
  compare('a day is gone')
})

t.test('a month is made once', async t => {
  const sums = () => months.of(DAYS, day => days.get(day), { conversations: CONVERSATIONS, users: users.size() })
  const before = months.bytes()
  t.ok(before > 0)
  sums()
  t.equal(months.bytes(), before, 'asked again it takes nothing more')
  months.clear()
  t.equal(months.bytes(), 0)
})
