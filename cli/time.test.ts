// Times as commands take them.
import t from 'tap'
import { timeOf } from './time.ts'
import { UsageError } from './usage.ts'

t.test('a time is ISO 8601 or a while ago', async t => {
  const f = (text: string, expected: string): void =>
    void t.equal(new Date(timeOf('--since', text)).toISOString(), expected, text)
  f('2026-11-20', '2026-11-20T00:00:00.000Z')
  f('2026-11-20T16:00:00Z', '2026-11-20T16:00:00.000Z')
  f('2026-11-20T16:00:00.5+02:00', '2026-11-20T14:00:00.500Z')
  f('2028-02-29', '2028-02-29T00:00:00.000Z')
  const before = Date.now()
  const ago = timeOf('--since', '2h') + 7_200_000
  t.ok(ago >= before && ago <= Date.now(), 'from now')
})

t.test('what no calendar has is refused by name, not rolled over', async t => {
  const texts = [
    '2026-02-30',
    '2026-02-29T10:00:00Z',
    '2026-13-01',
    '2026-11-20T25:00:00Z',
    '5',
    'November 3',
    '-1h',
    '',
  ]
  for (const text of texts) {
    t.throws(() => timeOf('--until', text), new UsageError(`--until: not a time: ${text}`), text)
  }
})
