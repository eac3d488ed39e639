import t from 'tap'
import { cutText, shareOf } from './cut.ts'

t.test('texts share what an answer has room for, and none has more than its own', async t => {
  const f = (sizes: number[], each: number, total: number, expected: number): void =>
    void t.equal(shareOf(sizes, { each, total }), expected, JSON.stringify({ sizes, each, total }))
  f([], 10, 100, 10)
  f([10, 10], 10, 20, 10)
  f([99, 99], 10, 20, 10)
  f([99, 99, 99], 10, 20, 6)
  f([1, 99, 99], 10, 20, 9)
  f([0, 0, 99], 50, 40, 40)
  f([99, 99], Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
  for (let round = 0; round < 500; round++) {
    const sizes = Array.from({ length: 1 + (round % 40) }, (_, i) => (i * 7919 + round * 104_729) % 5_000)
    const limits = { each: 1 + ((round * 31) % 4_096), total: (round * 977) % 60_000 }
    const share = shareOf(sizes, limits)
    const shown = (at: number): number => sizes.reduce((sum, size) => sum + Math.min(size, at), 0)
    t.ok(share <= limits.each && shown(share) <= limits.total, `${round}: not too much`)
    t.ok(share === limits.each || shown(share + 1) > limits.total, `${round}: and not less than fits`)
  }
})

t.test('a text is cut on a character', async t => {
  const f = (text: string, bytes: number, expected: string): void => void t.equal(cutText(text, bytes), expected)
  f('abc', 3, 'abc')
  f('abc', 2, 'ab')
  f('a€b', 3, 'a')
  f('a€b', 4, 'a€')
  f('😀', 3, '')
  f('', 0, '')
  f('x'.repeat(9), Number.POSITIVE_INFINITY, 'x'.repeat(9))
})
