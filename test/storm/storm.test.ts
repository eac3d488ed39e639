// A short storm with a fixed seed: faults of eight kinds while all surfaces send; then everything that was acknowledged is there once, in
// rows, aggregates, block records and answers. The counting itself is tried before: an oracle that sees nothing proves nothing.
import { createServer } from 'node:net'
import t from 'tap'
import { FOR_FEW_ROWS } from '#test/engines.ts'
import { tempDir } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'
import { createClient } from './http.ts'
import { IdKind, uuidOf } from './ids.ts'
import { Fate, judge, noCount, Oracle, Space } from './oracle.ts'
import { startParley } from './parley.ts'
import { startProxy } from './proxy.ts'
import { report } from './report.ts'
import { runStorm } from './storm.ts'
import { type Sending, Traffic } from './traffic.ts'

const SEED = 20_261_122
const KINDS = [
  ...['kill receiver', 'kill processor', 'kill nats', 'kill clickhouse'],
  ...['stop nats', 'cut clients', 'full stream', 'restart processor'],
]

/** Acknowledged beside the faults, in some ten seconds. */
const EVENTS = scaled({ sample: 500, full: 2_000 })

/** Each insert costs the same for one event and for hundreds. */
const INSERT_INTERVAL_MS = scaled({ sample: 1_500, full: 500 })

/** Of the traffic, for a look at whose it is: some of every kind. */
const JOBS = 400

t.setTimeout(1_100_000)

t.test('the judgement knows what is lost, doubled, strange and unknown', async t => {
  const space = new Space('things', 2, 2)
  const sent: readonly (readonly [Fate, number])[] = [
    [Fate.acknowledged, 2],
    [Fate.acknowledged, 0],
    [Fate.acknowledged, 1],
    [Fate.acknowledged, 4],
    [Fate.unknown, 0],
    [Fate.unknown, 2],
    [Fate.unknown, 1],
    [Fate.unknown, 4],
    [Fate.refused, 0],
    [Fate.refused, 2],
  ]
  const count = noCount()
  for (const [fate, stored] of sent) {
    const n = space.add()
    space.note(n, fate, 0)
    space.found(n, stored)
    judge(space, n, count)
  }
  t.same(count, { acknowledged: 4, unknown: 4, refused: 2, stored: 7, lost: 2, doubled: 2, strange: 2 })
  t.equal(space.found(sent.length, 1), false, 'a number that was never given out')
  t.equal(space.found(space.add(0, 1), 2, 0), false, 'a number that was given out to another organization')
  space.note(0, Fate.unknown, 0)
  t.equal(space.fate(0), Fate.acknowledged, 'no later answer takes an acknowledgement back')
  t.equal(uuidOf(7, IdKind.call, 0xabc), '00000007-570a-4000-8002-000000000abc')
})

t.test('a conversation, an export and a call are of one organization, and each has some of every kind', t => {
  const organizations = ['one', 'other']
  const oracle = new Oracle(1_024, 2)
  const traffic = new Traffic({ seed: SEED, tag: SEED, organizations, oracle })
  const kinds = new Set<string>()
  const wrong: unknown[] = []
  const ownerOf = ({ post, things }: Sending): number => {
    const owner = organizations.indexOf(post.headers['x-org-id'] ?? post.headers['x-service-org-id'] ?? '')
    for (const { space, n } of things) if (space.owner(n) !== owner) wrong.push([space.name, n, owner])
    return owner
  }
  for (let i = 0; i < JOBS; i++) {
    const job = traffic.next()
    const sendings =
      job.kind === 'conversation'
        ? [job.session, ...job.events]
        : job.kind === 'export'
          ? job.parts
          : job.kind === 'call'
            ? [job.report, job.redelivered ?? job.report]
            : []
    const owners = new Set(sendings.map(ownerOf))
    if (owners.size > 1) wrong.push(job)
    for (const owner of owners) kinds.add(`${job.kind} of ${owner}`)
    if (job.kind === 'poison') kinds.add(`poison of ${organizations.indexOf(job.organization)}`)
  }
  t.strictSame(wrong, [])
  t.strictSame([...kinds].sort(), [
    ...['call of 0', 'call of 1', 'conversation of 0', 'conversation of 1'],
    ...['export of 0', 'export of 1', 'poison of 0', 'poison of 1'],
  ])
  t.end()
})

t.test('the proxy passes bytes on, holds them and cuts', async t => {
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', () => socket.write('HTTP/1.1 204 No Content\r\n\r\n'))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const proxy = await startProxy((server.address() as { port: number }).port)
  const client = createClient(proxy.port, 300_000)
  t.teardown(async () => {
    client.close()
    await proxy.close()
    server.close()
  })
  const post = () => client.post({ path: '/', headers: {}, body: Buffer.from('x') })
  t.match(await post(), { status: 204 })
  proxy.set('held')
  let answered = false
  const held = post().then(answer => {
    answered = true
    return answer
  })
  await new Promise(resolve => setImmediate(resolve))
  t.equal(answered, false)
  proxy.set('fair')
  t.match(await held, { status: 204 })
  proxy.set('slow', 1)
  t.match(await post(), { status: 204 })
  proxy.set('cut')
  t.match(await post(), { status: 0 })
})

t.test('a short storm', async t => {
  const dir = await tempDir(t)
  const say = (line: string): void => t.comment(line)
  const options = { seed: SEED, events: EVENTS, faults: KINDS.length, rate: EVENTS / 10, kinds: KINDS, tag: SEED }
  // Senders are not told no because the machine paused.
  const env = {
    PARLEY_PARSE_THREADS: '1',
    PARLEY_INSERT_INTERVAL_MS: String(INSERT_INTERVAL_MS),
    PARLEY_QUERY_MAX_SECONDS: '600',
    PARLEY_SESSION_WAIT_MS: '60000',
    PARLEY_STOP_MS: '60000',
    PARLEY_LOG_LEVEL: 'warn',
  }
  const target = await startParley({ dir, tag: SEED, disks: false, say, env, settings: FOR_FEW_ROWS })
  t.teardown(() => target.stop(false))
  const result = await runStorm(target, { ...options, targets: ['parley'], keep: false, disks: false, shards: 1 }, say)
  const { text, verdict } = report(result)
  for (const line of text.split('\n')) t.comment(line)
  t.equal(result.chaos.happened.length, KINDS.length)
  t.equal(result.chaos.kinds.length, KINDS.length, 'every kind has happened')
  t.ok(result.oracle.acknowledged >= options.events)
  t.match(verdict.total, { lost: 0, doubled: 0, strange: 0 })
  t.same(verdict.failedChecks, [])
})
