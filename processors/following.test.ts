// Readers and followers of a stream that begin anew before their pulls come to an end: every message in order, and once.
import { DeliverPolicy, type JsMsg, jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import t from 'tap'
import { endInTime, FOLLOWING, RENEW_MS } from '#runtime/following.ts'
import { connectNats, eventually, silentLog, startNats } from '#test/rig.ts'
import { openReader } from './reader.ts'

/** Of a pull, so that one is given up while messages come. */
const SHORT_MS = 40
const CONSUMERS = 4

t.ok(RENEW_MS < FOLLOWING.expires * 0.8, 'a pull is given up long before its end')

t.test('with pulls that are given up all the time', async t => {
  const nc = await connectNats(t, (await startNats(t)).url)

  t.test('a reader reads every message once', async t => {
    const publish = await streamOf(nc, 'read')
    const reader = openReader({
      nc,
      stream: 'read',
      from: 1,
      bufferBytes: 1_000_000,
      log: silentLog,
      renewMs: SHORT_MS,
    })
    const published = await publish()
    await eventually('all is read', () => reader.length >= published)
    t.strictSame(
      reader.waiting.map(({ sequence }) => sequence),
      Array.from({ length: published }, (_, i) => i + 1),
    )
    await reader.close()
  })

  t.test('a follower follows every message once', async t => {
    const publish = await streamOf(nc, 'follow')
    const read: number[] = []
    let consumed: ReturnType<typeof endInTime> | undefined
    const callback = ({ seq }: JsMsg): void => {
      read.push(seq)
    }
    const follow = async (): Promise<void> => {
      for (;;) {
        const consumer = await jetstream(nc).consumers.get('follow', {
          deliver_policy: DeliverPolicy.StartSequence,
          opt_start_seq: (read.at(-1) ?? 0) + 1,
        })
        const messages = await consumer.consume({ ...FOLLOWING, callback })
        consumed = endInTime(nc, consumer, messages, { renewMs: SHORT_MS })
        await messages.closed()
        if (!consumed.stale) return
      }
    }
    const following = follow()
    const published = await publish()
    await eventually('all is followed', () => read.length >= published)
    t.strictSame(
      read,
      Array.from({ length: published }, (_, i) => i + 1),
    )
    // One that is just being made anew is not there to be ended yet.
    const ending = setInterval(() => consumed?.end(), 1)
    await following
    clearInterval(ending)
    t.equal(consumed?.stale, false, 'who ended it himself does not begin anew')
  })
})

/** Makes a stream. What is returned publishes to it until several consumers have been seen, and tells how many messages those were. */
async function streamOf(nc: NatsConnection, name: string): Promise<() => Promise<number>> {
  const manager = await jetstreamManager(nc)
  await manager.streams.add({ name, subjects: [name] })
  const js = jetstream(nc)
  return async () => {
    const seen = new Set<string>()
    await eventually('several consumers', async () => {
      await js.publish(name, new Uint8Array(10))
      for await (const { name: consumer } of manager.consumers.list(name)) seen.add(consumer)
      return seen.size >= CONSUMERS
    })
    return (await manager.streams.info(name)).state.last_seq
  }
}
