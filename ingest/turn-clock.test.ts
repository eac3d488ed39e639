import t from 'tap'
import { createTurnClock } from './turn-clock.ts'

t.test('the time is asked for once in a turn, and anew in the next', async t => {
  let asked = 0
  const clock = createTurnClock(() => 1_790_000_000_000 + ++asked)
  t.equal(clock(), 1_790_000_000_001)
  await Promise.resolve()
  t.equal(clock(), 1_790_000_000_001, 'the same turn')
  // Behind the clock's own: immediates run in the order in which they were asked for.
  await new Promise(resolve => setImmediate(resolve))
  t.equal(clock(), 1_790_000_000_002)
  t.equal(asked, 2)
})
