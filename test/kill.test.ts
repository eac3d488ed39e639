// kill -9 of each process in turn while events flow: the launcher brings it back and tells the operator, and every acknowledged event is stored exactly
// once, in the table and in every projection.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { freePort } from '#local/ports.ts'
import { createStore } from '#store/client.ts'
import { post } from '#test/http.ts'
import { eventually, nodeEnv } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'

interface LocalJson {
  base_url: string
  org_id: string
  api_key: string
  clickhouse_url: string
  pids: Record<string, number | number[]>
}

const SENDERS = 8
/** Events that flow are wanted, not a full machine: what comes back shares it with its senders. */
const SENDS_EVERY_MS = scaled({ sample: 250, full: 10 })
/** Acknowledged between two kills. */
const EVENTS_BETWEEN = scaled({ sample: 50, full: 200 })

/** What the launcher calls them. */
const NAMES = {
  processors: 'processor-1',
  clickhouse: 'clickhouse',
  receivers: 'receiver-2',
  nats: 'nats',
  query: 'query',
}

/** Each process, and then those that hold what was acknowledged once more. */
const VICTIMS = [
  ['processors', 0],
  ['clickhouse', 0],
  ['receivers', 1],
  ['nats', 0],
  ['query', 0],
  ['processors', 0],
  ['clickhouse', 0],
  ['nats', 0],
] as const
const KILLS = scaled({ sample: 5, full: VICTIMS.length })

t.test('whatever is killed, what was acknowledged is stored exactly once', { timeout: 1_200_000 }, async t => {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-kill-'))
  const launcher = spawn(process.execPath, [fileURLToPath(new URL('../deploy/local/main.ts', import.meta.url))], {
    env: {
      PATH: process.env.PATH,
      ...nodeEnv,
      PARLEY_DATA_DIR: dataDir,
      PARLEY_PORT: String(await freePort()),
      PARLEY_OTLP_PORT: String(await freePort()),
      PARLEY_RECEIVERS: '2',
      PARLEY_DISK_MIN_FREE_PERCENT: '0',
      // With two of them processors are killed in processors/kill.test.ts.
      PARLEY_PARSE_THREADS: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  launcher.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  launcher.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const exited = once(launcher, 'close')
  t.teardown(async () => {
    launcher.kill('SIGTERM')
    await exited
    await rm(dataDir, { recursive: true, force: true })
  })
  const local = (): Promise<LocalJson> =>
    readFile(join(dataDir, 'local.json'), 'utf8').then(text => JSON.parse(text) as LocalJson)
  const instance = await eventually(
    'the launcher to be ready',
    async () => {
      if (launcher.exitCode !== null) throw new Error(output)
      const found = await local()
      const answer = await fetch(`${found.base_url}/readyz`)
      return answer.status === 200 && typeof found.pids.query === 'number' ? found : undefined
    },
    60_000,
  )

  // Senders that never give up on an event: what got no 2xx is sent again under the same id, so acknowledged = everything.
  const acknowledged = new Set<string>()
  let running = true
  const org = { 'x-org-id': instance.org_id }
  const untilAccepted = async (path: string, body: Record<string, unknown>): Promise<void> => {
    for (;;) {
      const status = await post(`${instance.base_url}${path}`, body, org).then(
        answer => answer.status,
        () => 0,
      )
      if (status === 200) return
      if (status === 400 || status === 401) throw new Error(`${path} was answered ${status}`)
      await delay(50)
    }
  }
  const sender = async (): Promise<void> => {
    const session_id = randomUUID()
    await untilAccepted('/api/v1/capture-session', { session_id, user_data: { user_id: 'k' } })
    while (running) {
      const event_id = randomUUID()
      const body = { event_id, session_id, primitive_name: 'killed', args: 'a'.repeat(300), result: 'b', latency: 5 }
      await untilAccepted('/api/v1/capture-event', body)
      acknowledged.add(event_id)
      await delay(SENDS_EVERY_MS)
    }
  }
  const senders = Promise.all(Array.from({ length: SENDERS }, sender))

  const pidOf = (pids: LocalJson['pids'], name: string, index: number): number => {
    const value = pids[name]
    return (Array.isArray(value) ? value[index] : value) as number
  }
  for (const [name, index] of VICTIMS.slice(0, KILLS)) {
    const before = acknowledged.size
    await eventually(
      'events to flow',
      async () => (acknowledged.size > before + EVENTS_BETWEEN ? true : undefined),
      30_000,
    )
    const pid = pidOf((await local()).pids, name, index)
    process.kill(pid, 'SIGKILL')
    const now = await eventually(
      `${name} to come back`,
      async () => {
        const found = pidOf((await local()).pids, name, index)
        return found !== pid && found > 0 ? found : undefined
      },
      60_000,
    )
    t.not(now, pid, `${name} came back as another process`)
    const told = `${NAMES[name]} (process ${pid}) was ended by SIGKILL`
    await eventually(told, () => output.includes(told))
  }
  running = false
  await senders
  t.ok(acknowledged.size > KILLS * EVENTS_BETWEEN, `${acknowledged.size} events were acknowledged`)

  const store = createStore({ url: instance.clickhouse_url, database: 'parley', application: 'kill-test' })
  t.teardown(() => store.close())
  const one = async (sql: string): Promise<number> => {
    const [row] = await store.read<{ n: string }>(sql, { parameters: { organization: instance.org_id } })
    return Number(row?.n)
  }
  const mine = `WHERE organization = {organization:UUID}`
  await eventually(
    'every acknowledged event to be stored',
    async () =>
      (await one(`SELECT uniqExact(event_id) AS n FROM events ${mine}`)) >= acknowledged.size ? true : undefined,
    40_000,
  )
  // Read without projections, so that the table itself is counted; then each projection.
  const raw = { optimize_use_projections: 0 } as const
  const [table] = await store.read<{ rows: string; ids: string; texts: string }>(
    `SELECT sum(sign) AS rows, uniqExact(event_id) AS ids, (SELECT count() FROM texts ${mine}) AS texts FROM events ${mine}`,
    { parameters: { organization: instance.org_id }, settings: raw },
  )
  const n = acknowledged.size
  t.strictSame(table, { rows: String(n), ids: String(n), texts: String(n) }, 'rows, distinct ids and texts')
  t.equal(await one(`SELECT uniqExact(conversation_id) AS n FROM sessions ${mine}`), SENDERS, 'sessions')
  const day = `toDate(ts) >= '2000-01-01'`
  const from = `toStartOfInterval(ts, INTERVAL 15 MINUTE) >= toDateTime('2000-01-01 00:00:00', 'UTC')`
  t.equal(await one(`SELECT sum(sign) AS n FROM events ${mine} AND ${from}`), n, 'metrics by 15 minutes')
  t.equal(await one(`SELECT sum(sign) AS n FROM events ${mine} AND ${day}`), n, 'metrics by day')
  t.equal(
    await one(
      `SELECT sum(n) AS n FROM (SELECT conversation_id, sum(sign) AS n FROM events ${mine} AND ${day} GROUP BY conversation_id)`,
    ),
    n,
    'conversations by day',
  )
  launcher.kill('SIGTERM')
  const [code] = (await exited) as [number | null]
  t.equal(code, 0, 'it stops in order after all that')
})
