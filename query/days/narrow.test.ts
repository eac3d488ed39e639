import t from 'tap'
import { narrowed } from './narrow.ts'

t.test('numbers stand in the narrowest array that holds them', async t => {
  const width = (...numbers: number[]): number => {
    const array = narrowed(numbers)
    t.strictSame([...array], numbers)
    return array.BYTES_PER_ELEMENT
  }
  t.equal(width(), 1)
  t.equal(width(0, 255), 1)
  t.equal(width(256, 1), 2)
  t.equal(width(65_535), 2)
  t.equal(width(65_536), 4)
  t.equal(width(2 ** 32 - 1), 4)
  t.equal(width(2 ** 32, 7), 8)
  t.equal(width(Number.MAX_SAFE_INTEGER), 8)
  t.equal(width(-1, 3), 8, 'sums of what is being corrected may be below 0')
})
