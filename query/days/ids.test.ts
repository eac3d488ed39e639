// Ids and their numbers, against a Map.
import t from 'tap'
import { createIds, wordsOf } from './ids.ts'

t.test('each id has one number, in the order in which they come', t => {
  const ids = createIds()
  const known = new Map<string, number>()
  let wrong = 0
  let state = 1
  for (let i = 0; i < 20_000; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    // Some come again, some differ in one word only, as ids that count do.
    const words = new Uint32Array([7, i % 3, 0, (state >>> 8) % 9_000])
    const name = words.join(' ')
    const expected = known.get(name) ?? known.size
    known.set(name, expected)
    if (ids.numberOf(words, 0) !== expected) wrong++
  }
  t.strictSame([wrong, ids.size()], [0, known.size])
  const words = new Uint32Array([0x89abcdef, 0x01234567, 0x0000000d, 0xf0000000])
  t.equal(ids.textOf(ids.numberOf(words, 0)), '01234567-89ab-cdef-f000-00000000000d', 'halves of a uuid')
  t.equal(ids.find('01234567-89ab-cdef-f000-00000000000d'), ids.size() - 1)
  t.equal(ids.find('11234567-89ab-cdef-f000-00000000000d'), undefined)
  t.end()
})

t.test('ids are in the order of their texts', t => {
  const ids = createIds()
  const parts = [0, 1, 0x1_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]
  for (let i = 0; i < parts.length ** 4; i++) {
    const words = Uint32Array.from({ length: 4 }, (_, place) => parts[Math.floor(i / 6 ** place) % 6] as number)
    ids.numberOf(words, 0)
  }
  const numbers = Array.from({ length: ids.size() }, (_, number) => number)
  const byText = numbers.toSorted((a, b) => (ids.textOf(a) < ids.textOf(b) ? -1 : 1))
  t.equal(new Set(numbers.map(ids.textOf)).size, 6 ** 4)
  t.strictSame(
    numbers.toSorted((a, b) => ids.compare(a, b)),
    byText,
  )
  t.equal(ids.compare(5, 5), 0)
  t.end()
})

t.test('bytes come as words, zeros at the end as well', t => {
  const bytes = Buffer.alloc(32)
  bytes.writeUInt32LE(5, 0)
  bytes.writeUInt32LE(9, 16)
  t.strictSame([...wordsOf(bytes.toString('base64'))], [5, 0, 0, 0, 9, 0, 0, 0])
  t.strictSame([...wordsOf('')], [])
  t.end()
})
