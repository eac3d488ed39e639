// What tests stand on: real engines and real parts, each in a place of its own, all gone when the test ends, passed or failed.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClickHouseError } from '@clickhouse/client'
import type { NatsConnection } from '@nats-io/transport-node'
import { createApiKey, createOrganization, createOwner, createSigningKey, signToken } from '#control/admin.ts'
import type { User } from '#control/records.ts'
import { scopes } from '#control/records.ts'
import type { Exit } from '#local/child.ts'
import { startClickHouse as startClickHouseEngine, WALL_NAMES } from '#local/clickhouse.ts'
import type { Engine } from '#local/nats.ts'
import { startNats as startNatsEngine } from '#local/nats.ts'
import { startPartProcess } from '#local/part.ts'
import { freePort } from '#local/ports.ts'
import type { Log } from '#runtime/log.ts'
import { createLog } from '#runtime/log.ts'
import type { Store } from '#store/client.ts'
import { createStore } from '#store/client.ts'
import { migrate } from '#store/migrate.ts'
import { raiseWall } from '#store/wall/raise.ts'
import { viewsDatabase } from '#store/wall/tables.ts'
import type { Buckets, StreamLimits } from '#streams/apply.ts'
import { applyStreams } from '#streams/apply.ts'
import { connect } from '#streams/connect.ts'
import { FOR_FEW_ROWS, sharedClickHouse } from './engines.ts'
import { aggregateInserts } from './folding.ts'
import { copyTemplate, WALLED } from './template.ts'

const MiB = 1024 * 1024
const DAY_S = 86_400
/** A machine that is several times slower, or busy, is still right. */
const PATIENCE = 4
const START_MS = 120_000
/** An orderly stop takes what a busy machine takes; what hangs is still found. */
const STOP_MS = 60_000
const ASKED_MIN = 3
/** Between two questions: what comes soon is seen soon, what takes long is not asked for all the time. */
const FIRST_PAUSE_MS = 25
const LATER_PAUSE_MS = 300
const LONGEST_PAUSE_MS = 2_000
/** A question to NATS waits for its answer as long as this, whatever its asker has said. */
const REQUEST_MS = 60_000

/** What the rig needs of a tap test. Teardowns run in reverse order. */
export interface Teardown {
  teardown(handler: () => unknown): unknown
}

/** A log that says nothing. */
export const silentLog: Log = createLog({ part: 'test', level: 'silent' })

/** A folder that is removed when the test ends. */
export async function tempDir(t: Teardown): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'parley-test-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  return dir
}

/** An engine that a test may kill and bring back. */
export interface TestEngine {
  /** Address with credentials; the same before and after a restart. */
  readonly url: string
  readonly port: number
  readonly dir: string
  pid(): number
  /** SIGKILL; resolves when the process is gone. */
  kill9(): Promise<void>
  /** Starts it again on the same port and folder, ending it first if it still runs. */
  restart(): Promise<void>
  /** Orderly end. */
  stop(): Promise<void>
}

/** A NATS server with JetStream of this test's own. */
export function startNats(t: Teardown): Promise<TestEngine> {
  return testEngine(t, fixed =>
    startNatsEngine({ ...fixed, startTimeoutMs: START_MS, searchPath: process.env.PATH ?? '' }),
  )
}

/**
 * A ClickHouse of this test's own, for tests that kill it; others share one through `freshDatabase`. What is measured gives
 * `settings` of `{}`, which are those that users have.
 */
export function startClickHouse(t: Teardown, settings: Record<string, number> = FOR_FEW_ROWS): Promise<TestEngine> {
  return testEngine(t, fixed => startClickHouseEngine({ ...fixed, settings, startTimeoutMs: START_MS }))
}

async function testEngine(
  t: Teardown,
  start: (fixed: { dir: string; port: number; password: string }) => Promise<Engine>,
): Promise<TestEngine> {
  const dir = await tempDir(t)
  const fixed = { dir, port: await freePort(), password: randomBytes(16).toString('hex') }
  let engine = await start(fixed)
  t.teardown(async () => {
    engine.kill('SIGKILL')
    await engine.exited
  })
  return {
    url: engine.url,
    port: engine.port,
    dir,
    pid: () => engine.pid,
    kill9: async () => {
      engine.kill('SIGKILL')
      await engine.exited
    },
    restart: async () => {
      await engine.stop()
      engine = await start(fixed)
    },
    stop: () => engine.stop(),
  }
}

