// The checksum of a block: the same for the same bytes, another one for any small difference, wherever it stands.
import t from 'tap'
import { checksumOf } from './checksum.ts'

const PIECE = 64 * 1024

t.test('one bit more or less is seen in every piece, and at its ends', async t => {
  const bytes = Buffer.alloc(3 * PIECE + 7, 'block')
  const whole = checksumOf(bytes)
  t.match(whole, /^[0-9a-f]{16}$/)
  for (const at of [0, PIECE - 1, PIECE, 2 * PIECE + 5, 3 * PIECE, bytes.length - 1]) {
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
    t.not(checksumOf(bytes), whole, `at ${at}`)
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  }
  t.equal(checksumOf(bytes), whole)
})

t.test('lengths and the order of pieces count', async t => {
  const zeros = [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE].map(length => checksumOf(new Uint8Array(length)))
  t.equal(new Set(zeros).size, zeros.length)
  const [a, b] = [Buffer.alloc(PIECE, 'a'), Buffer.alloc(PIECE, 'b')]
  t.not(checksumOf(Buffer.concat([a, b])), checksumOf(Buffer.concat([b, a])))
})

t.test('where the bytes stand in memory is all the same', async t => {
  const bytes = Buffer.from('the same bytes')
  t.equal(checksumOf(Buffer.concat([Buffer.from('x'), bytes]).subarray(1)), checksumOf(bytes))
})
