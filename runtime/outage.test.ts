// An outage in the log: its first failure and its end, with how long and how often it was tried.
import t from 'tap'
import type { Log } from './log.ts'
import { Outage } from './outage.ts'

t.test('an outage is two lines, and the next one two more', async t => {
  const lines: string[] = []
  const note =
    (level: string) =>
    ({ tries, err }: { tries?: number; err?: Error }, sentence: string) =>
      void lines.push(`${level} ${sentence} ${err?.message ?? tries}`)
  const outage = new Outage({ warn: note('warn'), info: note('info') } as unknown as Log, 'storing')
  outage.over()
  t.notOk(outage.now)
  for (const why of ['away', 'still away', 'still']) outage.failed(new Error(why))
  t.ok(outage.now)
  outage.over()
  outage.over()
  outage.failed(new Error('again'))
  t.strictSame(lines, [
    'warn storing fails; trying again until it works away',
    'info storing works again 3',
    'warn storing fails; trying again until it works again',
  ])
})