/** A migrated database of this test's own. */
export interface TestDatabase {
  /** Address of the engine, with credentials. */
  readonly url: string
  readonly database: string
  readonly store: Store
}

/** `aggregated`: inserts of events have their projections at once, as `aggregateInserts` of folding.ts has it. */
export interface DatabaseOptions {
  readonly aggregated?: boolean
  /** In an engine of the test's own, too, the schema is copied, at a tenth of what migrating costs. */
  readonly copied?: boolean
}

/**
 * A randomly named database with the schema of the migrations, dropped when the test ends: in the shared engine, or migrated in the
 * engine at `url` (`copied`: made like those of the shared one).
 */
export async function freshDatabase(t: Teardown, url?: string, options: DatabaseOptions = {}): Promise<TestDatabase> {
  const database = `test_${randomBytes(8).toString('hex')}`
  const migrated = url !== undefined && !options.copied
  const from = migrated ? url : (await sharedClickHouse()).url
  const engine = url ?? from
  if (migrated) await migrate({ url, database, application: 'test' })
  else await copyTemplate(engine, database, { ...options, from })
  const store = ownStore(t, engine, database)
  if (migrated && options.aggregated) await aggregateInserts(store)
  return { url: engine, database, store }
}

/** A store over a database that is dropped when the test ends. */
function ownStore(t: Teardown, url: string, database: string): Store {
  const store = createStore({ url, database, application: 'test' })
  t.teardown(async () => {
    try {
      await store.command(`DROP DATABASE IF EXISTS ${viewsDatabase(database)} SYNC`)
      await store.command(`DROP DATABASE IF EXISTS ${database} SYNC`)
    } catch {
      // A test that ends with its own engine dead has nothing to drop; the shared engine is thrown away as a whole.
    }
    await store.close()
  })
  return store
}

/** A database with the wall in front. */
export interface WalledDatabase extends TestDatabase {
  readonly readerUrl: string
  readonly sqlUrl: string
  /** The database as the dashboard reads it. */
  readonly reader: Store
  /** The views as SQL of tenants reads them. */
  readonly sql: Store
}

/** A fresh database of the shared engine whose rows the wall's users see, each its own organization's. */
export async function walledDatabase(t: Teardown, options: DatabaseOptions = {}): Promise<WalledDatabase> {
  const { url, readerUrl, sqlUrl } = await sharedClickHouse()
  const database = await claim(url, options)
  const store = ownStore(t, url, database)
  const reason = await raiseWall({ store: { url, database, application: 'test' }, users: WALL_NAMES })
  if (reason !== undefined) throw new Error(`no wall: ${reason}`)
  const reader = createStore({ url: readerUrl, database, application: 'test' })
  const sql = createStore({ url: sqlUrl, database: viewsDatabase(database), application: 'test' })
  t.teardown(() => Promise.all([reader.close(), sql.close()]))
  return { url, readerUrl, sqlUrl, database, store, reader, sql }
}

/** Whoever makes a database has it; a name is free again when its database is dropped. */
async function claim(url: string, options: DatabaseOptions): Promise<string> {
  for (const database of WALLED) {
    try {
      await copyTemplate(url, database, options)
      return database
    } catch (error) {
      if (!(error instanceof ClickHouseError) || error.code !== '82') throw error
    }
  }
  throw new Error(`all ${WALLED.length} walled databases are taken`)
}

/**
 * A connection that is closed when the test ends. Whatever is asked over it (publishing included) is waited for much longer than
 * usual, so that a machine that pauses fails no test; `hasty`: as in production, for tests that kill the server and ask meanwhile.
 */
export async function connectNats(t: Teardown, url: string, how: { hasty?: boolean } = {}): Promise<NatsConnection> {
  const nc = await connect({ url, name: 'test', log: silentLog, timeoutMs: START_MS })
  t.teardown(() => nc.close())
  if (how.hasty) return nc
  const request = nc.request.bind(nc)
  nc.request = (subject, payload, options) =>
    request(subject, payload, { ...options, timeout: Math.max(options?.timeout ?? 0, REQUEST_MS) })
  return nc
}

/** Small streams, two partitions. */
export const testLimits: StreamLimits = {
  partitions: 2,
  streamMaxBytes: 256 * MiB,
  deadMaxBytes: 64 * MiB,
  replicas: 1,
}

