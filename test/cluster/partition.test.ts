// A server loses its routes to both others and stays alive, with its clients: what they send is refused or held there and stored by the
// others, acknowledged is stored exactly once. The storm of it takes NATS 2.12, named by NATS_SERVER_BIN; the cut itself any NATS.

import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import t from 'tap'
import { findProgram } from '#local/nats.ts'
import { applyStreams } from '#streams/apply.ts'
import {
  connectNats,
  createTenant,
  eventually,
  freshDatabase,
  startPart,
  type Teardown,
  type TestDatabase,
  testLimits,
} from '#test/rig.ts'
import { scaled } from '#test/scale.ts'
import { type Flow, startFlow } from './flow.ts'
import { createNetwork, type Isolation, type Network } from './network.ts'
import { type Cluster, type ClusterServer, startCluster } from './servers.ts'

const program = process.env.NATS_SERVER_BIN ?? ''
const SENDERS = 2
/** Acknowledged at each of the others while one is isolated. */
const EVENTS_BETWEEN = scaled({ sample: 30, full: 150 })
const REFUSALS = 4
const SETTLE_MS = 120_000

const ROUNDS: readonly (readonly [role: 'leader' | 'follower', stream: string, how: Isolation])[] = [
  ['leader', 'INGEST_0', 'cut'],
  ['leader', 'INGEST_1', 'held'],
  ['follower', 'INGEST_0', 'cut'],
  ['follower', 'INGEST_1', 'held'],
]

interface Route {
  readonly remote_id: string
  readonly port: number
}

async function routesOf({ monitorUrl }: ClusterServer): Promise<readonly Route[]> {
  return eventually('what the server says of its routes', async () => {
    const response = await fetch(`${monitorUrl}/routez`)
    return ((await response.json()) as { routes?: Route[] }).routes ?? []
  })
}

/** To how many others a server has routes. */
async function peersOf(server: ClusterServer): Promise<number> {
  return new Set((await routesOf(server)).map(route => route.remote_id)).size
}

/** Waits until each server has routes to all others but `isolated`, and that to none. */
async function routed({ servers }: Cluster, isolated?: ClusterServer): Promise<void> {
  for (const server of servers) {
    const peers = server === isolated ? 0 : servers.length - (isolated === undefined ? 1 : 2)
    await eventually(`${server.name} has ${peers} peers`, async () => (await peersOf(server)) === peers, SETTLE_MS)
  }
}

/** Routes that go around the proxies: one of their ends dialled the other's own port. */
async function strays({ servers }: Cluster, network: Network): Promise<Route[]> {
  const own = network.ports()
  const routes = (await Promise.all(servers.map(routesOf))).flat()
  return routes.filter(({ port }) => own.has(port))
}

t.test(
  'a server without routes has its clients, and finds the others again only by the routes that were cut',
  { timeout: 600_000 },
  async t => {
    const server = program === '' ? await findProgram('nats-server', process.env.PATH ?? '') : program
    const network = createNetwork(t)
    const cluster = await startCluster(t, server as string, network)
    await routed(cluster)
    t.strictSame(await strays(cluster, network), [], 'every route goes through a proxy')
    const [alone] = cluster.servers as [ClusterServer]
    const [asking, answering] = await Promise.all([connectNats(t, alone.url), connectNats(t, alone.url)])
    answering.subscribe('question', { callback: (_, message) => void message.respond('answer') })
    await answering.flush()
    network.isolate(alone.name, 'cut')
    await routed(cluster, alone)
    await eventually('an answer', () => asking.request('question'))
    await routed(cluster, alone)
    t.pass('it answered its clients, without a route')
    network.heal()
    await routed(cluster)
    t.strictSame(await strays(cluster, network), [])
  },
)

/** A server with what is connected to it, and to no other. */
interface Side {
  readonly server: ClusterServer
  readonly nc: NatsConnection
  readonly flow: Flow
}

