// The launcher from outside: what it refuses, and that a second start goes on where the first ended. What it brings back is in
// test/kill.test.ts.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { decodeJwt } from 'jose'
import t from 'tap'
import { createStore } from '#store/client.ts'
import { eventually, tempDir } from '#test/rig.ts'
import { allGone, freshSettings, launch, localOf, processesOf, ready } from './fixture.ts'
import { freePort, probePort } from './ports.ts'

t.test('a taken port is one line that names it and its variable, and nothing is started', async t => {
  const env = await freshSettings(t)
  const owner = createServer().listen(Number(env.PARLEY_OTLP_PORT), '127.0.0.1')
  await once(owner, 'listening')
  t.teardown(() => owner.close())
  const launched = launch(t, env)
  t.equal((await launched.exited()).code, 1)
  t.match(launched.output(), new RegExp(`^parley: .*${env.PARLEY_OTLP_PORT}.*PARLEY_OTLP_PORT.*\n$`))
  t.same(await processesOf(env).catch(() => []), [])
  t.equal(await probePort(Number(env.PARLEY_PORT)), undefined)
})

t.test('two variables with the same port are refused before anything is started', async t => {
  const env = await freshSettings(t)
  const launched = launch(t, { ...env, PARLEY_NATS_PORT: env.PARLEY_PORT as string })
  t.equal((await launched.exited()).code, 1)
  t.match(launched.output(), /^parley: .*PARLEY_PORT and PARLEY_NATS_PORT.*\n$/)
})

t.test('wrong settings are one line that names each, and nothing is started', async t => {
  const env = await freshSettings(t)
  const wrong = {
    PARLEY_RECEIVERS: 'many',
    PARLEY_DISK_MIN_FREE_PERCENT: ' ',
    PARLEY_DATABASE: 'a-b',
    CLICKHOUSE_URL: 'localhost:1',
  }
  const launched = launch(t, { ...env, ...wrong })
  t.equal((await launched.exited()).code, 1)
  const line = launched.output()
  t.match(line, /^parley: A setting is not valid: [^\n]+\n$/)
  for (const name of Object.keys(wrong)) t.ok(line.includes(`${name} must be`), name)
  t.same(await processesOf(env).catch(() => []), [])
})

t.test('a data directory that cannot be made is one line that names it', async t => {
  const file = join(await tempDir(t), 'file')
  await writeFile(file, '')
  const env = await freshSettings(t)
  // Below a file, and in a folder of the kernel.
  for (const path of [join(file, 'data'), ...(process.platform === 'linux' ? ['/proc/nothing/data'] : [])]) {
    const launched = launch(t, { ...env, PARLEY_DATA_DIR: path })
    t.equal((await launched.exited()).code, 1)
    t.match(launched.output(), new RegExp(`^parley: [^\\n]*PARLEY_DATA_DIR: ${path} cannot be made [^\\n]*\\n$`))
  }
})

t.test('a name that nothing reads is told, and one that a command reads is not', async t => {
  const owner = createServer().listen(0, '127.0.0.1')
  await once(owner, 'listening')
  t.teardown(() => owner.close())
  const { port } = owner.address() as AddressInfo
  const env = { ...(await freshSettings(t)), PARLEY_PORT: String(port) }
  const launched = launch(t, { ...env, PARLEY_RECIEVERS: '2', PARLEY_USER_SQL: 'off', PARLEY_DEMO_DAYS: '3' })
  t.equal((await launched.exited()).code, 1)
  t.match(
    launched.output(),
    /^[\d:]{8} PARLEY_RECIEVERS is set, and nothing reads it[^\n]*\nparley: A port is in use[^\n]*\n$/,
  )
})

t.test('a host that is none of this machine is named by its variable, whatever the ports', async t => {
  const launched = launch(t, { ...(await freshSettings(t)), PARLEY_HOST: '192.0.2.7', PARLEY_PORT: '0' })
  t.equal((await launched.exited()).code, 1)
  t.match(launched.output(), /^parley: A setting is not valid: PARLEY_HOST: 192\.0\.2\.7 .*\n$/)
})

