// Memory for blocks that comes back when they are stored, and only then.
import t from 'tap'
import { leave, letGo } from './let-go.ts'
import { Slabs } from './slabs.ts'

const LARGE = 2 * 1024 * 1024

/** Two bodies in a slab, as a thread answers with them. */
const made = (slab: SharedArrayBuffer): Uint8Array[] => [new Uint8Array(slab, 0, 10), new Uint8Array(slab, 10, 20)]

const lent = (slabs: Slabs): SharedArrayBuffer => {
  const slab = slabs.lend(LARGE)
  if (slab === undefined) throw new Error('no slab')
  return slab
}

t.test('a slab is lent again when all bodies in it have been let go', async t => {
  const slabs = new Slabs()
  const slab = lent(slabs)
  t.ok(slab.byteLength >= LARGE)
  const [first, second] = slabs.received(slab, LARGE, made(slab)) as [Uint8Array, Uint8Array]
  t.equal(first.buffer, slab)
  t.same([second.byteOffset, second.length], [10, 20])
  letGo([first])
  const other = lent(slabs)
  t.not(other, slab, 'one of them is in use')
  letGo([second])
  t.equal(lent(slabs), slab)
  t.not(lent(slabs), slab, 'it is lent once at a time')
})

t.test('a body whose request failed keeps its slab for ever', async t => {
  const slabs = new Slabs()
  const slab = lent(slabs)
  const bodies = slabs.received(slab, LARGE, made(slab))
  leave(bodies[0] as Uint8Array)
  letGo(bodies)
  t.not(lent(slabs), slab)
})

t.test('what found no room in the slab is freed as ever, and a slab with nothing in it is back at once', async t => {
  const slabs = new Slabs()
  const slab = lent(slabs)
  const bodies = slabs.received(slab, LARGE, [new Uint8Array(5)])
  const again = lent(slabs)
  t.equal(again, slab)
  letGo(bodies)
  t.equal(bodies[0]?.length, 0)
  const mixed = slabs.received(again, LARGE, [new Uint8Array(again, 0, 3), new Uint8Array(5)])
  letGo(mixed)
  t.equal(lent(slabs), slab)
})

t.test('small ranges are lent nothing, and blocks that grow are lent more', async t => {
  const slabs = new Slabs()
  t.equal(slabs.lend(1_000), undefined)
  const slab = lent(slabs)
  letGo(slabs.received(slab, LARGE, [new Uint8Array(slab, 0, 8), new Uint8Array(8 * LARGE)]))
  t.ok(lent(slabs).byteLength >= 8 * LARGE)
})