/** A receiver, senders and a processor at each server. */
async function startSides(t: Teardown, cluster: Cluster, store: TestDatabase, organization: string): Promise<Side[]> {
  const receiving = {
    ...{ PARLEY_PORT: '0', PARLEY_OTLP_PORT: '0', PARLEY_SESSION_WAIT_MS: '60000' },
    // What cannot be stored is soon refused.
    PARLEY_HOLD_MS: '500',
  }
  return Promise.all(
    cluster.servers.map(async server => {
      const env = { NATS_URL: server.url, CLICKHOUSE_URL: store.url, PARLEY_DATABASE: store.database }
      const [nc, receiver] = await Promise.all([
        connectNats(t, server.url, { hasty: true }),
        startPart(t, 'ingest/main.ts', { ...env, ...receiving }),
        startPart(t, 'processors/main.ts', env),
      ])
      const baseUrl = `http://127.0.0.1:${String(receiver.about.port)}`
      return { server, nc, flow: startFlow(t, baseUrl, { organization, senders: SENDERS }) }
    }),
  )
}

/** Waits until the servers on this side have a leader of the stream, who is not `isolated`. */
async function ledHere({ nc }: Side, stream: string, isolated: ClusterServer): Promise<void> {
  const hasLeader = async () => {
    const name = (await (await jetstreamManager(nc)).streams.info(stream)).cluster?.leader
    return name !== undefined && name !== '' && name !== isolated.name
  }
  await eventually(`another leader of ${stream}`, hasLeader, SETTLE_MS)
}

/** Counts of the organization's events by id. */
async function countsOf({ store }: TestDatabase, organization: string): Promise<ReadonlyMap<string, number>> {
  const sql = `SELECT toString(event_id) AS id, toInt32(sum(sign)) AS n FROM events WHERE organization = {organization:UUID} GROUP BY id`
  const rows = await store.read<{ id: string; n: number }>(sql, { parameters: { organization } })
  return new Map(rows.map(({ id, n }) => [id, n]))
}

async function allStored(database: TestDatabase, organization: string, ids: readonly string[]) {
  return eventually(
    `${ids.length} acknowledged events are stored`,
    async () => {
      const found = await countsOf(database, organization)
      return ids.every(id => found.has(id)) && found
    },
    SETTLE_MS,
  )
}

t.test('acknowledged is stored exactly once, on either side of a cut', { timeout: 1_200_000 }, async t => {
  if (program === '') return t.pass('NOT RUN: it takes NATS 2.12 or newer, named by NATS_SERVER_BIN')
  const network = createNetwork(t)
  const [cluster, database] = await Promise.all([startCluster(t, program, network), freshDatabase(t)])
  const limits = { ...testLimits, replicas: 3 }
  const { buckets } = await eventually('a layout', () => applyStreams(cluster.nc, limits), SETTLE_MS)
  await cluster.whole()
  const { organization } = await createTenant(buckets)
  const sides = await startSides(t, cluster, database, organization)
  const more = (among: readonly Side[]) => Promise.all(among.map(({ flow }) => flow.more(EVENTS_BETWEEN)))
  await more(sides)
  for (const [role, stream, how] of ROUNDS) {
    const { leader, followers } = await cluster.rolesOf(stream)
    const victim = role === 'leader' ? leader : followers[0]
    const alone = sides.find(({ server }) => server === victim) as Side
    const others = sides.filter(side => side !== alone)
    network.isolate(alone.server.name, how)
    const acknowledgedAlone = alone.flow.watch()
    const refusedBefore = alone.flow.refused()
    await more(others)
    await ledHere(others[0] as Side, stream, alone.server)
    const meanwhile = others.flatMap(({ flow }) => flow.acknowledged())
    await allStored(database, organization, meanwhile)
    await eventually('refusals', () => alone.flow.refused() >= refusedBefore + REFUSALS, SETTLE_MS)
    if (how === 'cut') await routed(cluster, alone.server)
    t.equal(acknowledgedAlone(), 0, `${role} ${how}: nothing was acknowledged where it could not be stored`)
    network.heal()
    await cluster.whole()
    await more(sides)
    t.ok(acknowledgedAlone() > 0, 'and all is taken there again')
    t.strictSame(await strays(cluster, network), [], `${role} ${how}: healed, over the proxies alone`)
  }
  const acknowledged = (await Promise.all(sides.map(({ flow }) => flow.end()))).flat()
  const stored = await allStored(database, organization, acknowledged)
  t.strictSame(
    [...stored].filter(([, n]) => n !== 1),
    [],
    'none twice',
  )
  t.equal(stored.size, acknowledged.length, `${acknowledged.length} events were acknowledged`)
})
