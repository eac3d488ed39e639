// Who may go by what the store has said of its days, and who asks again.
import t from 'tap'
import type { Reader } from '../reader.ts'
import { createTelling } from './told.ts'

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

t.beforeEach(() => {
  asked = 0
})

t.test('a request is told once; the next one is told anew', async t => {
  const telling = createTelling()
  const one = answered()
  const told = await telling.versions(one)
  t.equal(await telling.versions(one), told)
  t.equal(asked, 1)
  t.not(await telling.versions(answered()), told)
  t.equal(asked, 2)
})

t.test('whoever came before the store was asked goes by its answer, and nobody else', async t => {
  const telling = createTelling()
  const [early, { reader, answer }] = [telling.now(), createRequest()]
  const first = telling.versions(reader)
  const meanwhile = telling.now()
  answer()
  const told = await first
  t.equal(await telling.versions(answered(), early), told)
  t.equal(asked, 1)
  t.not(await telling.versions(answered(), meanwhile), told, 'rows may have come since the store was asked')
  t.equal(asked, 2)
})

t.test('what was told later serves an earlier request as well', async t => {
  const telling = createTelling()
  const one = answered()
  const told = await telling.versions(one)
  const later = await telling.versions(answered())
  t.equal(await telling.versions(one), later)
  t.not(later, told)
  t.equal(asked, 2)
})

t.test('after a failure everybody is told anew', async t => {
  const telling = createTelling()
  const one = answered()
  await telling.versions(one)
  telling.forget()
  await telling.versions(one)
  t.equal(asked, 2)
})
