// A folder -> the engines over it and the parts that a launcher would start: the store in the folder outlives the bench, all else is new.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createApiKey, createOrganization, createOwner } from '#control/admin.ts'
import { startClickHouse, WALL_NAMES } from '#local/clickhouse.ts'
import { createStore, type Store } from '#store/client.ts'
import { migrate } from '#store/migrate.ts'
import { raiseWall } from '#store/wall/raise.ts'
import { applyStreams } from '#streams/apply.ts'
import { connectNats, startNats, startPart, type Teardown, type TestPart } from '#test/rig.ts'

/** The organization that asks. */
export const ORGANIZATION = '5f0c7a52-9b1e-4d38-8c66-2f1d3a4b5c6d'
const DATABASE = 'parley'
const GiB = 1024 * 1024 * 1024
const START_MS = 600_000

/** A store that is kept, and whoever may read it. */
export interface KeptStore {
  readonly store: Store
  readonly url: string
  readonly readerUrl: string
  /** For SQL of tenants. */
  readonly sqlUrl: string
  readonly pid: number
}

/** Starts the engine over `dir` and brings its schema to this build's. */
export async function openStore(t: Teardown, dir: string): Promise<KeptStore> {
  await mkdir(dir, { recursive: true })
  const engine = await startClickHouse({
    dir: join(dir, 'clickhouse'),
    databases: [DATABASE],
    startTimeoutMs: START_MS,
  })
  t.teardown(async () => {
    engine.kill('SIGKILL')
    await engine.exited
  })
  const placed = { url: engine.url, database: DATABASE, application: 'bench' }
  await migrate(placed)
  const reason = await raiseWall({ store: placed, users: WALL_NAMES })
  if (reason !== undefined) throw new Error(`no wall: ${reason}`)
  const store = createStore({ ...placed, requestTimeoutMs: 3_600_000 })
  t.teardown(() => store.close())
  return { store, url: engine.url, readerUrl: engine.readerUrl, sqlUrl: engine.sqlUrl, pid: engine.pid }
}

/** When the world of a folder ends: fixed by the first run, so that a later one goes on with the same world. */
export async function endOf(dir: string, said: object): Promise<number> {
  const file = join(dir, 'world.json')
  await mkdir(dir, { recursive: true })
  const known = await readFile(file, 'utf8').catch(() => '')
  const hour = 3_600_000
  if (known === '') {
    const endMs = Math.floor(Date.now() / hour) * hour
    await writeFile(file, JSON.stringify({ ...said, endMs }))
    return endMs
  }
  const { endMs, ...before } = JSON.parse(known) as { endMs: number }
  if (JSON.stringify(before) !== JSON.stringify(said)) {
    throw new Error(`${dir} holds another world (${known}): give another --dir, or remove it`)
  }
  return endMs
}

/** Parts over a store. */
export interface Parts {
  /** The query node as it is, and one whose store may use no aggregate: every answer recounted from rows. */
  readonly queryUrl: string
  readonly recountUrl: string
  readonly baseUrl: string
  readonly apiKey: string
  readonly query: TestPart
}

/** Starts NATS, a receiver, a processor and two query nodes. */
export async function startParts(t: Teardown, kept: KeptStore): Promise<Parts> {
  const nats = await startNats(t)
  const nc = await connectNats(t, nats.url)
  const { buckets } = await applyStreams(nc, { partitions: 2, streamMaxBytes: 4 * GiB, deadMaxBytes: GiB, replicas: 1 })
  await createOrganization(buckets.control, { id: ORGANIZATION, name: 'bench' })
  const owner = await createOwner(buckets.control, ORGANIZATION, { email: 'owner@example.org', name: 'Owner' })
  const { key } = await createApiKey(buckets.control, {
    organization: ORGANIZATION,
    name: 'bench',
    createdBy: owner.id,
    scopes: ['read'],
  })
  const env = {
    ...{ NATS_URL: nats.url, CLICKHOUSE_URL: kept.url, PARLEY_DATABASE: DATABASE, PARLEY_LOG_LEVEL: 'error' },
    ...{ PARLEY_QUERY_MAX_SECONDS: '600', PARLEY_QUERY_MAX_MEMORY_MB: '8192' },
  }
  const node = async (readerUrl: string, more = {}): Promise<{ part: TestPart; url: string }> => {
    const where = { PARLEY_READER_URL: readerUrl, PARLEY_QUERY_PORT: '0' }
    const part = await startPart(t, 'query/main.ts', { ...env, ...where, ...more })
    return { part, url: `http://127.0.0.1:${String(part.about.port)}` }
  }
  const query = await node(kept.readerUrl)
  const recount = await node(`${kept.readerUrl}/?ch_optimize_use_projections=0`, { PARLEY_QUERY_DAYS_MB: '0' })
  const receiver = await startPart(t, 'ingest/main.ts', {
    ...env,
    PARLEY_PORT: '0',
    PARLEY_OTLP_PORT: '0',
    PARLEY_QUERY_URL: query.url,
  })
  await startPart(t, 'processors/main.ts', env)
  return {
    queryUrl: query.url,
    recountUrl: recount.url,
    baseUrl: `http://127.0.0.1:${String(receiver.about.port)}`,
    apiKey: key,
    query: query.part,
  }
}