t.test('an engine elsewhere that does not answer is named without its password', async t => {
  const port = await freePort()
  const f = async (more: Record<string, string>, line: string): Promise<void> => {
    const launched = launch(t, { ...(await freshSettings(t)), ...more })
    t.equal((await launched.exited()).code, 1)
    t.match(launched.output(), `parley: No connection to an engine: ${line}`)
    t.notMatch(launched.output(), /secret|\n {4}at /)
  }
  await f({ NATS_URL: `nats://me:secret@127.0.0.1:${port}` }, `NATS at 127.0.0.1:${port}: `)
  await f({ CLICKHOUSE_URL: `http://me:secret@127.0.0.1:${port}` }, `ClickHouse at 127.0.0.1:${port}: `)
})

t.test('a data directory of a newer version is refused, and stays as it is', async t => {
  const env = await freshSettings(t)
  const file = join(env.PARLEY_DATA_DIR as string, 'version.json')
  await writeFile(file, '{"format":999,"version":"9.9.9"}')
  const launched = launch(t, env)
  t.equal((await launched.exited()).code, 1)
  t.match(launched.output(), /^parley: .*9\.9\.9.*PARLEY_DATA_DIR.*\n$/)
  t.ok(launched.output().includes(env.PARLEY_DATA_DIR as string))
  t.equal(await readFile(file, 'utf8'), '{"format":999,"version":"9.9.9"}')
})

t.test('a lock of a process that is gone, or of a pid that now means another process, does not count', async t => {
  const env = await freshSettings(t)
  const lock = join(env.PARLEY_DATA_DIR as string, 'launcher.lock')
  await writeFile(lock, JSON.stringify({ pid: process.pid, started: 'some other start' }))
  const launched = launch(t, { ...env, PARLEY_PORT: 'x' })
  t.equal((await launched.exited()).code, 1)
  await writeFile(lock, JSON.stringify({ pid: process.pid, started: 'some other start' }))
  const owner = createServer().listen(Number(env.PARLEY_PORT), '127.0.0.1')
  await once(owner, 'listening')
  t.teardown(() => owner.close())
  const second = launch(t, env)
  t.equal((await second.exited()).code, 1)
  t.match(second.output(), /PARLEY_PORT/, 'it got as far as the ports')
  await t.rejects(stat(lock), 'the lock is given back')
})

