// The first of many are those that stand first when all are put in order.
import t from 'tap'
import { createDice } from '../fixture-random.ts'
import { firstOf } from './first.ts'

t.test('as when all are put in order, however they stand', t => {
  const dice = createDice(66)
  for (const [size, ranks] of [
    [0, 1],
    [3, 2],
    [500, 3],
    [3_000, 40],
    [3_000, 3_000],
  ] as const) {
    const numbers = Array.from({ length: size }, (_, i) => i)
    const rank = numbers.map(() => dice.below(ranks))
    const order = (a: number, b: number): number => (rank[a] as number) - (rank[b] as number) || (a < b ? -1 : 1)
    const inOrder = numbers.toSorted(order)
    const lists = { 'in order': inOrder, 'the other way round': inOrder.toReversed(), 'in any': numbers }
    for (const [how, list] of Object.entries(lists)) {
      for (const count of [0, 1, 20, 700, 5_000]) {
        t.strictSame(firstOf(list, count, order), inOrder.slice(0, count), `${count} of ${size}, ${how}`)
        const isOdd = (one: number): boolean => one % 2 === 1
        const odd = inOrder.filter(isOdd).slice(0, count)
        t.strictSame(firstOf(Uint32Array.from(list), count, order, isOdd), odd, `of those that pass, ${how}`)
      }
    }
  }
  t.end()
})

t.test('most are looked at once', t => {
  const numbers = Array.from({ length: 50_000 }, (_, i) => i)
  let looks = 0
  firstOf(numbers, 50, (a, b) => {
    looks++
    return b - a
  })
  t.ok(looks < numbers.length * 1.1, `${looks}`)
  t.end()
})
