// The receiver process: bytes in, receipt out. Three connections to NATS (publishing, following, control records), so that none can
// hold up another; the store is asked about old sessions only.
import { setFlagsFromString } from 'node:v8'
import { Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { createKeyUse } from '#control/key-use.ts'
import { API_KEY_FORMAT, hashApiKey } from '#control/records.ts'
import type { ControlView } from '#control/view.ts'
import { openControlView } from '#control/view.ts'
import { createAuthenticate, createCheckWriteKey } from '#ingest/auth.ts'
import { createCompression } from '#ingest/body.ts'
import { createBudget } from '#ingest/budget.ts'
import { ingestSettings } from '#ingest/config.ts'
import { createFollower } from '#ingest/follow.ts'
import { createForward, type Forward } from '#ingest/forward.ts'
import { createIntake } from '#ingest/intake.ts'
import { createKnownSessions } from '#ingest/known-sessions.ts'
import { createMeter, type Meter, registerGauges } from '#ingest/meter.ts'
import type { Publisher } from '#ingest/publish.ts'
import { createPublisher } from '#ingest/publish.ts'
import { createRates } from '#ingest/rates.ts'
import { createRejects } from '#ingest/rejects.ts'
import type { Server } from '#ingest/server.ts'
import { createServer } from '#ingest/server.ts'
import { createSessionLookup } from '#ingest/session-lookup.ts'
import type { Sessions } from '#ingest/sessions.ts'
import { createSessions } from '#ingest/sessions.ts'
import { createWire } from '#ingest/wire.ts'
import { ParleyError } from '#proto/errors.ts'
import { CONTROL_BUCKET, REJECTS_BUCKET } from '#proto/streams.ts'
import type { Log } from '#runtime/log.ts'
import type { PartContext, RunningPart } from '#runtime/part.ts'
import { runPart } from '#runtime/part.ts'
import { readSettings, type Values } from '#runtime/settings.ts'
import { openSessionLookup } from '#store/session-lookup.ts'
import { connect } from '#streams/connect.ts'
import { type Layout, readLayout, requireShards } from '#streams/layout.ts'
import type { Line } from '#streams/line.ts'
import { openLine } from '#streams/line.ts'

/** How long a receiver waits for the streams to be laid out by whoever starts first. */
const LAYOUT_WAIT_MS = 60_000
const LAYOUT_POLL_MS = 250
/** Share of a stop's time in which requests under way may be answered; the rest is for closing. */
const DRAIN_SHARE = 0.625

// Young objects are collected by the event loop's own thread: little survives, and with both cores busy it waited longer for the helper
// threads (6 to 12 ms a collection) than the work takes (2 ms).
setFlagsFromString('--no-parallel-scavenge')

await runPart('receiver', start)

async function start({ env, log, metrics }: PartContext): Promise<RunningPart> {
  const settings = readSettings(env, ingestSettings)
  const { line, following, controlling } = await openConnections(settings.natsUrl, log)
  const layout = await awaitLayout(controlling, log)
  const { partitions, shards } = layout
  requireShards(layout, settings.clickhouseUrl.split(',').length)
  const records = await new Kvm(controlling).open(CONTROL_BUCKET)
  const view = await openControlView(records, log)

  const meter = createMeter(metrics, log)
  const budget = createBudget(settings.maxPendingBytes)
  const { known, follower, sessions, store } = openSessions(settings, { nc: following, layout, meter, log })
  const wire = createWire(line)
  const publisher = createPublisher({
    wire,
    budget,
    partitions,
    shards,
    envelopeBytes: settings.envelopeBytes,
    holdMs: settings.holdMs,
    maxPending: settings.maxPendingRequests,
    // A partition that cannot take anything leaves room for those that can.
    maxHeldBytes: settings.maxPendingBytes / 2,
    log,
    meter,
  })
  const forward = openForward(settings, view, log)
  registerGauges(metrics, {
    budget,
    inFlight: () => publisher.inFlight(),
    pending: () => publisher.pending(),
    held: () => publisher.held(),
    knownSessions: known.size,
    knownSessionsBytes: known.bytes,
    waitingEvents: sessions.waiting,
    forwarded: () => forward?.open() ?? 0,
    collectedBytes: () => forward?.collected() ?? 0,
  })
  const compression = createCompression(budget, settings.maxBodyBytes)
  const { maxBodyBytes, unknownSession, ids } = settings
  const diskFull = (): boolean => view.guard()?.disk === 'full'
  const notReady = (): string[] => reasons(diskFull(), publisher.isUp(), follower.behind())
  const rejects = createRejects({ bucket: await new Kvm(controlling).open(REJECTS_BUCKET), metrics, log })
  const server = createServer({
    authenticate: createAuthenticate(view),
    checkWriteKey: createCheckWriteKey({ view, onKey: createKeyUse({ records, view, log }) }),
    budget,
    compression,
    intake: createIntake({ publisher, sessions, compression, unknownSession, diskFull, meter, log }),
    forward,
    rates: createRates({ requestsPerSecond: settings.rateRequests, bytesPerSecond: settings.rateBytes }),
    notReady,
    ids,
    maxBodyBytes,
    meter,
    rejects,
  })
  const listen = (port: number): number => server.listen(settings.host, port)
  return {
    notReady,
    about: { port: listen(settings.port), otlpPort: listen(settings.otlpPort) },
    stop: async withinMs => {
      await drain(server, sessions, publisher, withinMs * DRAIN_SHARE)
      await rejects.close()
      forward?.close()
      view.close()
      await follower.close()
      await Promise.all([following.close(), controlling.close(), store.close()])
    },
  }
}

/** The way to the query node, where there is one. */
function openForward(settings: Values<typeof ingestSettings>, view: ControlView, log: Log): Forward | null {
  const { queryUrl, corsOrigins } = settings
  if (queryUrl === '') return null
  return createForward({
    queryUrl,
    maxBodyBytes: settings.queryMaxBodyBytes,
    limits: {
      all: settings.forwardRequests,
      ofAddress: settings.forwardAddressRequests,
      ofCredential: settings.forwardCredentialRequests,
    },
    // The largest body must fit beside another one.
    maxBytes: Math.max(settings.forwardBytes, 2 * settings.queryMaxBodyBytes),
    organizationOfKey: key => (API_KEY_FORMAT.test(key) ? view.apiKey(hashApiKey(key))?.organization : undefined),
    corsOrigins,
    log,
  })
}

interface SessionSources {
  /** A connection that nothing else waits for. */
  readonly nc: NatsConnection
  readonly layout: Layout
  readonly meter: Meter
  readonly log: Log
}

/** What the receiver knows of sessions: those that it has heard of, those that the store can be asked for, and who waits for either. */
function openSessions(
  settings: Values<typeof ingestSettings>,
  { nc, layout: { partitions, shards }, meter, log }: SessionSources,
) {
  const store = openSessionLookup({
    url: settings.clickhouseUrl,
    database: settings.clickhouseDatabase,
    application: 'parley receiver',
    maxConnections: 2,
  })
  const known = createKnownSessions(settings.knownSessions)
  const follower = createFollower({ nc, partitions, onSession: (org, id) => sessions.learn(org, id), log })
  const sessions = createSessions({
    known,
    follower,
    lookup: createSessionLookup(store.ask),
    partitions,
    shards,
    waitMs: settings.sessionWaitMs,
    maxWaiting: settings.sessionWaits,
    onLookupFailed: meter.lookupFailed,
  })
  return { known, follower, sessions, store }
}

function reasons(diskFull: boolean, isUp: boolean, behind: readonly number[]): string[] {
  return [
    ...(diskFull ? ['the disk is nearly full'] : []),
    ...(isUp ? [] : ['the connection to NATS is lost']),
    ...behind.map(partition => `the sessions of partition ${partition} are still being read`),
  ]
}

/** A connection each: none of the three can keep another one's messages waiting. */
async function openConnections(
  url: string,
  log: Log,
): Promise<{ line: Line; following: NatsConnection; controlling: NatsConnection }> {
  const open = (role: string): Promise<NatsConnection> => connect({ url, name: `receiver ${role}`, log })
  const [line, following, controlling] = await Promise.all([
    openLine({ url, name: 'receiver publish', log }),
    open('follow'),
    open('control'),
  ])
  return { line, following, controlling }
}

/** Answers what was taken, within `drainMs`, and closes the sockets. */
async function drain(server: Server, sessions: Sessions, publisher: Publisher, drainMs: number): Promise<void> {
  const deadline = performance.now() + drainMs
  const drained = server.drain(drainMs)
  // Events that wait for a session are taken rather than lost: the sender will not come back with them.
  sessions.close()
  await drained
  await publisher.close(Math.max(0, deadline - performance.now()))
  server.close()
}

/** The layout, once there is one. */
async function awaitLayout(nc: NatsConnection, log: Log): Promise<Layout> {
  const deadline = performance.now() + LAYOUT_WAIT_MS
  let told = false
  for (;;) {
    try {
      const bucket = await new Kvm(nc).open(CONTROL_BUCKET)
      const layout = await readLayout(bucket)
      if (layout) return layout
    } catch (error) {
      log.debug({ err: error }, 'the control bucket cannot be read yet')
    }
    if (performance.now() > deadline) throw new ParleyError('RUN_ENGINE_FAILED', 'no streams are laid out on this NATS')
    if (!told) log.info('waiting for the streams to be laid out')
    told = true
    await new Promise(resolve => setTimeout(resolve, LAYOUT_POLL_MS))
  }
}
