// Scheduled work that fails is told once, and once more when it is done again.
import t from 'tap'
import type { Log } from '#runtime/log.ts'
import { applyStreams } from '#streams/apply.ts'
import { connectNats, startNats, testLimits } from '#test/rig.ts'
import { createRounds } from './rounds.ts'

t.test('an outage is two lines, however often the work is tried in it', async t => {
  const nats = await startNats(t)
  const { buckets } = await applyStreams(await connectNats(t, nats.url), testLimits)
  const lines: [string, unknown, string][] = []
  const note =
    (level: string) =>
    ({ work }: { work?: string }, sentence: string) =>
      void lines.push([level, work, sentence])
  const log = { warn: note('warn'), info: note('info') } as unknown as Log
  let tries = 0
  const succeeded = Promise.withResolvers<void>()
  const rounds = createRounds({
    ...{ leases: buckets.leases, holder: 'me', everyMs: 1, turn: 'counting', log },
    work: async () => {
      tries++
      if (tries < 4) throw new Error('the store is away')
      // The line about the round before stands once the next one begins.
      if (tries > 4) succeeded.resolve()
    },
  })
  await succeeded.promise
  await rounds.stop()
  t.strictSame(lines, [
    ['warn', 'counting', 'scheduled work failed; trying again'],
    ['info', 'counting', 'scheduled work is done again'],
  ])
})
