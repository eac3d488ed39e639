// The processor: raw payloads from the streams -> rows in the store, exactly once. Any number of these share the partitions.
import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { openControlView } from '#control/view.ts'
import { loadPrices } from '#pricing/list.ts'
import { shardOfPartition } from '#proto/ids.ts'
import { runPart } from '#runtime/part.ts'
import { readSettings } from '#runtime/settings.ts'
import { createShards } from '#store/shards.ts'
import type { Buckets } from '#streams/apply.ts'
import { openBuckets } from '#streams/apply.ts'
import { connect } from '#streams/connect.ts'
import { type Layout, readLayout, requireShards } from '#streams/layout.ts'
import { retentionClasses } from './classes.ts'
import { processorSettings } from './config.ts'
import { createGate } from './gate.ts'
import { REQUEST_TIMEOUT_MS } from './insert.ts'
import { thisHolder } from './lease.ts'
import { createLinkAnswers } from './link-answers.ts'
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
/**
 * How far a heap may grow behind a full collection, in percent of what is alive: some 25 MB in a thread under load, beside which blocks of
 * payloads and columns come and go, 40 MB a range. By V8's own measure these alone made it mark everything every 4,000 spans, which
 * was a third of the CPU of a processor (decision 0042).
 */
const HEAP_GROWING_PERCENT = 400

// Of all threads of the process, also of those that begin later.
setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`)

await runPart('processor', async ({ env, log, metrics }) => {
  const settings = readSettings(env, processorSettings)
  const member = randomBytes(8).toString('hex')
  const prices = await loadPrices(settings.prices)
  const nc = await connect({ url: settings.natsUrl, name: `processor-${member}`, log })
  const link = followLink(nc)
  const buckets = await openBuckets(nc)
  const layout = await layoutOf(buckets)
  const { partitions } = layout
  const control = await openControlView(buckets.control, log)
  const shards = createShards({
    url: settings.clickhouseUrl,
    database: settings.database,
    application: 'parley-processor',
    maxConnections: 4 + 8 * partitions,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
  })
  requireShards(layout, shards.all.length)
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
  // What an owner asks about its rows has its answer in the shard of its partition: links too are of organizations of that shard.
  const placed = shards.all.map(store => {
    const linked = createLinkAnswers(store, log)
    return { store, linked, links: followLinks({ nc, js, jsm, linked, log }) }
  })
  const shared = {
    nc,
    js,
    jsm,
    cursors: buckets.cursors,
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
    start: (partition, lease) => {
      const place = placed[shardOfPartition(partition, layout.shards)] as (typeof placed)[number]
      return startOwner({ ...shared, ...place }, partition, lease, `${member}.${++takeovers}`)
    },
    log,
    metrics: instruments,
  })
  return {
    about: { member, partitions },
    notReady: async () => [...members.reasons(), ...((await shards.ping()) ? [] : ['ClickHouse does not answer'])],
    stop: async () => {
      await members.stop(link.up ? STOP_GRACE_MS : AWAY_GRACE_MS)
      control.close()
      for (const { links } of placed) links.close()
      await Promise.all([pool.close(), shards.close(), nc.close()])
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

/** The layout, once there is one. */
async function layoutOf({ control }: Buckets): Promise<Layout> {
  const deadline = performance.now() + LAYOUT_WAIT_MS
  for (;;) {
    const layout = await readLayout(control)
    if (layout) return layout
    if (performance.now() > deadline) throw new Error('the streams are not laid out: nobody has started parley here')
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}
