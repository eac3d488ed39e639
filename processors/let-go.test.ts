// Memory that is given back at once, unless a request that failed may still read it. Slabs have slabs.test.ts.
import t from 'tap'
import { leave, letGo } from './let-go.ts'

t.test('what is let go is empty, and holds no memory', async t => {
  const bytes = new Uint8Array(1_000)
  letGo([bytes])
  t.equal(bytes.length, 0)
  t.equal(bytes.buffer.byteLength, 0)
  t.equal(bytes.buffer.detached, true)
  letGo([bytes])
  t.equal(bytes.length, 0, 'a second time does no harm')
})

t.test('what a request that failed may still read stays', async t => {
  const bytes = Uint8Array.of(1, 2, 3)
  leave(bytes)
  letGo([bytes, new Uint8Array(2)])
  t.same([...bytes], [1, 2, 3])
})

t.test('shared memory that nobody waits for stays', async t => {
  const bytes = new Uint8Array(new SharedArrayBuffer(4))
  letGo([bytes])
  t.equal(bytes.length, 4)
})
