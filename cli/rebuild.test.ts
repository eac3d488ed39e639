// `parley rebuild` from outside: aggregates that were falsified on disk stand as their rows say again, and a call that was killed is gone
// on with.
import { execFile, spawn } from 'node:child_process'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { REBUILD_KEY, type RebuildRecord } from '#proto/rebuild.ts'
import { buildProjections } from '#store/projections.ts'
import { verify } from '#store/verify/verify.ts'
import { applyStreams } from '#streams/apply.ts'
import { connectNats, eventually, freshDatabase, nodeEnv, startNats, testLimits } from '#test/rig.ts'

const main = fileURLToPath(new URL('./main.ts', import.meta.url))
const run = promisify(execFile)
const ORGANIZATION = '00000000-0000-4000-8000-0000000000a1'
const settled = async (): Promise<ReadonlyMap<number, number>> => new Map([[0, 1_000]])

t.test('every bucket is built again, also when the call is killed in between', async t => {
  const [nats, { store, url, database }] = await Promise.all([startNats(t), freshDatabase(t)])
  const { buckets } = await applyStreams(await connectNats(t, nats.url), testLimits)
  const engines = { NATS_URL: nats.url, CLICKHOUSE_URL: url, PARLEY_DATABASE: database }
  const env = { PATH: process.env.PATH, ...nodeEnv, ...engines }
  const parley = async (...args: string[]): Promise<{ code: number; out: string; err: string }> =>
    run(process.execPath, [main, 'rebuild', ...args], { env }).then(
      ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
      (error: { code: number; stdout: string; stderr: string }) => ({
        code: error.code,
        out: error.stdout,
        err: error.stderr,
      }),
    )
  const insert = (sequence: number, month: number) =>
    store.command(
      `INSERT INTO events (organization, conversation_id, event_id, ts, kind, name, origin_generation, origin_sequence, origin_index, version, sign)
       SELECT '${ORGANIZATION}', reinterpretAsUUID(toUInt128(number % 3)), reinterpretAsUUID(toUInt128(${sequence} * 1000 + number)),
         toDateTime64('2026-0${month}-10 12:00:00', 9, 'UTC') + number, 'agent', 'a', 1, ${sequence}, number, 1, 1 FROM numbers(${10 * sequence})`,
      { settings: { async_insert: 0 } },
    )
  // A merge would build projections anew.
  await store.command('ALTER TABLE events MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1')
  await insert(1, 5)
  await insert(2, 6)
  await insert(3, 6)
  await buildProjections(store, 'events')
  const parts = await store.read<{ name: string; path: string }>(
    `SELECT name, path FROM system.parts WHERE database = {database:String} AND table = 'events' AND active AND partition_id LIKE '%202606'
     ORDER BY min_block_number`,
    { parameters: { database } },
  )
  const [first, second] = parts as [(typeof parts)[number], (typeof parts)[number]]
  await store.command(`ALTER TABLE events DETACH PART '${first.name}'`)
  const place = join(first.path, '..', 'detached', first.name, 'metrics_daily.proj')
  await rm(place, { recursive: true })
  await cp(join(second.path, 'metrics_daily.proj'), place, { recursive: true })
  await store.command(`ALTER TABLE events ATTACH PART '${first.name}'`)
  const differences = async () => (await verify(store, { settled, lookPauseMs: 20 })).differences
  t.match(await differences(), [{ check: 'projection', projection: 'metrics_daily' }])

  t.match(await parley('status'), { code: 0, out: 'never' })
  t.match(await parley('--resume'), { code: 2, err: 'nothing to go on with' })
  t.match(await parley('--org', 'mine'), { code: 2, err: '--org must be a uuid' })
  const dry = await parley('--dry-run')
  t.equal(dry.err, '')
  t.match(dry, { code: 0, out: /events\/\S*202606: 50 rows/ })
  t.match(dry.out, /^2 buckets, \d+ pieces, about \d+ s/m)
  for (const scope of [
    ['--since', '2026-06-01'],
    ['--org', ORGANIZATION, '--until', '2026-06-01'],
  ])
    t.match(await parley('--dry-run', ...scope), { out: '\n1 buckets' }, scope.join(' '))
  t.equal((await differences()).length, 1, 'nothing has changed')

  const record = async (): Promise<RebuildRecord | undefined> =>
    (await buckets.cursors.get(REBUILD_KEY))?.json<RebuildRecord>()
  // Each of the pieces costs the engine a third of a second, so that there is one whole rebuild only: of an organization that has all rows.
  const killed = spawn(process.execPath, [main, 'rebuild', '--org', ORGANIZATION], { env, stdio: 'ignore' })
  const gone = new Promise(resolve => killed.once('exit', resolve))
  const begun = await eventually('a few pieces', async () => ((await record())?.done ?? 0) >= 2 && record(), 60_000)
  killed.kill('SIGKILL')
  await gone
  if (begun?.state === 'running' && (await record())?.state === 'running') {
    t.match(await parley(), { code: 2, err: 'not finished: rebuild of 00000000' })
    t.match(await parley('--resume'), { code: 0, out: 'nothing differs' })
  }
  t.match(await record(), { state: 'done', differences: [] })
  t.match(await parley('status'), { code: 0, out: /^rebuild of 00000000\S* done: (\d+) of \1 pieces, nothing differs/ })
  t.strictSame(await differences(), [])
  const [sum] = await store.read<{ n: string }>(
    "SELECT sumMerge(`sum(sign)`) AS n FROM mergeTreeProjection(currentDatabase(), 'events', 'metrics_daily')",
  )
  t.equal(sum?.n, '60')
})
