// A receiver as it runs in production, with engines of its own on disk, an organization and sessions, and nobody who reads the
// streams: who measures keeps them from filling.
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JetStreamManager } from '@nats-io/jetstream'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { createOrganization } from '#control/admin.ts'
import { startClickHouse } from '#local/clickhouse.ts'
import type { Engine } from '#local/nats.ts'
import { startNats } from '#local/nats.ts'
import { startPartProcess } from '#local/part.ts'
import { streamOf } from '#proto/streams.ts'
import { createLog } from '#runtime/log.ts'
import { migrate } from '#store/migrate.ts'
import { applyStreams } from '#streams/apply.ts'
import { connect } from '#streams/connect.ts'
import { post } from './instance.ts'

const GiB = 1024 * 1024 * 1024
/** As many as the launcher lays out by default. */
const PARTITIONS = 2
/** Room for the longest round. */
const STREAM_BYTES = 24 * GiB
const DATABASE = 'bench'
const SCRAPE_MS = 5_000

/** A running receiver. */
interface StartedReceiver {
  readonly pid: number
  /** For messages to what was preloaded. */
  readonly process: ChildProcess
  /** Its own address and that of its trace collector. */
  readonly urls: { readonly rest: string; readonly otlp: string }
}

/** A running receiver and what belongs to it. */
export interface ReceiverRig extends StartedReceiver {
  readonly nats: Engine
  readonly nc: NatsConnection
  readonly jsm: JetStreamManager
  /** Id of the tenant; sessions made with `createSessions` belong to it. */
  readonly organization: string
  /** A folder for files of the bench; removed with everything else. */
  readonly dir: string
  /** One receiver more, over the same engines. Those that are given one port share what is sent to it; left out: a free one. */
  startReceiver(port?: number): Promise<StartedReceiver>
  createSessions(count: number): Promise<string[]>
  /** Removes every message of the ingest streams and of the streams named. */
  purge(...others: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** Starts everything; an interrupt stops it again. `preload`: a module that receivers load before their own code. */
export async function startReceiverRig(options: { preload?: URL } = {}): Promise<ReceiverRig> {
  const undo: (() => unknown)[] = []
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  process.once('SIGINT', () => void close().finally(() => process.exit(130)))
  try {
    return await start(undo, close, options.preload)
  } catch (error) {
    await close()
    throw error
  }
}

async function start(undo: (() => unknown)[], close: () => Promise<void>, preload?: URL): Promise<ReceiverRig> {
  const dir = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  undo.push(() => rm(dir, { recursive: true, force: true }))
  const onSpawn = (engine: Engine): void => void undo.push(() => engine.stop())
  const [nats, clickhouse] = await Promise.all([
    startNats({ dir: join(dir, 'nats'), searchPath: process.env.PATH ?? '', onSpawn }),
    startClickHouse({ dir: join(dir, 'clickhouse'), onSpawn }),
  ])
  await migrate({ url: clickhouse.url, database: DATABASE, application: 'bench' })
  const nc = await connect({ url: nats.url, name: 'bench', log: createLog({ part: 'bench', level: 'silent' }) })
  undo.push(() => nc.close())
  const { buckets } = await applyStreams(nc, {
    partitions: PARTITIONS,
    streamMaxBytes: STREAM_BYTES,
    deadMaxBytes: GiB,
    replicas: 1,
  })
  const organization = (await createOrganization(buckets.control, { name: 'bench' })).id
  const startReceiver = async (port = 0): Promise<StartedReceiver> => {
    const { child, ready } = startPartProcess({
      main: 'ingest/main.ts',
      env: {
        NATS_URL: nats.url,
        CLICKHOUSE_URL: clickhouse.url,
        PARLEY_DATABASE: DATABASE,
        PARLEY_PORT: String(port),
        PARLEY_OTLP_PORT: '0',
        ...(preload === undefined ? {} : { NODE_OPTIONS: `--import=${preload.href}` }),
      },
      output: { file: join(dir, 'receiver.log') },
    })
    undo.push(() => child.stop(8_000))
    const { about, opsPort } = await ready
    undo.push(startScraping(`http://127.0.0.1:${opsPort}/metrics`))
    return {
      pid: child.pid,
      process: child.process,
      urls: { rest: `http://127.0.0.1:${String(about.port)}`, otlp: `http://127.0.0.1:${String(about.otlpPort)}` },
    }
  }
  const first = await startReceiver()
  const jsm = await jetstreamManager(nc)
  return {
    ...first,
    nats,
    nc,
    jsm,
    organization,
    dir,
    startReceiver,
    createSessions: count => createSessions(first.urls.rest, organization, count),
    purge: async (...others) => {
      const ingest = Array.from({ length: PARTITIONS }, (_, p) => streamOf(p))
      await Promise.all([...ingest, ...others].map(name => jsm.streams.purge(name)))
    },
    close,
  }
}

/** Reads the metrics as often as a watchful Prometheus would: their cost belongs to what is measured. */
function startScraping(url: string): () => void {
  const timer = setInterval(
    () =>
      void fetch(url)
        .then(answer => answer.text())
        .catch(() => {}),
    SCRAPE_MS,
  )
  return () => clearInterval(timer)
}

async function createSessions(url: string, organization: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID())
  for (const session_id of ids) {
    const body = { session_id, user_data: { user_id: `user-${session_id.slice(0, 4)}` } }
    await post(`${url}/api/v1/capture-session`, { 'x-org-id': organization }, body)
  }
  return ids
}
