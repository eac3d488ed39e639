import t from 'tap'
import { Rhythm } from './rhythm.ts'

/** A rhythm whose clock stands where `at` says; `insert` does one that begins and ends then. */
function rhythmOf(intervalMs: number) {
  let nowMs = 0
  const rhythm = new Rhythm(intervalMs, () => nowMs)
  return {
    waitMs: (atMs: number): number => {
      nowMs = atMs
      return rhythm.waitMs()
    },
    insert: (fromMs: number, toMs: number): Promise<void> => {
      nowMs = fromMs
      return rhythm.during(async () => {
        nowMs = toMs
      })
    },
  }
}

t.test('the first range is cut at once', async t => {
  const { waitMs } = rhythmOf(500)
  t.ok(waitMs(0) <= 0)
})

t.test('after a quick insert the interval counts, from where the insert began', async t => {
  const { insert, waitMs } = rhythmOf(500)
  await insert(1_000, 1_100)
  t.equal(waitMs(1_100), 400)
  t.equal(waitMs(1_600), -100)
})

t.test('an insert that takes long is a third of the time', async t => {
  const { insert, waitMs } = rhythmOf(500)
  await insert(1_000, 1_250)
  t.equal(waitMs(1_250), 500)
})

t.test('nothing waits longer than two intervals', async t => {
  const { insert, waitMs } = rhythmOf(500)
  await insert(1_000, 1_900)
  t.equal(waitMs(1_900), 100)
  await insert(3_000, 9_000)
  t.ok(waitMs(9_000) <= 0)
})

t.test('a quick insert ends the longer pauses', async t => {
  const { insert, waitMs } = rhythmOf(500)
  await insert(0, 900)
  await insert(1_000, 1_050)
  t.equal(waitMs(1_050), 450)
})

t.test('an insert that fails has taken its time as well', async t => {
  let nowMs = 0
  const rhythm = new Rhythm(500, () => nowMs)
  const failed = rhythm.during(async () => {
    nowMs = 300
    throw new Error('away')
  })
  await t.rejects(failed, { message: 'away' })
  t.equal(rhythm.waitMs(), 600)
})

t.test('without an interval nothing waits', async t => {
  const { insert, waitMs } = rhythmOf(0)
  await insert(1_000, 2_000)
  t.ok(waitMs(2_000) <= 0)
})
