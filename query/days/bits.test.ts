// Sets of numbers as bits beside Sets.
import t from 'tap'
import { contains, createMarks, forEachOf } from './bits.ts'

const SIZE = 2_000
/** Numbers at the ends of words, and whatever a fixed rule brings. */
const SETS = [
  [],
  [0],
  [31, 32, 63, 64],
  [1_999],
  Array.from({ length: 300 }, (_, i) => (i * i * 7 + i) % SIZE),
  Array.from({ length: 64 }, (_, i) => 640 + i),
]

t.test('a union holds what any of its sets holds, each number once', async t => {
  const marks = createMarks(SIZE)
  for (const a of SETS) {
    for (const b of SETS) {
      for (const number of a) marks.add(number)
      const kept = marks.keep()
      marks.clear()
      t.equal(marks.count(), 0)
      for (const number of b) marks.add(number)
      marks.addAll(kept)
      const both = new Set([...a, ...b])
      t.equal(marks.count(), both.size)
      const found: number[] = []
      forEachOf(marks.keep(), number => found.push(number))
      t.strictSame(
        found,
        [...both].sort((x, y) => x - y),
      )
      const all = Array.from({ length: SIZE }, (_, number) => number)
      t.strictSame(
        all.filter(number => contains(kept, number)),
        [...new Set(a)].sort((x, y) => x - y),
      )
      t.ok(all.every(number => marks.has(number) === both.has(number)))
      marks.clear()
    }
  }
})
