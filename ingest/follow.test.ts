import { randomBytes } from 'node:crypto'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { headers } from '@nats-io/transport-node'
import t from 'tap'
import { createFollower } from '#ingest/follow.ts'
import { SESSIONS_HEADER, sessionsSubjectOf, streamOf, subjectOf } from '#proto/streams.ts'
import { applyStreams } from '#streams/apply.ts'
import { connect } from '#streams/connect.ts'
import type { Teardown } from '#test/rig.ts'
import { connectNats, eventually, silentLog, startNats, testLimits } from '#test/rig.ts'

const entry = (): Buffer => randomBytes(32)

async function publish(nc: NatsConnection, partition: number, ...entries: Buffer[]): Promise<number> {
  const fields = headers()
  fields.set(SESSIONS_HEADER, entries.map(bytes => bytes.toString('base64url')).join(''))
  await jetstream(nc).publish(sessionsSubjectOf(partition), randomBytes(2000), { headers: fields })
  // What creates no session stands between and behind those that do, and is never delivered here.
  return (await jetstream(nc).publish(subjectOf(partition), randomBytes(2000))).seq
}

async function follow(t: Teardown, url: string) {
  const nc = await connect({ url, name: 'follow', log: silentLog })
  const seen = new Set<string>()
  const follower = createFollower({
    nc,
    partitions: testLimits.partitions,
    onSession: (organization, conversation) => {
      seen.add(Buffer.concat([organization, conversation]).toString('base64url'))
    },
    log: silentLog,
  })
  t.teardown(async () => {
    await follower.close()
    await nc.close()
  })
  const has = (...entries: Buffer[]): boolean => entries.every(bytes => seen.has(bytes.toString('base64url')))
  return { follower, has, seen }
}

t.test('sessions stored before and after the start are learnt from headers, over a restart of the server', async t => {
  const nats = await startNats(t)
  const nc = await connectNats(t, nats.url, { hasty: true })
  await applyStreams(nc, testLimits)
  const before = Array.from({ length: 300 }, entry)
  for (const [i, bytes] of before.entries()) await publish(nc, i % 2, bytes)
  const { follower, has } = await follow(t, nats.url)
  await eventually('the sessions of the past', () => has(...before) && follower.behind().length === 0)

  const after = [entry(), entry(), entry()]
  t.equal(await follower.end(1), 150)
  await publish(nc, 1, ...after)
  await eventually('the sessions of the present', () => has(...after))
  t.equal(follower.position(1), 151)
  t.equal(await follower.end(1), 151)

  await nats.kill9()
  await nats.restart()
  const late = Array.from({ length: 20 }, entry)
  for (const bytes of late) {
    await eventually('the server takes messages again', () => publish(nc, 0, bytes).catch(() => false))
  }
  await eventually('the sessions after the restart', () => has(...late), 30_000)
  t.equal(follower.position(0), await follower.end(0))
})

t.test('a stream whose messages were purged counts as read to its end', async t => {
  const nats = await startNats(t)
  const nc = await connectNats(t, nats.url)
  await applyStreams(nc, testLimits)
  for (let i = 0; i < 5; i++) await publish(nc, 0, entry())
  await (await jetstreamManager(nc)).streams.purge(streamOf(0))
  const { follower, seen } = await follow(t, nats.url)
  await eventually('nothing left to read', () => follower.behind().length === 0)
  t.equal(await follower.end(0), 0)
  t.equal(follower.position(0), 0)
  t.equal(seen.size, 0)
})

t.test('a follower that starts again after losing its consumer leaves no gap', async t => {
  const nats = await startNats(t)
  const nc = await connectNats(t, nats.url)
  await applyStreams(nc, testLimits)
  const first = entry()
  await publish(nc, 0, first)
  const { has, follower } = await follow(t, nats.url)
  await eventually('the first', () => has(first))
  const jsm = await jetstreamManager(nc)
  for await (const consumer of jsm.consumers.list(streamOf(0))) await jsm.consumers.delete(streamOf(0), consumer.name)
  const second = entry()
  await publish(nc, 0, second)
  await eventually('the second', () => has(second), 60_000)
  t.equal(await follower.end(0), follower.position(0))
})
