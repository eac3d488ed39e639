// Traces that were met are known again, whatever their hashes; others seldom are.
import t from 'tap'
import { randomOf } from '#runtime/seeded.ts'
import { TraceFilter, type TraceHash } from './trace-filter.ts'

const random = randomOf(3)
const word = (): number => random(65_536) * 65_536 + random(65_536)
const some = (n: number): TraceHash[] => Array.from({ length: n }, () => ({ low: word(), high: word() }))

t.test('what was added is known, and of what was not one of hundreds', async t => {
  for (const traces of [0, 1, 1_000, 50_000]) {
    const filter = new TraceFilter(traces)
    const [met, others] = [some(traces), some(20_000)]
    for (const hash of met) filter.add(hash)
    t.equal(met.filter(hash => !filter.has(hash)).length, 0, `${traces} are known`)
    const taken = others.filter(hash => filter.has(hash)).length
    t.ok(taken < 100, `${taken} of 20000 others are taken for known`)
  }
})

t.test('hashes of any kind are known again', async t => {
  const ends = [0, 1, 0x7fffffff, 0x80000000, 0xffffffff]
  const hashes = ends.flatMap(low => ends.map(high => ({ low, high })))
  const filter = new TraceFilter(1)
  t.ok(hashes.every(hash => !filter.has(hash)))
  for (const hash of hashes) filter.add(hash)
  t.ok(hashes.every(hash => filter.has(hash)))
})

t.test('one that holds more than it is made for says so', async t => {
  const filter = new TraceFilter(1_000)
  for (const hash of some(1_000)) filter.add(hash)
  t.notOk(filter.isFull)
  for (const hash of some(5_000)) filter.add(hash)
  t.ok(filter.isFull)
})
