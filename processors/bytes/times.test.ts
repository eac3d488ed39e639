// Times read as numbers are those that spans read as objects have, at the ends of what 64 bits hold too.
import t from 'tap'
import { timeOrNull } from '#proto/otlp/span.ts'
import { CLAMP, clamp, fromNanosHalves, isWithin, nanosBetween } from '#proto/time.ts'
import { randomOf } from '#runtime/seeded.ts'
import { S, SPAN_INTS } from './spans.ts'
import { durationAt, instantAt, isTimeAt, msAt, nsAt, placeOfTime } from './times.ts'

const RECEIVED_MS = 1_795_000_000_000
const random = randomOf(11)

/** Halves of nanoseconds: some near the arrival, some at the ends, some anywhere. */
function nanos(): bigint {
  const near = BigInt(RECEIVED_MS) * 1_000_000n
  const limits = [CLAMP.futureMs, -CLAMP.pastMs].map(ms => near + BigInt(ms) * 1_000_000n)
  const ends = [0n, 1n, 999_999n, 1_000_000n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 63n - 1n, 2n ** 64n - 1n, ...limits]
  const choice = random(3)
  if (choice === 0) return BigInt.asUintN(64, (ends[random(ends.length)] as bigint) + BigInt(random(5) - 2))
  const some = BigInt(random(2 ** 31)) * 2n + BigInt(random(2))
  return choice === 1 ? near + some : BigInt.asUintN(64, (some << 33n) | BigInt(random(2 ** 31)))
}

function put(spans: Int32Array, field: number, value: bigint): void {
  spans[field] = Number(value & 0xffff_ffffn)
  spans[field + 1] = Number(value >> 32n)
}

t.test('a time is there, is within what is stored, and lasts as the objects say', async t => {
  const spans = new Int32Array(SPAN_INTS)
  const wrong: string[] = []
  for (let i = 0; i < 20_000; i++) {
    const [startNanos, endNanos] = [nanos(), nanos()]
    put(spans, S.startLow, startNanos)
    put(spans, S.endLow, endNanos)
    const [start, end] = [startNanos, endNanos].map(value =>
      timeOrNull(fromNanosHalves(Number(value & 0xffff_ffffn), Number(value >> 32n))),
    )
    const expected = JSON.stringify([start, end, start === null ? S.endLow : S.startLow])
    const found = [instantAt(spans, 0, S.startLow), instantAt(spans, 0, S.endLow), placeOfTime(spans, 0)]
    if (JSON.stringify(found) !== expected) wrong.push(`${startNanos} ${endNanos}: ${JSON.stringify(found)}`)
    if (isTimeAt(spans, 0, S.startLow) !== (start !== null)) wrong.push(`${startNanos} is a time, or none`)
    if (!start || !end) continue
    const at = { ms: msAt(spans, 0, S.startLow), ns: nsAt(spans, 0, S.startLow) }
    if (isWithin(at.ms, RECEIVED_MS) !== (clamp(start, RECEIVED_MS) === start)) wrong.push(`${startNanos} is within`)
    if (durationAt(spans, 0) !== nanosBetween(start, end)) wrong.push(`${startNanos} to ${endNanos}`)
  }
  t.strictSame(wrong, [])
})
