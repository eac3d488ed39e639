// Events flow through a cluster of NATS with three copies while its servers are killed, stopped for a while and restarted one after
// the other: every acknowledged event is stored exactly once. Runs where NATS_SERVER_BIN names a NATS of 2.12 or newer.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { createOrganization } from '#control/admin.ts'
import { readSettings } from '#runtime/settings.ts'
import { applyStreams, openBuckets } from '#streams/apply.ts'
import { post } from '#test/http.ts'
import { connectNats, createTenant, eventually, freshDatabase, nodeEnv, startPart, testLimits } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'
import { layoutSettings, limitsOf } from '../../deploy/settings.ts'
import { startFlow } from './flow.ts'
import { type Cluster, type ClusterServer, startCluster } from './servers.ts'

const program = process.env.NATS_SERVER_BIN ?? ''
const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))
const SENDERS = 4
/** Acknowledged before the first fault, under each, and after the last. */
const EVENTS_BETWEEN = scaled({ sample: 40, full: 200 })
const FLOW_MS = 120_000

type Act = (cluster: Cluster, stream: string) => Promise<(() => Promise<void>) | undefined>

/** What happens to the servers; each gives back how it heals. */
const FAULTS: readonly (readonly [name: string, stream: string, act: Act])[] = [
  ['the leader of a partition is killed', 'INGEST_0', ends('leader')],
  ['a follower is killed', 'INGEST_0', ends('follower')],
  ['the leader of a partition is cut off, and comes back as if nothing had happened', 'INGEST_1', freezes('leader')],
  ['a follower is cut off', 'INGEST_1', freezes('follower')],
  ['the leader of the cursors is killed', 'KV_cursors', ends('leader')],
  ['the leader of the leases is cut off', 'KV_leases', freezes('leader')],
  ['the leader of the control records is killed', 'KV_control', ends('leader')],
]

function pick(roles: { leader: ClusterServer; followers: readonly ClusterServer[] }, role: string): ClusterServer {
  return role === 'leader' ? roles.leader : (roles.followers[0] as ClusterServer)
}

function ends(role: string): Act {
  return async (cluster, stream) => {
    const victim = pick(await cluster.rolesOf(stream), role)
    await victim.kill9()
    return async () => victim.start()
  }
}

function freezes(role: string): Act {
  return async (cluster, stream) => {
    const victim = pick(await cluster.rolesOf(stream), role)
    victim.freeze()
    return async () => victim.wake()
  }
}

t.test('the setting that asks for copies, and addresses of several servers', async t => {
  const settings = readSettings({ PARLEY_STREAM_REPLICAS: '3' }, layoutSettings)
  t.equal(limitsOf(settings, '').replicas, 3)
})

t.test('acknowledged is stored exactly once', { timeout: 1_200_000 }, async t => {
  if (program === '') return t.pass('NOT RUN: it takes NATS 2.12 or newer, named by NATS_SERVER_BIN')
  const [cluster, database] = await Promise.all([startCluster(t, program), freshDatabase(t)])
  const nc = await connectNats(t, cluster.url)
  // A part that was first: buckets of one copy, which are raised.
  await eventually('buckets', () => openBuckets(nc), FLOW_MS)
  const limits = { ...testLimits, replicas: 3 }
  const { buckets } = await eventually('a layout', () => applyStreams(nc, limits), FLOW_MS)
  const jsm = await jetstreamManager(nc)
  const single: string[] = []
  for await (const { config } of jsm.streams.list()) if (config.num_replicas !== 3) single.push(config.name)
  t.strictSame(single, [], 'three copies of everything')
  await cluster.whole()
  await applyStreams(nc, testLimits)
  t.equal((await jsm.streams.info('INGEST_0')).config.num_replicas, 3, 'whoever lacks the setting takes no copy away')

  const { organization } = await createTenant(buckets)
  const env = { NATS_URL: cluster.url, CLICKHOUSE_URL: database.url, PARLEY_DATABASE: database.database }
  const receiving = {
    PARLEY_PORT: '0',
    PARLEY_OTLP_PORT: '0',
    PARLEY_HOLD_MS: '60000',
    PARLEY_SESSION_WAIT_MS: '60000',
  }
  const [receiver] = await Promise.all([
    startPart(t, 'ingest/main.ts', { ...env, ...receiving }),
    startPart(t, 'processors/main.ts', env),
    startPart(t, 'processors/main.ts', env),
  ])
  const baseUrl = `http://127.0.0.1:${String(receiver.about.port)}`
  const flow = startFlow(t, baseUrl, { organization, senders: SENDERS })
  await flow.more(EVENTS_BETWEEN)
  for (const [name, stream, act] of FAULTS) {
    const heal = await act(cluster, stream)
    await flow.more(EVENTS_BETWEEN)
    await heal?.()
    await cluster.whole()
    t.pass(name)
  }
  for (const server of cluster.servers) {
    await server.stop()
    await flow.more(EVENTS_BETWEEN)
    server.start()
    await cluster.whole()
  }
  t.pass('every server is restarted, one after the other')
  const made = await eventually(
    'a new organization',
    () => createOrganization(buckets.control, { name: 'new' }),
    FLOW_MS,
  )
  await eventually('the receiver knows it', () => captured(baseUrl, made.id), FLOW_MS)
  const acknowledged = await flow.end()

  const mine = { parameters: { organization } }
  const sql = `SELECT toString(event_id) AS id, toInt32(sum(sign)) AS n FROM events WHERE organization = {organization:UUID} GROUP BY id`
  const count = async (): Promise<Map<string, number>> =>
    new Map((await database.store.read<{ id: string; n: number }>(sql, mine)).map(({ id, n }) => [id, n]))
  const stored = await eventually(
    'every acknowledged event is stored',
    async () => {
      const found = await count()
      return acknowledged.every(id => found.has(id)) && found
    },
    FLOW_MS,
  )
  t.strictSame(
    [...stored].filter(([, n]) => n !== 1),
    [],
    'none twice',
  )
  t.equal(stored.size, acknowledged.length, `${acknowledged.length} events were acknowledged`)
  const { stdout } = await promisify(execFile)(process.execPath, [CLI, 'doctor', '--json'], {
    env: { PATH: process.env.PATH, ...nodeEnv, ...env },
  }).catch((error: { stdout: string }) => error)
  const { findings } = JSON.parse(stdout) as { findings: { check: string; state: string; said: string }[] }
  t.match(
    findings.filter(({ check }) => check === 'nats' || check === 'copies').map(({ state, said }) => `${state} ${said}`),
    [/^ok NATS 2\.\d+\.\d+ on 3 servers, 3 copies of each stream$/, /^ok all up to date of 9 streams and buckets$/],
  )
})

async function captured(baseUrl: string, organization: string): Promise<boolean> {
  const body = { session_id: randomUUID(), user_data: { user_id: 'u' } }
  return (await post(`${baseUrl}/api/v1/capture-session`, body, { 'x-org-id': organization })).status === 200
}
