// Bodies by the million through the reader of bytes alone; fixture-fuzz.ts says what is promised of them. A hundred thousand in every
// run of the tests; another number, and another seed, may be given as arguments: `node processors/bytes/fuzz.test.ts 10000000 7`.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { PackFuzz, type PackTally } from './fixture-fuzz.ts'

const BODIES = Number(process.argv[2] ?? 100_000)
const SEED = Number(process.argv[3] ?? 1)
/** Bodies after which memory is looked at. */
const PORTION = 50_000
/** Tables of words, keys and plans when they are full, the sources of the tests' own mutations, and V8's code. */
const HELD_BYTES = 256 * 1024 * 1024

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** What is alive. */
function held(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

t.test('whatever a body holds, it becomes rows or a named refusal, and nothing is kept of it', async t => {
  const fuzz = new PackFuzz(SEED)
  const all: PackTally = { bodies: 0, planned: 0, objects: 0, refused: 0, growth: 0 }
  let most = 0
  while (all.bodies < BODIES) {
    const met = fuzz.run(Math.min(PORTION, BODIES - all.bodies))
    all.bodies += met.bodies
    all.planned += met.planned
    all.objects += met.objects
    all.refused += met.refused
    all.growth = Math.max(all.growth, met.growth)
    most = Math.max(most, held())
  }
  t.comment(`${JSON.stringify(all)}, ${Math.round(most / 1024 / 1024)} MiB alive at most`)
  t.ok(all.planned > all.bodies / 20, `${all.planned} spans were read by plans`)
  t.ok(all.objects > all.bodies / 20, `${all.objects} spans were read as objects`)
  t.ok(all.refused > all.bodies / 20, `${all.refused} bodies were refused`)
  t.ok(all.growth < 8, `blocks are ${all.growth} times as large as what they were made of`)
  t.ok(most < HELD_BYTES, `${most} bytes are alive`)
})
