// Three NATS servers that are one cluster, each a process that a test may kill, stop for a while and bring back.
import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Child } from '#local/child.ts'
import { lastLines, startChild } from '#local/child.ts'
import { freePort } from '#local/ports.ts'
import { connectNats, eventually, type Teardown, tempDir } from '#test/rig.ts'
import type { Network, Routing } from './network.ts'

const SIZE = 3
const SETTLE_MS = 120_000

/** One server of the cluster. */
export interface ClusterServer {
  readonly name: string
  /** Its own address, with credentials. */
  readonly url: string
  /** Where it tells about its routes. */
  readonly monitorUrl: string
  /** SIGKILL; resolves when the process is gone. */
  kill9(): Promise<void>
  /** SIGTERM, by which it hands its leaderships on; resolves when the process is gone. */
  stop(): Promise<void>
  start(): void
  /** SIGSTOP: it holds its connections and says nothing, like a server behind a cut cable; what it led it believes to lead when it wakes. */
  freeze(): void
  wake(): void
}

/** A running cluster. */
export interface Cluster {
  /** All servers, as NATS_URL names them. */
  readonly url: string
  readonly servers: readonly ClusterServer[]
  /** The leader of a stream, once there is one; and those that are not. */
  rolesOf(stream: string): Promise<{ leader: ClusterServer; followers: readonly ClusterServer[] }>
  /** Resolves once every stream has a leader and every copy is up to date. */
  whole(): Promise<void>
  readonly nc: NatsConnection
}

/** Starts `program` three times, their routes direct ones or as `network` lays them, and waits until the three agree. */
export async function startCluster(t: Teardown, program: string, network?: Network): Promise<Cluster> {
  const dir = await tempDir(t)
  const password = randomBytes(16).toString('hex')
  const places = await Promise.all(
    Array.from({ length: SIZE }, async (_, i) => ({
      name: `n${i + 1}`,
      port: await freePort(),
      routePort: await freePort(),
      monitorPort: await freePort(),
    })),
  )
  const routings = await network?.lay(places)
  const direct: Routing = { dials: places.map(({ routePort }) => routePort) }
  const servers = await Promise.all(
    places.map(async place => {
      const folder = join(dir, place.name)
      await mkdir(folder)
      const routing = routings?.get(place.name) ?? direct
      await writeFile(join(folder, 'nats.conf'), configOf({ ...place, folder, password, routing }))
      const url = `nats://parley:${password}@127.0.0.1:${place.port}`
      const monitorUrl = `http://127.0.0.1:${place.monitorPort}`
      return { ...runServer(t, program, folder), name: place.name, url, monitorUrl }
    }),
  )
  const url = servers.map(server => server.url).join(',')
  let nc: NatsConnection
  try {
    // Who is asked before the three agree may never answer.
    await eventually('a cluster of three', () => isAgreed(servers), SETTLE_MS)
    nc = await connectNats(t, url)
  } catch (error) {
    const said = places.map(({ name }) => lastLines(join(dir, name, 'log'), 10)).join('\n')
    throw new Error(`no cluster of ${program}\n${said}`, { cause: error })
  }
  // What is asked while servers come and go may never be answered: this connection asks again soon.
  const hasty = await connectNats(t, url, { hasty: true })
  const jsm = await eventually('an answer of the cluster', () => jetstreamManager(hasty), SETTLE_MS)
  await eventually('an answer over the other connection', () => jetstreamManager(nc), SETTLE_MS)
  return {
    url,
    servers,
    nc,
    rolesOf: async stream => {
      const name = await eventually(
        `a leader of ${stream}`,
        async () => (await jsm.streams.info(stream)).cluster?.leader,
        SETTLE_MS,
      )
      const [leader] = servers.filter(server => server.name === name)
      if (leader === undefined) throw new Error(`${stream} is led by ${name}`)
      return { leader, followers: servers.filter(server => server !== leader) }
    },
    whole: async () => {
      await eventually('every copy up to date', () => isWhole(jsm), SETTLE_MS)
    },
  }
}

interface Agreement {
  readonly meta_cluster?: { readonly leader?: string; readonly replicas?: readonly { readonly current: boolean }[] }
}

/** All know the leader, which knows that both others have what it has. */
async function isAgreed(servers: readonly ClusterServer[]): Promise<boolean> {
  const said = servers.map(async ({ monitorUrl }) => (await (await fetch(`${monitorUrl}/jsz`)).json()) as Agreement)
  const views = (await Promise.all(said)).map(view => view.meta_cluster)
  const followers = views.find(view => view?.replicas?.length === SIZE - 1)?.replicas ?? []
  return views.every(view => Boolean(view?.leader)) && followers.length > 0 && followers.every(one => one.current)
}

async function isWhole(jsm: JetStreamManager): Promise<boolean> {
  for await (const { config, cluster } of jsm.streams.list()) {
    const replicas = cluster?.replicas ?? []
    if (!cluster?.leader || replicas.length !== config.num_replicas - 1) return false
    if (replicas.some(({ current, offline }) => !current || offline === true)) return false
  }
  return true
}

type Running = Omit<ClusterServer, 'name' | 'url' | 'monitorUrl'>

function runServer(t: Teardown, program: string, folder: string): Running {
  let child: Child
  const start = (): void => {
    child = startChild({
      command: program,
      args: ['--config', join(folder, 'nats.conf')],
      env: {},
      output: { file: join(folder, 'log') },
      ipc: false,
    })
  }
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    child.kill(signal)
    await child.exited
  }
  start()
  t.teardown(() => end('SIGKILL'))
  return {
    start,
    kill9: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    freeze: () => child.kill('SIGSTOP'),
    wake: () => child.kill('SIGCONT'),
  }
}

function configOf(options: {
  name: string
  port: number
  routePort: number
  monitorPort: number
  folder: string
  password: string
  routing: Routing
}): string {
  const { dials, advertised } = options.routing
  return [
    `listen: "127.0.0.1:${options.port}"`,
    `http: "127.0.0.1:${options.monitorPort}"`,
    `server_name: ${options.name}`,
    `authorization { user: parley, password: "${options.password}" }`,
    'max_payload: 8MB',
    `jetstream { store_dir: ${JSON.stringify(options.folder)} }`,
    'cluster {',
    '  name: parley',
    `  listen: "127.0.0.1:${options.routePort}"`,
    `  routes: [${dials.map(port => `"nats://127.0.0.1:${port}"`).join(', ')}]`,
    // Its clients are told of no other server either: they stay.
    ...(advertised === undefined ? [] : [`  advertise: "127.0.0.1:${advertised}"`, '  no_advertise: true']),
    '}',
    '',
  ].join('\n')
}
