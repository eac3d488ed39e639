// How the launcher ends, whatever the moment and whoever does not listen; and that it starts and ends nothing that it was given.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { createStore } from '#store/client.ts'
import { eventually, startClickHouse, startNats, tempDir } from '#test/rig.ts'
import { allGone, freshSettings, launch, processesOf, ready } from './fixture.ts'

/** True while there is a process of this id. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

// The stops that wait for someone take up to ten seconds each.
t.setTimeout(1_200_000)

/** What each of these leaves behind the next one starts from: a schema is laid out once. */
const dataDir = await tempDir(t)

t.test('a stop in the middle of the start leaves nothing running', { timeout: 1_200_000 }, async t => {
  // Moments of a start: before the engines, while they start, while streams and schema are laid out, while parts start.
  for (const afterMs of [150, 400, 900]) {
    const env = await freshSettings(t)
    const launched = launch(t, env)
    await new Promise(resolve => setTimeout(resolve, afterMs))
    launched.child.kill('SIGTERM')
    const { tookMs } = await launched.exited()
    t.comment(`${tookMs} ms for a stop after ${afterMs} ms`)
    await allGone(await processesOf(env).catch(() => []))
    t.notMatch(launched.output(), /Error|is not valid/, launched.output())
  }
})

t.test('a second Ctrl-C ends everything at once', async t => {
  const codeOfStop = async (): Promise<number | null> => {
    const env = await freshSettings(t, dataDir)
    const launched = launch(t, env)
    const { pids } = await ready(launched, env)
    const processes = await processesOf(env)
    // A receiver that does not listen to anybody makes the orderly stop last.
    process.kill(pids.receivers[0] as number, 'SIGSTOP')
    launched.child.kill('SIGINT')
    await eventually('the stop to begin', () => launched.output().includes('parley: stopping'))
    await new Promise(resolve => setTimeout(resolve, 1_100))
    launched.child.kill('SIGINT')
    const { code } = await launched.exited()
    await allGone(processes)
    return code
  }
  // The orderly stop ends by itself within ten seconds: a machine that pauses for so long may do that before the second Ctrl-C.
  let code: number | null = 0
  for (let attempt = 0; attempt < 5 && code === 0; attempt++) code = await codeOfStop()
  t.equal(code, 130)
})

t.test('a part that does not stop is ended in time', { timeout: 1_200_000 }, async t => {
  const env = await freshSettings(t, dataDir)
  const launched = launch(t, env)
  const { pids } = await ready(launched, env)
  const processes = await processesOf(env)
  for (const pid of [pids.receivers[0], pids.processors[0], pids.query, pids.nats])
    process.kill(pid as number, 'SIGSTOP')
  launched.child.kill('SIGTERM')
  const { code, tookMs } = await launched.exited()
  t.equal(code, 0)
  t.comment(`${tookMs} ms`)
  await allGone(processes)
})

t.test('a part that cannot start stops the start, says why, and leaves nothing', async t => {
  const env = await freshSettings(t, dataDir)
  const launched = launch(t, { ...env, PARLEY_MAX_BODY_BYTES: 'huge' })
  t.equal((await launched.exited()).code, 1)
  t.match(launched.output(), /receiver-1: .*PARLEY_MAX_BODY_BYTES/)
  t.match(launched.output(), /parley: .*ingest\/main\.ts ended with code 1/)
  await allGone(await processesOf(env))
})

t.test('engines that are given are used, and none is started', async t => {
  const env = await freshSettings(t)
  const [nats, clickhouse] = await Promise.all([startNats(t), startClickHouse(t)])
  const launched = launch(t, {
    ...env,
    NATS_URL: nats.url,
    CLICKHOUSE_URL: clickhouse.url,
    PARLEY_DATABASE: 'elsewhere',
  })
  const local = await ready(launched, env)
  t.equal(local.nats_url, nats.url)
  t.equal(local.clickhouse_url, clickhouse.url)
  t.equal(local.pids.nats, null)
  t.equal(local.pids.clickhouse, null)
  const store = createStore({ url: clickhouse.url, database: 'elsewhere', application: 'test' })
  t.ok((await store.read('SELECT name FROM migrations')).length > 0)
  await store.close()
  await t.rejects(stat(join(env.PARLEY_DATA_DIR as string, 'nats')))
  await t.rejects(stat(join(env.PARLEY_DATA_DIR as string, 'clickhouse')))

  await t.test('a launcher that is killed takes its own with it, also when there is no next start', async t => {
    const processes = await processesOf(env)
    t.ok(processes.length >= 4)
    launched.child.kill('SIGKILL')
    await launched.exited()
    await allGone(processes)
    for (const engine of [nats, clickhouse]) t.ok(isAlive(engine.pid()), 'what it was given stays')
  })
})
