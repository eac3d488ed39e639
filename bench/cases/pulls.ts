// Pulls of a consumer that come to their end while messages keep coming -> how many of them the server forgot without a word, so that
// whoever pulls waits until he misses its heartbeats.
import { parseArgs } from 'node:util'
import { AckPolicy, DeliverPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { createInbox, type NatsConnection } from '@nats-io/transport-node'
import { connectNats, startNats } from '#test/rig.ts'
import { table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'

const STREAM = 'pulls'
const NS_PER_MS = 1_000_000
/** A pull without anything for so long, while messages come all the time, is forgotten. */
const SILENT_MS = 600

/** Runs the case and prints its table. Options: --pulls (500), --expires (ms of a pull, 1000), --every (ms between two messages, 10). */
export async function pulls(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ args: [...args], options: { pulls: text, expires: text, every: text } })
  const { pulls: wanted = 500, expires = 1_000, every = 10 } = values
  await withTeardown(async t => {
    const { url } = await startNats(t)
    const nc = await connectNats(t, url)
    const manager = await jetstreamManager(nc)
    await manager.streams.add({ name: STREAM, subjects: [STREAM], max_msgs: 1_000 })
    const publisher = await connectNats(t, url)
    const js = jetstream(publisher)
    const beat = setInterval(() => void js.publish(STREAM, new Uint8Array(100)).catch(() => {}), Number(every))
    t.teardown(() => clearInterval(beat))
    const { name } = await manager.consumers.add(STREAM, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.New,
      mem_storage: true,
    })
    const ends = new Map<string, number>()
    for (let n = 0; n < Number(wanted); n++) {
      const end = await endOf(nc, name, Number(expires))
      ends.set(end, (ends.get(end) ?? 0) + 1)
    }
    console.log(`${nc.info?.version}: a message every ${every} ms, pulls of ${expires} ms`)
    console.log(
      table(
        ['how a pull ended', 'pulls'],
        [...ends].map(([end, n]) => [end, `${n}`]),
      ),
    )
  })
}

/** Pulls once; what the server says at the end. */
async function endOf(nc: NatsConnection, consumer: string, expiresMs: number): Promise<string> {
  const inbox = createInbox()
  const { promise, resolve } = Promise.withResolvers<string>()
  let timer: NodeJS.Timeout | undefined
  const subscription = nc.subscribe(inbox, {
    callback: (error, message) => {
      clearTimeout(timer)
      timer = setTimeout(() => resolve('without a word'), SILENT_MS)
      if (error) resolve(error.message)
      else if ((message.headers?.code ?? 0) > 100) resolve(`${message.headers?.code} ${message.headers?.description}`)
    },
  })
  const wanted = { batch: 1_000_000, expires: expiresMs * NS_PER_MS }
  nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${consumer}`, JSON.stringify(wanted), { reply: inbox })
  const end = await promise
  clearTimeout(timer)
  subscription.unsubscribe()
  return end
}
