// The processor: raw payloads from the streams -> rows in the store, exactly once. Any number of these share the partitions.
import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { openControlView } from '#control/view.ts'
import { loadPrices } from '#pricing/list.ts'
import { LAYOUT_KEY } from '#proto/streams.ts'
import { runPart } from '#runtime/part.ts'
import { readSettings } from '#runtime/settings.ts'
import { createStore } from '#store/client.ts'
import type { Buckets } from '#streams/apply.ts'
import { openBuckets } from '#streams/apply.ts'
import { connect } from '#streams/connect.ts'
import { retentionClasses } from './classes.ts'
import { processorSettings } from './config.ts'
import { createGate } from './gate.ts'
import { REQUEST_TIMEOUT_MS } from './insert.ts'
import { thisHolder } from './lease.ts'
import { followLinks } from './link-memory.ts'
import { joinMembers } from './members.ts'
import { createProcessorMetrics } from './metrics.ts'
import { startOwner } from './owner.ts'
import { createPool } from './pool.ts'
import { createReadings } from './readings.ts'

/** Time that a stop may spend on ranges in flight; the rest of the process's time is for closing. */
const STOP_GRACE_MS = 5_000
/** The same while NATS is away: nothing can be brought to its end then. */
const AWAY_GRACE_MS = 500
const LAYOUT_WAIT_MS = 30_000
/** Rows of one turn of a correction: what waits for the same owner waits for less than a second. */
const CORRECTION_ROWS = 2_000

await runPart('processor', async ({ env, log, metrics }) => {
  const settings = readSettings(env, processorSettings)
  const member = randomBytes(8).toString('hex')
  const prices = await loadPrices(settings.prices)
  const nc = await connect({ url: settings.natsUrl, name: `processor-${member}`, log })
  const link = followLink(nc)
  const buckets = await openBuckets(nc)
  const partitions = await partitionsOf(buckets)
  const control = await openControlView(buckets.control, log)
  const store = createStore({
    url: settings.clickhouseUrl,
    database: settings.database,
    application: 'parley-processor',
    maxConnections: 4 + 8 * partitions,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
  })
  const threads = settings.threads || Math.max(1, Math.min(4, availableParallelism()))
  const pool = createPool({
    worker: new URL('./worker.ts', import.meta.url),
    threads,
    frameTimeoutMs: settings.parseTimeoutMs,
    heapMb: settings.threadHeapMb,
    secretKeys: settings.secretKeys,
    log,
  })
  const instruments = createProcessorMetrics(metrics)
  const js = jetstream(nc, { timeout: 5_000 })
  const jsm = await jetstreamManager(nc, { timeout: 5_000 })
  const links = followLinks({ js, jsm, store, log })
  const shared = {
    nc,
    js,
    jsm,
    links,
    cursors: buckets.cursors,
    store,
    pool,
    gate: createGate(threads, settings.bytesInFlight),
    log,
    metrics: instruments,
    classes: retentionClasses(control),
    readings: createReadings(prices.list, control),
    insertIntervalMs: settings.insertIntervalMs,
    insertsInFlight: settings.insertsInFlight,
    blockBytes: settings.blockBytes,
    backlogBytes: settings.backlogBytes,
    bulkShare: settings.bulkShare / 100,
    repeatWindow: settings.repeatWindow,
    replayMs: settings.replayMs,
    correctionRows: CORRECTION_ROWS,
  }
  let takeovers = 0
  const members = joinMembers({
    leases: buckets.leases,
    partitions,
    holder: thisHolder(member),
    start: (partition, lease) => startOwner(shared, partition, lease, `${member}.${++takeovers}`),
    log,
    metrics: instruments,
  })
  return {
    about: { member, partitions },
    notReady: async () => [...members.reasons(), ...((await store.ping()) ? [] : ['ClickHouse does not answer'])],
    stop: async () => {
      await members.stop(link.up ? STOP_GRACE_MS : AWAY_GRACE_MS)
      control.close()
      links.close()
      await Promise.all([pool.close(), store.close(), nc.close()])
    },
  }
})

/** Whether there is a connection now. */
function followLink(nc: NatsConnection): { readonly up: boolean } {
  const link = { up: true }
  void (async () => {
    for await (const { type } of nc.status()) {
      if (type === 'disconnect') link.up = false
      if (type === 'reconnect') link.up = true
    }
  })()
  return link
}

/** The number of partitions, once somebody has laid out the streams. */
async function partitionsOf({ control }: Buckets): Promise<number> {
  const deadline = performance.now() + LAYOUT_WAIT_MS
  for (;;) {
    const entry = await control.get(LAYOUT_KEY)
    if (entry) return entry.json<{ partitions: number }>().partitions
    if (performance.now() > deadline) throw new Error('the streams are not laid out: nobody has started parley here')
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}
