import t from 'tap'
import {
  CLAMP,
  clamp,
  fromMs,
  fromNanosHalves,
  fromNanosText,
  monthOf,
  nanosBetween,
  sqlMillis,
  sqlNanos,
} from '#proto/time.ts'

t.test('nanoseconds survive from digits and from fixed64 halves, exactly', async t => {
  const f = (nanos: bigint) => {
    const expected = { ms: Number(nanos / 1_000_000n), ns: Number(nanos % 1_000_000n) }
    t.strictSame(fromNanosText(String(nanos)), expected, `text ${nanos}`)
    t.strictSame(fromNanosHalves(Number(nanos & 0xffff_ffffn), Number(nanos >> 32n)), expected, `halves ${nanos}`)
  }
  f(0n)
  f(1n)
  f(999_999n)
  f(1_000_000n)
  f(1_760_000_000_123_456_789n)
  f(4_294_967_295n)
  f(4_294_967_296n)
  f(9_223_372_036_854_775_807n)
  let seed = 7n
  for (let i = 0; i < 1000; i++) {
    seed = (seed * 6364136223846793005n + 1442695040888963407n) & 0x7fff_ffff_ffff_ffffn
    f(seed)
  }
})

t.test('text that is no run of digits is no time', async t => {
  for (const text of ['', '-1', '1.5', '1e9', ' 1', '12345678901234567890', 'NaN'])
    t.equal(fromNanosText(text), null, text)
})

t.test('times are written as the store reads them', async t => {
  t.equal(sqlNanos({ ms: Date.UTC(2026, 0, 2, 3, 4, 5, 6), ns: 7 }), '2026-01-02 03:04:05.006000007')
  t.equal(sqlMillis(Date.UTC(2026, 0, 2, 3, 4, 5, 6)), '2026-01-02 03:04:05.006')
  t.equal(monthOf(Date.UTC(2026, 11, 31, 23, 59, 59, 999)), 202612)
})

t.test('a time far from its arrival is moved to the nearest allowed one, any other is the same object', async t => {
  const now = Date.UTC(2026, 10, 20)
  const near = fromMs(now - 5)
  t.equal(clamp(near, now), near)
  t.strictSame(clamp(fromMs(0), now), fromMs(now - CLAMP.pastMs))
  t.strictSame(clamp({ ms: now + CLAMP.futureMs + 1, ns: 5 }, now), fromMs(now + CLAMP.futureMs))
})

t.test('differences are in nanoseconds', async t => {
  t.equal(nanosBetween({ ms: 5, ns: 999_999 }, { ms: 6, ns: 1 }), 2)
  t.equal(nanosBetween({ ms: 6, ns: 1 }, { ms: 5, ns: 999_999 }), -2)
})

t.test('times as SQL are those of ISO 8601, over days, before 1970, and where the same day comes again', async t => {
  for (let i = 0; i < 2000; i++) {
    const ms = (i % 7) * 86_400_000 * 365 - 4e11 + i * 43_199_999
    const iso = new Date(ms).toISOString()
    const expected = `${iso.slice(0, 10)} ${iso.slice(11, 23)}`
    if (sqlMillis(ms) !== expected) t.equal(sqlMillis(ms), expected)
    if (sqlNanos({ ms, ns: i * 499 }) !== `${expected}${String(i * 499).padStart(6, '0')}`) t.fail(expected)
  }
  t.throws(() => sqlMillis(Number.NaN), RangeError('Invalid time value'))
})
