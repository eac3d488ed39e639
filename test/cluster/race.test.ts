// The judge of the race is right about answers that contradict what is there; a server that is too old is refused, by one line. With
// NATS_SERVER_BIN naming a newer server the race is run.
import t from 'tap'
import { applyStreams } from '#streams/apply.ts'
import { connectNats, startNats, testLimits } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'
import { contradictions, type RaceFault, race, type Stored, type Win } from './race.ts'
import { startCluster } from './servers.ts'

const program = process.env.NATS_SERVER_BIN ?? ''

t.test('the judge sees two winners, a lost write and a comparison that was not made', async t => {
  const stored: Stored[] = [
    { key: 'a', text: 'x 0', revision: 1, before: 0 },
    { key: 'b', text: 'y 0', revision: 2, before: 0 },
    { key: 'a', text: 'x 1', revision: 3, before: 1 },
  ]
  const wins: Win[] = stored.map(({ key, text, revision, before }) => ({ key, text, revision, before }))
  t.strictSame(contradictions(wins, stored), [])
  t.strictSame(contradictions(wins.slice(1), stored), [], 'what nobody answered may stand')
  t.match(contradictions([...wins, { key: 'a', text: 'z 0', before: 1, revision: 4 }], stored), [
    /^two winners of a over 1/,
    /^z 0 won a over 1 and is lost: nothing at 4/,
  ])
  t.match(contradictions(wins, stored.slice(0, 2)), [/^x 1 won a over 1 and is lost/])
  const twice = { key: 'a', text: 'w 0', revision: 4, before: 1 }
  t.strictSame(contradictions(wins, [...stored, twice]), ['w 0 stands over 3 and named 1'])
})

t.test('several copies are refused where the server is too old or has no cluster, and nothing is made', async t => {
  const nats = await startNats(t)
  const nc = await connectNats(t, nats.url)
  const version = nc.info?.version ?? ''
  const isNew = Number(version.split('.')[1]) >= 12
  await t.rejects(applyStreams(nc, { ...testLimits, replicas: 3 }), {
    code: 'CFG_INVALID',
    message: isNew
      ? /: PARLEY_STREAM_REPLICAS=3 takes a cluster, and \S+ is a server of its own$/
      : `A setting is not valid: PARLEY_STREAM_REPLICAS=3 takes NATS 2.12 or newer, and parley is ${version}`,
  })
  await applyStreams(nc, testLimits)
})

const FAULTS: readonly RaceFault[] = ['step down', 'kill leader', 'freeze leader', 'kill follower', 'freeze follower']

t.test('one winner a revision and no lost write, whatever happens to the servers', { timeout: 1_200_000 }, async t => {
  if (program === '') return t.pass('NOT RUN: it takes NATS 2.12 or newer, named by NATS_SERVER_BIN')
  const cluster = await startCluster(t, program)
  const rounds = scaled({ sample: 1, full: 6 })
  const result = await race(t, {
    cluster,
    faults: Array.from({ length: rounds }, () => FAULTS).flat(),
    ...{ writers: 6, keys: 2, winsBetween: scaled({ sample: 60, full: 300 }) },
  })
  const { wins, stored, lost, unanswered } = result
  t.comment(`${wins.length} won, ${lost} lost, ${unanswered} not answered; ${stored.length} revisions`)
  t.strictSame(contradictions(wins, stored), [])
  t.ok(lost > 0, 'they did race')
})
