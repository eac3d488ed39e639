// What comes to a day in many parts is all there, in few pieces, and what was there before is left as it was.
import t, { type Test } from 'tap'
import { createDice } from '../fixture-random.ts'
import { addPrices, addTools } from './add.ts'
import type { Priced, PricesOfDay, ToolDay, ToolsOfDay } from './rows.ts'

const dice = createDice(20_261_123)
const PARTS = 400

const conversationsOf = (first: number): Uint32Array =>
  Uint32Array.from({ length: 1 + dice.below(9) }, (_, i) => first + i)

function prices(first: number): PricesOfDay {
  const priced = ['small', 'large'].map((model): Priced => {
    const conversations = conversationsOf(first)
    const sums = [Float64Array.from(conversations, () => dice.below(100)), new Float64Array(0)]
    return { model, provider: 'acme', how: 1, repeating: 0, size: 0, conversations, sums }
  })
  return { version: '1', priced }
}

function tools(first: number): ToolsOfDay {
  const some = ['find', 'send'].map((name): ToolDay => {
    const conversations = conversationsOf(first)
    const sums = { calls: conversations.length, errors: dice.below(2), timed: 1, us: dice.below(1_000), slowest: first }
    const last_at = new Date(Date.UTC(2026, 10, 23) + first).toISOString()
    return { kind: 'tool', name, ...sums, last_at, conversations, buckets: [1, dice.below(4) + 2], counts: [1, 2] }
  })
  return { version: '1', tools: some }
}

const total = (numbers: Iterable<number>): number => [...numbers].reduce((sum, n) => sum + n, 0)

/** By name, what pieces come to. */
const pricedIn = (parts: readonly PricesOfDay[]) =>
  Object.groupBy(
    parts
      .flatMap(({ priced }) => priced)
      .map(({ model, conversations, sums: [some] }) => ({
        model,
        length: conversations.length,
        sum: total(some ?? []),
      })),
    ({ model }) => model,
  )
const calledIn = (parts: readonly ToolsOfDay[]) =>
  Map.groupBy(
    parts.flatMap(({ tools }) => tools),
    ({ name }) => name,
  )

/** All parts together, one after the other; what was there before each stays as it was. */
const addAll = <Day>(t: Pick<Test, 'strictSame'>, parts: readonly Day[], add: (one: Day, other: Day) => Day): Day =>
  parts.reduce((day, part) => {
    const before = structuredClone(day)
    const next = add(day, part)
    t.strictSame(day, before)
    return next
  })

t.test('prices', async t => {
  const parts = Array.from({ length: PARTS }, (_, i) => prices(i * 3))
  const day = addAll(t, parts, addPrices)
  t.equal(day.version, String(PARTS))
  const [found, expected] = [pricedIn([day]), pricedIn(parts)]
  for (const model of ['small', 'large']) {
    const sumOf = (of: typeof found, what: 'length' | 'sum') => total((of[model] ?? []).map(one => one[what]))
    for (const what of ['length', 'sum'] as const) t.equal(sumOf(found, what), sumOf(expected, what))
    t.ok((found[model] ?? []).length < 16, 'in few pieces')
  }
})

t.test('tools', async t => {
  const parts = Array.from({ length: PARTS }, (_, i) => tools(i * 3))
  const day = addAll(t, parts, addTools)
  const [found, expected] = [calledIn([day]), calledIn(parts)]
  for (const name of ['find', 'send']) {
    const [some, all] = [found.get(name) ?? [], expected.get(name) ?? []]
    for (const what of ['calls', 'errors', 'timed', 'us'] as const) {
      t.equal(total(some.map(one => one[what])), total(all.map(one => one[what])))
    }
    const callers = (of: readonly ToolDay[]) => new Set(of.flatMap(one => [...one.conversations]))
    t.strictSame(callers(some), callers(all))
    const timed = (of: readonly ToolDay[]) => total(of.flatMap(one => [...Array.from(one.counts)]))
    t.equal(timed(some), timed(all))
    t.equal(
      some
        .map(one => one.last_at)
        .sort()
        .at(-1),
      all.at(-1)?.last_at,
    )
    t.ok(some.length < 16, 'in few pieces')
  }
})
