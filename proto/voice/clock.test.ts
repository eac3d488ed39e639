import t from 'tap'
import { clockOf, durationOf, spanOf } from './clock.ts'
import { clockTime } from './times.ts'

const START = 1_789_999_000_000
const iso = (ms: number): string => new Date(ms).toISOString()

/** Start and end of each message, in milliseconds from the start of the call. */
function spans(
  messages: readonly Record<string, unknown>[],
  report: Record<string, unknown> = { startedAt: iso(START) },
) {
  const clock = clockOf(report, messages)
  const offset = (ms: number | null): number | null => (ms === null ? null : ms - (clock.startedAtMs ?? 0))
  return messages.map(message => {
    const { startedAtMs, endedAtMs } = spanOf(message, clock)
    return [offset(startedAtMs), offset(endedAtMs)]
  })
}

t.test('one moment in every unit and form', async t => {
  const at = START + 1500
  for (const time of [
    at,
    at / 1000,
    at * 1000,
    at * 1e6,
    String(at),
    iso(at),
    iso(at).replace('Z', ''),
    iso(at).replace('T', ' '),
    iso(at).replace('Z', '+00:00'),
  ]) {
    const [span] = spans([{ time }])
    t.ok(Math.abs((span?.[0] ?? 0) - 1500) < 1, String(time))
  }
  t.strictSame(spans([{ time: '2026-09-21T15:56:41.500+02:00' }]), [[1500, null]])
  t.strictSame(spans([{ secondsFromStart: 1.5 }, { time_in_call_secs: 2 }, { millisecondsFromStart: 2500 }]), [
    [1500, null],
    [2000, null],
    [2500, null],
  ])
  t.strictSame(spans([{ time: '0:01.5', endTime: '00:00:02' }]), [[1500, 2000]])
  for (const time of [null, '', 'soon', {}, -5, '13-45', Number.NaN, 1e300])
    t.strictSame(spans([{ time }]), [[null, null]])
})

t.test('the unit of bare offsets is decided for the whole call', async t => {
  const known = { startedAt: iso(START), endedAt: iso(START + 60_000) }
  t.strictSame(spans([{ time: 2, endTime: 3 }, { time: 55 }], known), [
    [2000, 3000],
    [55_000, null],
  ])
  t.strictSame(spans([{ time: 200, endTime: 900 }, { time: 55_000 }], known), [
    [200, 900],
    [55_000, null],
  ])
  t.strictSame(
    spans([{ time: 200 }, { time: 5500 }]),
    [
      [200, null],
      [5500, null],
    ],
    'whole and large: ms',
  )
  t.strictSame(spans([{ time: 0.5 }, { time: 5 }]), [
    [500, null],
    [5000, null],
  ])
})

t.test('the unit of durations is decided for the whole call', async t => {
  const f = (messages: Record<string, unknown>[], ends: (number | null)[], more = {}) =>
    t.strictSame(
      spans(messages, { startedAt: iso(START), ...more }).map(([, end]) => end),
      ends,
    )
  f([{ time: START, duration: 2500.5 }], [2500.5])
  f([{ time: START, duration: 2.5 }], [2500])
  f(
    [
      { time: START, endTime: START + 2000, duration: 2 },
      { time: START + 5000, duration: 3 },
    ],
    [2000, 8000],
  )
  f(
    [
      { time: START, endTime: START + 200, duration: 200 },
      { time: START + 5000, duration: 3 },
    ],
    [200, 5003],
  )
  f([{ time: START, duration: 90 }], [90], { durationSeconds: 20 })
  f(
    [
      { time: START, duration: -1 },
      { time: START, durationMs: 7 },
      { time: START, durationSeconds: 7 },
    ],
    [null, 7, 7000],
  )
  f([{ time: START + 9000, endTime: START, duration: 400 }], [9400])
  t.equal(durationOf({ duration: 'x' }, clockOf({}, [])), null)
})

t.test('the start of the call is stated, counted back, or the first message', async t => {
  const start = (report: Record<string, unknown>, messages: object[] = []): number | null =>
    clockOf(report, messages).startedAtMs
  t.equal(start({ artifact: { startedAt: iso(START) } }), START)
  t.equal(start({ endedAt: START + 60_000, durationSeconds: 60 }), START)
  t.equal(start({ call: { endedAt: START + 60_000 }, durationMinutes: 1 }), START)
  t.equal(start({}, [{ time: START + 2500, secondsFromStart: 2.5 }]), START)
  t.equal(start({}, [{ time: START + 9 }, { time: START }, {}]), START)
  t.equal(start({}, [{ secondsFromStart: 2.5 }]), null)
  t.strictSame(spans([{ secondsFromStart: 2.5 }], {}), [[2500, null]], 'then times count from 0')
  t.match(clockOf({ startedAt: START, endedAt: START + 5000 }, []), { lengthMs: 5000 })
  t.match(clockOf({ startedAt: START, durationMs: 5000 }, []), { endedAtMs: START + 5000 })
  t.match(clockOf({ startedAt: START, endedAt: START - 5000 }, []), { lengthMs: null })
})

t.test('clock times', async t => {
  const f = (text: string, ms: number | null) => t.equal(clockTime(text), ms, text)
  f('1:23', 83_000)
  f('00:01:23.5', 83_500)
  f('01:00:00', 3_600_000)
  f('83.5s', 83_500)
  f('1:2', null)
  f('1:23 pm', null)
  f('', null)
})
