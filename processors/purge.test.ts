// What a purge frees: what was finished longer ago than the replay window, more when finished messages fill the stream, and never
// anything that a lane still needs.
import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { connectNats, startNats } from '#test/rig.ts'
import { purgeStream, ReplayMarks } from './purge.ts'

t.test('a floor expires once it was reached a replay window ago', t => {
  const marks = new ReplayMarks(60_000)
  t.equal(marks.expired(0), 0)
  marks.reached(10, 0)
  marks.reached(20, 1_000)
  marks.reached(30, 10_000)
  t.equal(marks.expired(59_999), 0)
  t.equal(marks.expired(60_000), 10, 'marks are kept seconds apart: 20 was reached too soon after 10')
  t.equal(marks.expired(69_999), 10)
  marks.reached(30, 70_000)
  t.equal(marks.expired(70_000), 30, 'a floor that stays is reached once')
  t.equal(marks.expired(1_000_000), 30)
  t.end()
})

t.test('a stream is purged up to what is expired, further when it is full, never past what is needed', async t => {
  const nc = await connectNats(t, (await startNats(t)).url)
  const jsm = await jetstreamManager(nc)
  const js = jsm.jetstream()
  const stream = async (name: string, max_bytes: number): Promise<void> => {
    await jsm.streams.add({ name, subjects: [name], max_bytes })
    for (let i = 0; i < 100; i++) await js.publish(name, new Uint8Array(1_000))
  }
  const first = async (name: string): Promise<number> => (await jsm.streams.info(name)).state.first_seq
  await stream('roomy', 10_000_000)
  t.equal(await purgeStream(jsm, 'roomy', { expired: 0, floor: 50 }), 0, 'nothing is expired')
  t.equal(await first('roomy'), 1)
  t.equal(await purgeStream(jsm, 'roomy', { expired: 40, floor: 30 }), 30, 'a lane still needs what follows')
  t.equal(await first('roomy'), 31)
  t.equal(await purgeStream(jsm, 'roomy', { expired: 20, floor: 60 }), 0, 'what is gone is gone')
  t.equal(await purgeStream(jsm, 'roomy', { expired: 60, floor: 60 }), 60)
  t.equal(await first('roomy'), 61)

  await stream('tight', 120_000)
  const through = await purgeStream(jsm, 'tight', { expired: 0, floor: 80 })
  const { state } = await jsm.streams.info('tight')
  const each = state.bytes / state.messages
  t.ok((80 - through) * each <= 60_000, `finished messages hold half of it: ${80 - through} are left`)
  t.ok((80 - through + 1) * each > 60_000, 'and no less')
  t.equal(state.first_seq, through + 1)
  t.equal(await purgeStream(jsm, 'tight', { expired: 0, floor: through }), 0)
  await jsm.streams.purge('tight')
  t.equal(await purgeStream(jsm, 'tight', { expired: 100, floor: 100 }), 0, 'an empty stream')
})
