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

t.test('bytes come as words, zeros at the end as well', t => {
  const bytes = Buffer.alloc(32)
  bytes.writeUInt32LE(5, 0)
  bytes.writeUInt32LE(9, 16)
  t.strictSame([...wordsOf(bytes.toString('base64'))], [5, 0, 0, 0, 9, 0, 0, 0])
  t.strictSame([...wordsOf('')], [])
  t.end()
})
