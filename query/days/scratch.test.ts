// What is lent is all 0 and as long as asked for, whatever the work before it has written, and however it ended.
import t from 'tap'
import { withBytes } from './scratch.ts'

t.test('nobody finds what another one wrote', async t => {
  const isZero = (list: Uint8Array): boolean => list.every(byte => byte === 0)
  const write = (length: number, more?: () => unknown) =>
    withBytes(length, bytes => {
      t.equal(bytes.length, length)
      t.ok(isZero(bytes))
      bytes.fill(7)
      more?.()
      t.ok(
        bytes.every(byte => byte === 7),
        'what is lent meanwhile is another one',
      )
    })
  write(100, () => write(50, () => write(300)))
  write(300)
  t.throws(() =>
    write(90, () => {
      throw new Error('on purpose')
    }),
  )
  write(200)
  t.equal(
    withBytes(0, bytes => bytes.length),
    0,
  )
})
