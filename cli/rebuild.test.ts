// `parley rebuild` from outside: aggregates that were falsified on disk stand as their rows say again, and a call that was killed is gone
// on with.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { REBUILD_KEY, type RebuildRecord } from '#proto/rebuild.ts'
import type { Store } from '#store/client.ts'
import { buildProjections } from '#store/projections.ts'
import { verify } from '#store/verify/verify.ts'
import { applyStreams } from '#streams/apply.ts'
import { commandEnv, commandLine, commandOf, ends } from '#test/command.ts'
import { connectNats, eventually, freshDatabase, startNats, testLimits } from '#test/rig.ts'

const ORGANIZATION = '00000000-0000-4000-8000-0000000000a1'
const settled = async (): Promise<ReadonlyMap<number, number>> => new Map([[0, 1_000]])

/** Stops the engine's work on events at a moment at which projections are to be built: whoever asked waits, what was begun is cut short. */
async function holdBuilding(store: Store): Promise<void> {
  const unfinished = () =>
    store.read<{ command: string }>(
      "SELECT command FROM system.mutations WHERE database = {database:String} AND table = 'events' AND NOT is_done",
      { parameters: { database: store.database } },
    )
  for (;;) {
    await store.command(`SYSTEM STOP MERGES ${store.database}.events`)
    const held = await eventually('an ALTER is held', async () => {
      const found = await unfinished()
      return found.length > 0 && found
    })
    if (held.some(({ command }) => command.includes('MATERIALIZE PROJECTION'))) return
    await store.command(`SYSTEM START MERGES ${store.database}.events`)
    await eventually('another one', async () => (await unfinished())[0]?.command !== held[0]?.command)
  }
}

t.test('every bucket is built again, also when the call is killed in between', async t => {
  const [nats, { store, url, database }] = await Promise.all([startNats(t), freshDatabase(t)])
  const { buckets } = await applyStreams(await connectNats(t, nats.url), testLimits)
  const engines = { NATS_URL: nats.url, CLICKHOUSE_URL: url, PARLEY_DATABASE: database }
  const parley = commandOf(engines, 'rebuild')
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

  ends(t, await parley('status'), { code: 0, out: 'never' })
  ends(t, await parley('--resume'), { code: 2, err: 'nothing to go on with' })
  ends(t, await parley('--org', 'mine'), { code: 2, err: '--org must be a uuid' })
  const dry = await parley('--dry-run')
  t.equal(dry.err, '')
  ends(t, dry, { code: 0, out: /events\/\S*202606: 50 rows/ })
  t.match(dry.out, /^2 buckets, \d+ pieces, about \d+ s/m)
  for (const scope of [
    ['--since', '2026-06-01'],
    ['--org', ORGANIZATION, '--until', '2026-06-01'],
  ])
    ends(t, await parley('--dry-run', ...scope), { code: 0, out: '\n1 buckets' }, scope.join(' '))
  t.equal((await differences()).length, 1, 'nothing has changed')

  const record = async (): Promise<RebuildRecord | undefined> =>
    (await buckets.cursors.get(REBUILD_KEY))?.json<RebuildRecord>()
  // Each of the pieces costs the engine a third of a second, so that there is one whole rebuild only: of an organization that has all rows.
  const start = (...args: string[]) => {
    const [file, line] = commandLine('rebuild', ...args)
    const child = spawn(file, line, { env: commandEnv(engines), stdio: ['ignore', 'ignore', 'pipe'] })
    t.teardown(() => child.kill('SIGKILL'))
    const said: string[] = []
    child.stderr.setEncoding('utf8').on('data', (text: string) => said.push(text))
    const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, out: '', err: said.join('') }))
    return { child, ended, err: () => said.join('') }
  }
  const killed = start('--org', ORGANIZATION)
  await eventually('a few pieces', async () => ((await record())?.done ?? 0) >= 2, 60_000)
  await holdBuilding(store)
  killed.child.kill('SIGKILL')
  await killed.ended
  ends(t, await parley(), { code: 2, err: 'not finished: rebuild of 00000000' })
  const resumed = start('--resume')
  await Promise.race([resumed.ended, eventually('it waits', () => /waits for mutation_/.test(resumed.err()), 60_000)])
  await store.command(`SYSTEM START MERGES ${database}.events`)
  ends(t, await resumed.ended, { code: 0, err: /^waits for mutation_\d+\.txt of events/ })
  t.match(await record(), { state: 'done', differences: [] })
  ends(t, await parley('status'), { code: 0, out: /^rebuild of 00000000\S* done: (\d+) of \1 pieces, nothing differs/ })
  t.strictSame(await differences(), [])
  const [sum] = await store.read<{ n: string }>(
    "SELECT sumMerge(`sum(sign)`) AS n FROM mergeTreeProjection(currentDatabase(), 'events', 'metrics_daily')",
  )
  t.equal(sum?.n, '60')
})
