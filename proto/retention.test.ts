import t from 'tap'
import { cutoffsOf, KEEP_EVERYTHING, retentionClass } from './retention.ts'

t.test('the shortest of both times decides the class', async t => {
  const f = (events_days: number | null, texts_days: number | null, expected: number): void =>
    void t.equal(retentionClass({ events_days, texts_days }), expected, `${events_days} and ${texts_days}`)
  f(null, null, 0)
  f(30, null, 1)
  f(null, 7, 1)
  f(45, 45, 1)
  f(46, null, 2)
  f(400, 200, 2)
  f(400, null, 3)
})

t.test('rows go by whole days, texts no later than their events', async t => {
  const now = Date.UTC(2026, 5, 15, 12)
  t.strictSame(cutoffsOf(KEEP_EVERYTHING, now), { events: null, texts: null })
  const day = Date.UTC(2026, 5, 5)
  t.strictSame(cutoffsOf({ events_days: 10, texts_days: null }, now), { events: day, texts: day })
  t.strictSame(cutoffsOf({ events_days: null, texts_days: 10 }, now), { events: null, texts: day })
})