/** A running part. */
export interface TestPart {
  readonly pid: number
  readonly opsPort: number
  /** What the part told about itself, e.g. its ports. */
  readonly about: Readonly<Record<string, unknown>>
  kill(signal: NodeJS.Signals): void
  readonly exited: Promise<Exit>
  /** SIGTERM; it gets more time than in production before it is ended by force. */
  stop(): Promise<Exit>
  /** Everything it has written, as text. */
  logs(): string
}

/** How this run starts Node (see stripped.mjs), for processes that inherit nothing else. */
export const nodeEnv: Readonly<Record<string, string>> =
  process.env.NODE_OPTIONS === undefined ? {} : { NODE_OPTIONS: process.env.NODE_OPTIONS }

/** One thread that parses: each that starts costs as much as the process, and few tests are about more of them. */
const PART_ENV = {
  ...nodeEnv,
  PARLEY_LOG_LEVEL: 'info',
  PARLEY_STOP_MS: String(STOP_MS),
  PARLEY_PARSE_THREADS: '1',
}

/**
 * Starts a part, e.g. `ingest/main.ts`, and resolves once it is ready. Its environment is `env` and nothing else, with a log level
 * of `info`, time for its stop and one parsing thread unless given.
 * @throws ParleyError RUN_PART_FAILED with what the part wrote when it ends before it is ready.
 */
export async function startPart(t: Teardown, main: string, env: Readonly<Record<string, string>>): Promise<TestPart> {
  const { child, ready } = startPartProcess({ main, env: { ...PART_ENV, ...env }, output: 'pipe' })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await child.exited
  })
  const chunks: string[] = []
  for (const stream of [child.process.stdout, child.process.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => chunks.push(chunk))
  }
  const logs = (): string => chunks.join('')
  try {
    const { opsPort, about } = await ready
    return {
      pid: child.pid,
      opsPort,
      about,
      kill: child.kill,
      exited: child.exited,
      stop: () => child.stop(STOP_MS + 10_000),
      logs,
    }
  } catch (error) {
    throw new Error(`${String(error)}\n${logs()}`, { cause: error })
  }
}

/** What `startSystem` may be told. */
export interface SystemOptions {
  readonly receivers?: number
  readonly processors?: number
  readonly limits?: Partial<StreamLimits>
  /** Added to the environment of every part. */
  readonly env?: Readonly<Record<string, string>>
  /** `private`: a ClickHouse that the test may kill. */
  readonly clickhouse?: 'shared' | 'private'
}

/** A whole parley, without the launcher. */
export interface TestSystem {
  /** Address of the REST interface of the first receiver. */
  readonly baseUrl: string
  /** Address of the trace collector of the first receiver. */
  readonly otelUrl: string
  /** The same of every receiver: each has ports of its own. */
  readonly baseUrls: readonly string[]
  readonly otelUrls: readonly string[]
  /** Address of the query node itself. */
  readonly queryUrl: string
  /** Id of the tenant that the credentials belong to. */
  readonly organization: string
  readonly owner: User
  readonly apiKey: string
  readonly bearer: string
  readonly nats: TestEngine
  /** The private engine, when asked for. */
  readonly clickhouse: TestEngine | undefined
  readonly clickhouseUrl: string
  readonly database: string
  readonly store: Store
  /** The rig's own connection and the buckets, to make more organizations with control/admin.ts. */
  readonly nc: NatsConnection
  readonly buckets: Buckets
  readonly receivers: readonly TestPart[]
  readonly processors: readonly TestPart[]
  readonly query: TestPart
  /** Starts one more of a kind with the same environment (ports of its own), e.g. after a kill. */
  startReceiver(env?: Readonly<Record<string, string>>): Promise<TestPart>
  startProcessor(env?: Readonly<Record<string, string>>): Promise<TestPart>
}

