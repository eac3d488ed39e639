// The query node: control view and store in, dashboard API out.
import { jetstreamManager } from '@nats-io/jetstream'
import { createKeyUse } from '#control/key-use.ts'
import { openControlView } from '#control/view.ts'
import { loadPrices } from '#pricing/list.ts'
import { maskAlso } from '#processors/parsers/explain.ts'
import { clickhouseDatabase, clickhouseUrl, natsUrl, readerUrl } from '#runtime/config.ts'
import { createOutgoing } from '#runtime/outgoing.ts'
import { runPart } from '#runtime/part.ts'
import { readSettings } from '#runtime/settings.ts'
import { createCores } from '#store/cores.ts'
import { createShards } from '#store/shards.ts'
import { openBuckets } from '#streams/apply.ts'
import { openAuditStream } from '#streams/audit.ts'
import { followStoredRanges } from '#streams/blocks.ts'
import { connect } from '#streams/connect.ts'
import { openJournal } from '#streams/journal.ts'
import { readLayout, requireShards } from '#streams/layout.ts'
import { readPayload } from '#streams/payloads.ts'
import { createAudit, storeAudit } from './audit.ts'
import { createAuthenticator } from './auth.ts'
import { querySettings } from './config.ts'
import { createKeptDays } from './days/kept.ts'
import { createRunner } from './endpoint.ts'
import { createPrefetch } from './prefetch.ts'
import { createReaders } from './reader.ts'
import { routes } from './routes.ts'
import { startServer } from './server.ts'
import { openSignIn } from './sign-in/open.ts'
import { createWallCheck, isOpen } from './walled.ts'

/** Small organizations are read within it; of large ones the first answers come from aggregates. */
const KEPT_WAIT_MS = 500

await runPart('query', async ({ env, log, metrics, fail }) => {
  const settings = readSettings(env, { ...querySettings, natsUrl, clickhouseUrl, clickhouseDatabase, readerUrl })
  const prices = await loadPrices(settings.prices)
  maskAlso(settings.secretKeys)
  const nc = await connect({ url: settings.natsUrl, name: 'query', log })
  const { control, cursors, rejects } = await openBuckets(nc)
  const jsm = await jetstreamManager(nc, { timeout: 5_000 })
  const view = await openControlView(control, log)
  const stored = followStoredRanges(nc, log)
  const storeOptions = {
    database: settings.clickhouseDatabase,
    application: 'parley-query',
    maxConnections: settings.connections,
    // The store gives up first, so that its reason is what gets logged.
    requestTimeoutMs: (settings.maxSeconds + 5) * 1000,
  }
  const store = createShards({ ...storeOptions, url: settings.clickhouseUrl })
  const walled = settings.readerUrl !== ''
  const readers = walled ? createShards({ ...storeOptions, url: settings.readerUrl }) : store
  const layout = await readLayout(control)
  if (layout) for (const shards of [store, readers]) requireShards(layout, shards.all.length)
  const wall = createWallCheck({ readers: readers.all, walled, metrics, log })
  const notReady = async (): Promise<string[]> => {
    const reasons: string[] = []
    if (nc.isClosed()) reasons.push('the NATS connection is closed')
    try {
      const signal = AbortSignal.timeout(2_000)
      for (const reader of readers.all) await reader.read('SELECT 1 FROM events LIMIT 0', { signal })
      await wall.look()
    } catch (error) {
      if (isOpen(error)) fail(error)
      reasons.push('the store does not answer, or has no schema yet')
    }
    return reasons
  }
  // A store that is away for the moment is asked again by notReady; one that is open must serve nobody.
  await wall.look().catch((error: unknown) => {
    if (isOpen(error)) throw error
  })
  const auditStream = await openAuditStream(nc)
  const audit = createAudit({ stream: auditStream, log, metrics })
  const auditing = storeAudit({ stream: auditStream, storeOf: store.of, log })
  const signIn = openSignIn(settings, { control: { records: control, view }, audit, metrics, log })
  const openReader = createReaders({ storeOf: readers.of, coresOf: createCores(), limits: settings, metrics, log })
  const settingsOfDays = { maxMb: settings.daysMb, waitMs: KEPT_WAIT_MS, freshMs: settings.freshMs }
  const kept = createKeptDays({ ...settingsOfDays, openReader, metrics, log })
  const bind = createRunner({
    authenticator: createAuthenticator(view, { onKey: createKeyUse({ records: control, view, log }) }),
    openReader,
    kept,
    prefetch: createPrefetch(metrics, settings.organizationQueries - 1),
    control: { records: control, view },
    signIn,
    audit,
    rejects,
    cursors,
    stored,
    prices: prices.list,
    payloads: position => readPayload(jsm, position),
    journal: openJournal(nc),
    outgoing: createOutgoing({ privateHosts: settings.outgoingPrivateHosts, metrics }),
    metrics,
    log,
    checkResponses: settings.checkResponses === 'on',
  })
  const { maxBodyBytes, corsOrigins, host, port } = settings
  const server = await startServer({ routes, bind, notReady, maxBodyBytes, corsOrigins, log }, host, port)
  return {
    notReady,
    about: { port: server.port },
    stop: async () => {
      await server.close()
      kept.close()
      await auditing.stop()
      stored.close()
      view.close()
      await Promise.all([store.close(), ...(walled ? [readers.close()] : [])])
      await nc.close()
    },
  }
})
