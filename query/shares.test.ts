import t from 'tap'
import { createShares } from './shares.ts'

const never = new AbortController().signal

/** Work that ends when it is told to. */
function task() {
  let end = (): void => undefined
  let started = false
  const done = new Promise<void>(resolve => (end = resolve))
  const work = (): Promise<void> => {
    started = true
    return done
  }
  return { work, end: () => end(), started: () => started }
}

/** Lets every step that is due happen. */
const settle = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

t.test('an organization runs so many at once, the others of it in order; others are not held up', async t => {
  const shares = createShares(2)
  const tasks = [task(), task(), task(), task()]
  const other = task()
  const running = tasks.map(({ work }) => shares.run('a', never, work))
  const beside = shares.run('b', never, other.work)
  await settle()
  const started = (): boolean[] => tasks.map(one => one.started())
  t.strictSame([started(), other.started(), shares.waiting()], [[true, true, false, false], true, 2])
  tasks[1]?.end()
  await settle()
  t.strictSame([started(), shares.waiting()], [[true, true, true, false], 1])
  tasks[0]?.end()
  await settle()
  t.strictSame(started(), [true, true, true, true])
  for (const one of [...tasks, other]) one.end()
  await Promise.all([...running, beside])
  t.equal(shares.waiting(), 0)
})

t.test('who leaves while waiting is cancelled, and its place goes to the next', async t => {
  const shares = createShares(1)
  const [first, gone, last] = [task(), task(), task()]
  const left = new AbortController()
  const running = shares.run('a', never, first.work)
  const cancelled = shares.run('a', left.signal, gone.work)
  const after = shares.run('a', never, last.work)
  left.abort()
  await t.rejects(cancelled, { code: 'QRY_CANCELLED' })
  await t.rejects(shares.run('a', AbortSignal.abort(), gone.work), { code: 'QRY_CANCELLED' })
  first.end()
  await running
  await settle()
  t.strictSame([gone.started(), last.started()], [false, true])
  last.end()
  await after
})

t.test('work that fails leaves its place', async t => {
  const shares = createShares(1)
  await t.rejects(
    shares.run('a', never, () => Promise.reject(new Error('no'))),
    /no/,
  )
  t.equal(await shares.run('a', never, async () => 7), 7)
})