/** Starts NATS, a fresh database, an organization with its credentials, receivers, processors and a query node. */
export async function startSystem(t: Teardown, options: SystemOptions = {}): Promise<TestSystem> {
  const [nats, clickhouse] = await Promise.all([
    startNats(t),
    options.clickhouse === 'private' ? startClickHouse(t) : undefined,
  ])
  const [database, nc] = await Promise.all([
    freshDatabase(t, clickhouse?.url, { copied: true }),
    connectNats(t, nats.url),
  ])
  const { buckets } = await applyStreams(nc, { ...testLimits, ...options.limits })
  const tenant = await createTenant(buckets)
  const env = {
    NATS_URL: nats.url,
    CLICKHOUSE_URL: database.url,
    PARLEY_DATABASE: database.database,
    ...options.env,
  }
  const query = await startPart(t, 'query/main.ts', { ...env, PARLEY_QUERY_HOST: '127.0.0.1', PARLEY_QUERY_PORT: '0' })
  const queryUrl = `http://127.0.0.1:${String(query.about.port)}`
  const startReceiver = (more: Readonly<Record<string, string>> = {}): Promise<TestPart> =>
    startPart(t, 'ingest/main.ts', {
      ...env,
      PARLEY_HOST: '127.0.0.1',
      PARLEY_PORT: '0',
      PARLEY_OTLP_PORT: '0',
      PARLEY_QUERY_URL: queryUrl,
      // Senders are not told no because the machine paused.
      PARLEY_HOLD_MS: '60000',
      PARLEY_SESSION_WAIT_MS: '60000',
      ...more,
    })
  const startProcessor = (more: Readonly<Record<string, string>> = {}): Promise<TestPart> =>
    startPart(t, 'processors/main.ts', { ...env, ...more })
  const [receivers, processors] = await Promise.all([
    Promise.all(Array.from({ length: options.receivers ?? 1 }, () => startReceiver())),
    Promise.all(Array.from({ length: options.processors ?? 1 }, () => startProcessor())),
  ])
  const addresses = (port: string): string[] =>
    receivers.map(receiver => `http://127.0.0.1:${String(receiver.about[port])}`)
  const baseUrls = addresses('port')
  const otelUrls = addresses('otlpPort')
  return {
    baseUrl: baseUrls[0] as string,
    otelUrl: otelUrls[0] as string,
    baseUrls,
    otelUrls,
    queryUrl,
    ...tenant,
    nats,
    clickhouse,
    clickhouseUrl: database.url,
    database: database.database,
    store: database.store,
    nc,
    buckets,
    receivers,
    processors,
    query,
    startReceiver,
    startProcessor,
  }
}

/** An organization with an owner, an API key and a bearer token. */
export async function createTenant(
  buckets: Buckets,
  fields: { name?: string; active?: boolean } = {},
): Promise<{ organization: string; owner: User; apiKey: string; bearer: string }> {
  const { control } = buckets
  const organization = await createOrganization(control, { name: fields.name ?? 'test', active: fields.active ?? true })
  const owner = await createOwner(control, organization.id, {
    email: `owner@${organization.display_id}.example.org`,
    name: 'Owner',
  })
  const made = { organization: organization.id, name: 'test', createdBy: owner.id, scopes }
  const { key } = await createApiKey(control, made)
  const signing = await createSigningKey(control)
  const bearer = await signToken(signing, { user: owner, organization: organization.id }, DAY_S)
  return { organization: organization.id, owner, apiKey: key, bearer }
}

/**
 * Asks until `probe` gives something other than undefined, null or false; fails with `what` after a multiple of `timeoutMs`, and not before
 * it was asked several times: a machine that pauses may use up any time between two questions. A probe that throws is asked again
 * too (what it asks may be down for the moment); its last error becomes the cause.
 */
export async function eventually<T>(
  what: string,
  probe: () => T | Promise<T>,
  timeoutMs = 15_000,
): Promise<Exclude<T, undefined | null | false>> {
  const deadline = performance.now() + PATIENCE * timeoutMs
  let cause: unknown
  for (let asked = 0; asked < ASKED_MIN || performance.now() < deadline; asked++) {
    const askedAt = performance.now()
    try {
      const value = await probe()
      if (value !== undefined && value !== null && value !== false) return value as Exclude<T, undefined | null | false>
      cause = undefined
    } catch (error) {
      cause = error
    }
    // Whoever waits takes a fifth of its time at most from what is waited for: others wait beside it.
    const pauseMs = Math.max(Math.min(FIRST_PAUSE_MS + asked * 10, LATER_PAUSE_MS), 4 * (performance.now() - askedAt))
    await new Promise(resolve => setTimeout(resolve, Math.min(pauseMs, LONGEST_PAUSE_MS)))
  }
  throw new Error(`not seen within ${PATIENCE * timeoutMs} ms: ${what}`, { cause })
}
