// Who may go by what the store has said of its days, and who asks again.
import t from 'tap'
import type { Reader } from '../reader.ts'
import type { Shelf } from './shelves.ts'
import { createTelling, DENSE_EVENTS, type Telling, type Told } from './told.ts'

let asked = 0
/** A request; its store is asked at once and answers when `answer` is called. */
function createRequest(): { reader: Reader; answer: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const reader: Reader = {
    bounded: () => reader,
    read: async () => {
      asked++
      await promise
      return []
    },
  }
  return { reader, answer: resolve }
}
const answered = (): Reader => {
  const { reader, answer } = createRequest()
  answer()
  return reader
}

/** What a question goes by: what it may, or what it is told. */
const versions = async (telling: Telling, reader: Reader, since?: number): Promise<Told> =>
  telling.find(reader, { shelves: [], since })?.told ?? telling.again(reader)

t.beforeEach(() => {
  asked = 0
})

t.test('a request is told once; the next one is told anew', async t => {
  const telling = createTelling()
  const one = answered()
  const told = await versions(telling, one)
  t.equal(await versions(telling, one), told)
  t.equal(asked, 1)
  t.not(await versions(telling, answered()), told)
  t.equal(asked, 2)
})

t.test('whoever came before the store was asked goes by its answer, and nobody else', async t => {
  const telling = createTelling()
  const [early, { reader, answer }] = [telling.now(), createRequest()]
  const first = versions(telling, reader)
  const meanwhile = telling.now()
  answer()
  const told = await first
  t.equal(await versions(telling, answered(), early), told)
  t.equal(asked, 1)
  t.not(await versions(telling, answered(), meanwhile), told, 'rows may have come since the store was asked')
  t.equal(asked, 2)
})

t.test('what was told later serves an earlier request as well', async t => {
  const telling = createTelling()
  const one = answered()
  const told = await versions(telling, one)
  const later = await versions(telling, answered())
  t.equal(await versions(telling, one), later)
  t.not(later, told)
  t.equal(asked, 2)
})

t.test('after a failure everybody is told anew', async t => {
  const telling = createTelling()
  const one = answered()
  await versions(telling, one)
  telling.forget()
  await versions(telling, one)
  t.equal(asked, 2)
})

/** A time that stands still, and a question that may be lent what was told within 100 ms. */
function createLending() {
  const time = { ms: 1_000 }
  const telling = createTelling(() => time.ms)
  const shelf = {} as Shelf
  const find = (reader: Reader, shelves = [shelf]) => telling.find(reader, { shelves, lentMs: 100 })
  /** As after a look. */
  const tell = async (events = DENSE_EVENTS): Promise<Told> => {
    const told = await telling.again(answered())
    told.brought.add(shelf)
    told.came.set('2026-11-23', events)
    return told
  }
  return { telling, time, find, tell }
}

t.test('where events arrive densely, what was told shortly before is lent, and nothing older', async t => {
  const { telling, time, find, tell } = createLending()
  t.equal(find(answered()), null, 'nothing was told yet')
  const told = await tell()
  time.ms += 99
  t.strictSame(find(answered()), { told, how: 'lent', ageMs: 99 })
  t.equal(telling.find(answered(), { shelves: [] }), null, 'not to whoever must know what is stored now')
  t.equal(find(answered(), [{} as Shelf]), null, 'not to whoever needs what was not brought to it')
  time.ms++
  t.equal(find(answered()), null)
})

t.test('few arrivals are told exactly', async t => {
  const { find, tell } = createLending()
  await tell(DENSE_EVENTS - 1)
  t.equal(find(answered()), null)
})

t.test('later parts of a request go by what its first part was lent, or by what was told since', async t => {
  const { time, find, tell } = createLending()
  const told = await tell()
  const request = answered()
  t.equal(find(request)?.told, told)
  time.ms += 500
  t.strictSame(find(request), { told, how: 'lent', ageMs: 500 })
  t.equal(find(answered()), null)
  const later = await tell()
  t.strictSame(find(request), { told: later, how: 'shared', ageMs: 0 })
})

t.test('a part that has read rows goes by nothing that was lent', async t => {
  const { telling, find, tell } = createLending()
  await tell()
  const request = answered()
  t.equal(find(request)?.how, 'lent')
  t.equal(telling.find(request, { shelves: [], since: telling.now() }), null)
})

t.test('after a change nothing is lent that was asked for before it', async t => {
  const { telling, find, tell } = createLending()
  const request = answered()
  await tell()
  t.equal(find(request)?.how, 'lent')
  const { reader, answer } = createRequest()
  const underWay = telling.ask(reader)
  telling.endLoans()
  for (const one of [request, answered()]) t.equal(find(one), null)
  answer()
  const asked = await underWay
  asked.told.came.set('2026-11-23', DENSE_EVENTS)
  t.equal(telling.take(asked), true)
  t.equal(find(answered(), []), null, 'it was under way then')
  await tell()
  t.equal(find(answered())?.how, 'lent')
})

t.test('an answer that comes after a later one is not taken', async t => {
  const { telling, find, tell } = createLending()
  const { reader, answer } = createRequest()
  const underWay = telling.ask(reader)
  const told = await tell()
  answer()
  t.equal(telling.take(await underWay), false)
  t.equal(find(answered())?.told, told)
})
