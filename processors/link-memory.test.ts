// What a process remembers of links, over a real stream: what it says up to a position holds, whatever becomes of records and of answers.
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import t, { type Test } from 'tap'
import { conversationIdOf } from '#proto/ids.ts'
import { BLOCKS_STREAM, blocksSubjectOf } from '#proto/streams.ts'
import { applyStreams } from '#streams/apply.ts'
import { connectNats, eventually, startNats } from '#test/rig.ts'
import type { BlockRecord } from './blocks.ts'
import { log, organization } from './fixture.ts'
import type { LinkAnswers } from './link-answers.ts'
import { followLinks, type LinkMemory } from './link-memory.ts'
import { keyOf } from './loose.ts'

const idOf = (name: string): string => conversationIdOf(organization, name)

/** A stream of finished ranges; each range has a link of the trace that is called like its position in the partition. */
async function streamed(t: Test) {
  const nc = await connectNats(t, (await startNats(t)).url)
  const limits = { streamMaxBytes: 64 * 1024 * 1024, deadMaxBytes: 64 * 1024 * 1024, replicas: 1 }
  await applyStreams(nc, { partitions: 1, ...limits })
  const [js, jsm] = [jetstream(nc), await jetstreamManager(nc)]
  const finish = async (from: number): Promise<number> => {
    const record: BlockRecord = {
      ...{ partition: 0, generation: 1, from, to: from, rows: { events: 1, links: 1 }, repeats: 0, dead: 0 },
      ...{ checksum: '', at: '2026-01-01T00:00:00.000Z' },
    }
    return (await js.publish(blocksSubjectOf(0), JSON.stringify(record))).seq
  }
  const follow = (answer: () => void = () => {}): LinkMemory => {
    const linked: LinkAnswers = {
      tracesOf: async records => {
        answer()
        return records.map(({ record: { from } }) => ({
          ...{ organization, trace: idOf(`${from}`), provisional: idOf(`${from}`), home: idOf(`home of ${from}`) },
          ...{ session: '', linked: [], low: from, high: 0 },
        }))
      },
      tracesAway: async () => [],
    }
    const links = followLinks({ nc, js, jsm, linked, log })
    t.teardown(() => links.close())
    return links
  }
  return { jsm, finish, follow }
}

const homeOf = (links: LinkMemory, from: number): string | undefined =>
  links.homeOf(keyOf(idOf(`${from}`)))?.conversation_id

t.test('while there are no answers it waits where it is, with one consumer', async t => {
  const { jsm, finish, follow } = await streamed(t)
  const followers = async (): Promise<number> => (await jsm.streams.info(BLOCKS_STREAM)).state.consumer_count
  let [away, failed] = [true, 0]
  const links = follow(() => {
    if (!away) return
    failed++
    throw new Error('connection lost')
  })
  await finish(1)
  await eventually('several answers that failed', () => failed >= 4)
  t.equal(await followers(), 1)
  t.equal(links.revision, 0, 'what was not answered is not known')
  const last = await finish(2)
  away = false
  await eventually('all are known', () => links.revision === last)
  t.strictSame([homeOf(links, 1), homeOf(links, 2)], [idOf('home of 1'), idOf('home of 2')])
  t.equal(links.between(0, last + 1)?.length, 2)
  t.equal(await followers(), 1)
})

t.test('behind records that are gone it begins anew: homes of before may be others by now', async t => {
  const { jsm, finish, follow } = await streamed(t)
  const first = await finish(1)
  const gone = await finish(2)
  await jsm.streams.deleteMessage(BLOCKS_STREAM, gone)
  const links = follow()
  const third = await finish(3)
  await eventually('the third is known', () => links.revision === third)
  t.equal(homeOf(links, 3), idOf('home of 3'))
  t.equal(homeOf(links, 1), undefined, 'the second may have told another home')
  t.equal(links.between(gone, third + 1)?.length, 1)
  t.equal(links.between(first, third + 1), undefined, 'what the second told is not known')
  const [fourth, missing] = [await finish(4), await finish(5)]
  await eventually('the fifth is known', () => links.revision === missing)
  t.equal(homeOf(links, 4), idOf('home of 4'), `known since ${fourth}`)
})