t.test('an instance runs, stops without rest and goes on', { timeout: 1_200_000 }, async t => {
  const env = await freshSettings(t)
  const launched = launch(t, { ...env, PARLEY_RECEIVERS: '2', PARLEY_PARSE_THREADS: '0' })
  const first = await ready(launched, env)

  await t.test('local.json is for its user alone and says where everything is', async t => {
    const mode = (await stat(join(env.PARLEY_DATA_DIR as string, 'local.json'))).mode & 0o777
    t.equal(mode, 0o600)
    t.equal(first.base_url, `http://127.0.0.1:${env.PARLEY_PORT}`)
    t.equal(first.otel_url, `http://127.0.0.1:${env.PARLEY_OTLP_PORT}`)
    t.match(first.api_key, /^parley_[0-9a-f]{64}$/)
    const token = decodeJwt(first.bearer)
    t.equal(Number(token.exp) - Number(token.iat), 12 * 3600, 'as long as docs/access.md says')
    t.equal(first.pids.launcher, launched.child.pid)
    t.equal(first.pids.receivers.length, 2)
    for (const url of [`${first.base_url}/healthz`, `${first.base_url}/dashboard/api/organization/summary`]) {
      const answer = await fetch(url, { headers: { 'x-api-key': first.api_key } })
      t.equal(answer.status, 200, url)
    }
  })

  await t.test('its owner signs in with the password that it shows', async t => {
    const { email, password } = first
    const body = JSON.stringify({ email, password })
    const answer = await fetch(`${first.base_url}/auth/sign-in`, { method: 'POST', body })
    t.equal(answer.status, 200)
    t.match(answer.headers.getSetCookie(), [/^parley_session=/])
    const { token } = (await answer.json()) as { token: string }
    const profile = await fetch(`${first.base_url}/dashboard/api/profile`, {
      headers: { authorization: `Bearer ${token}` },
    })
    t.match(await profile.json(), { organization: { id: first.org_id, role: 'owner' } })
  })

  await t.test('what README shows a newcomer, pasted as one block, is answered with what was sent', async t => {
    const page = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
    const block = /## First events[\s\S]*?```sh\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
    const script = block
      .replaceAll('./.parley', env.PARLEY_DATA_DIR as string)
      .replaceAll('localhost:8080', new URL(first.base_url).host)
      .replaceAll('localhost:4318', new URL(first.otel_url).host)
    const shell = spawn('sh', ['-s'], { stdio: ['pipe', 'pipe', 'pipe'] })
    const said = Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'exit')])
    shell.stdin.end(script)
    const [out, err] = await said
    t.equal(err, '')
    const [capture, ...answers] = out.trim().split('\n')
    t.match(capture, /^\d+-\d+-\d+$/)
    const receipts = answers.splice(0, 3).map(line => JSON.parse(line) as { state: string })
    t.strictSame(
      receipts.map(({ state }) => state),
      ['stored', 'stored', 'stored'],
    )
    const conversations = [
      '+15550100 | 2 | Are you open today?',
      'ada | 1 | Where is my order?',
      'grace | 1 | plan a trip',
    ]
    t.strictSame(answers.splice(0, 3).toSorted(), conversations)
    t.ok(answers.includes('support | Where is my order? | On its way.'), answers.join('\n'))
  })

  await t.test('the ready block shows addresses, organization and key', async t => {
    await eventually('the block', () => launched.output().includes('parley is ready'))
    for (const shown of [first.base_url, first.otel_url, first.org_id, first.api_key, first.password]) {
      t.ok(launched.output().includes(shown), shown)
    }
  })

  await t.test('a second instance with the same ports or the same folder is refused and harms nothing', async t => {
    const samePorts = launch(t, { ...env, PARLEY_DATA_DIR: await tempDir(t) })
    t.equal((await samePorts.exited()).code, 1)
    t.match(samePorts.output(), new RegExp(`^parley: .*${env.PARLEY_PORT}.*PARLEY_PORT`))
    const sameFolder = launch(t, { ...(await freshSettings(t)), PARLEY_DATA_DIR: env.PARLEY_DATA_DIR as string })
    t.equal((await sameFolder.exited()).code, 1)
    t.match(sameFolder.output(), /^parley: .*PARLEY_DATA_DIR.*\n$/)
    t.ok(sameFolder.output().includes(env.PARLEY_DATA_DIR as string))
    t.same((await localOf(env)).pids, first.pids)
  })

  const store = createStore({ url: first.clickhouse_url, database: 'parley', application: 'test' })
  await store.command('CREATE TABLE parley.kept (a UInt8) ENGINE = MergeTree ORDER BY a')
  await store.command('INSERT INTO parley.kept VALUES (7)')
  await store.close()

  const processes = await processesOf(env)
  t.ok(processes.length >= 6)

  await t.test('one Ctrl-C that arrives twice stops everything in order, within ten seconds', async t => {
    launched.child.kill('SIGINT')
    launched.child.kill('SIGINT')
    const { code, tookMs } = await launched.exited()
    t.equal(code, 0)
    t.comment(`${tookMs} ms`)
    await allGone(processes)
    await t.rejects(localOf(env), 'local.json is gone')
    t.match(launched.output(), /parley: stopped after/)
  })

  const again = launch(t, env)
  const second = await ready(again, env)
  await t.test('the next start goes on with the same organization, key and data', async t => {
    t.equal(second.org_id, first.org_id)
    t.equal(second.api_key, first.api_key)
    t.equal(second.password, first.password)
    const store = createStore({ url: second.clickhouse_url, database: 'parley', application: 'test' })
    t.same(await store.read('SELECT a FROM kept'), [{ a: 7 }])
    await store.close()
  })

  await t.test(
    'when the launcher itself is killed its processes end, and the next start is not in their way',
    async t => {
      const orphans = await processesOf(env)
      again.child.kill('SIGKILL')
      await again.exited()
      const third = launch(t, env)
      const local = await ready(third, env)
      t.equal(local.org_id, first.org_id)
      await allGone(orphans)
      third.child.kill('SIGTERM')
      t.equal((await third.exited()).code, 0)
    },
  )
})
