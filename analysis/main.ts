// The analysis process: scheduled work beside the others. Erasures as soon as they are asked for, sweeps after them and of what is kept no
// longer, projections that no merge builds, verify; and, beside these, the ledger. Any number of these: one at a time works.
import { randomBytes } from 'node:crypto'
import { jetstreamManager } from '@nats-io/jetstream'
import { forgetReading } from '#control/readings.ts'
import { openControlView } from '#control/view.ts'
import { ERASURES } from '#proto/erasure.ts'
import { runPart } from '#runtime/part.ts'
import { readSettings } from '#runtime/settings.ts'
import { createShards } from '#store/shards.ts'
import { openBuckets } from '#streams/apply.ts'
import { connect } from '#streams/connect.ts'
import { readLayout, requireShards } from '#streams/layout.ts'
import { readPartitions } from '#streams/settled.ts'
import { analysisSettings } from './config.ts'
import { continueErasures } from './erase/erasures.ts'
import { sweep } from './erase/sweep.ts'
import { createLateRepeats } from './late-repeats.ts'
import { createLedger } from './ledger.ts'
import { createBuilder } from './projections.ts'
import { createExpiry } from './retention/expire.ts'
import { createRounds } from './rounds.ts'
import { createVerifier } from './verify.ts'

/** Deletions and recounts may take as long as the tables are large. */
const REQUEST_TIMEOUT_MS = 3_600_000

await runPart('analysis', async ({ env, log, metrics }) => {
  const settings = readSettings(env, analysisSettings)
  const nc = await connect({ url: settings.natsUrl, name: 'analysis', log })
  const { cursors, control, leases, rejects } = await openBuckets(nc)
  const partitions = await readPartitions(control)
  const jsm = await jetstreamManager(nc, { timeout: 5_000 })
  const shards = createShards({
    url: settings.clickhouseUrl,
    database: settings.database,
    application: 'parley-analysis',
    maxConnections: 4,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
  })
  requireShards((await readLayout(control)) ?? { shards: 1 }, shards.all.length)
  const rows = metrics.counter('erased_rows_total', 'rows that were erased, by table; dead letters too', ['table'])
  const open = metrics.gauge('erasures_open', 'erasures that are not certified yet')
  open.set(0)
  const erased = (found: Readonly<Record<string, number>>): void => {
    for (const [table, n] of Object.entries(found)) rows.inc({ table }, n)
  }
  const forget = (organization: string): Promise<void> => forgetReading(control, organization)
  const context = { nc, jsm, cursors, control, rejects, shards, partitions, log, erased, forget }
  const view = await openControlView(control, log)
  const isShort = (): boolean => (view.guard()?.disk ?? 'ok') !== 'ok'
  const verifier = createVerifier({
    ...{ cursors, shards, partitions, everyHours: settings.verifyHours, metrics, log },
    isShort,
  })
  const expire = createExpiry({
    ...{ cursors, shards, partitions, metrics, log, organizations: view.organizations },
    everyHours: settings.retentionHours,
  })
  const build = createBuilder({ shards, metrics, log, isShort })
  const holder = randomBytes(8).toString('hex')
  const fold = createLedger({ nc, cursors, storeOf: shards.of, partitions, metrics, log })
  const folding = createRounds({
    leases,
    holder,
    everyMs: settings.ledgerSeconds * 1000,
    turn: 'ledger',
    work: fold,
    log,
  })
  const repeats = createRounds({
    leases,
    holder,
    everyMs: settings.ledgerSeconds * 1000,
    turn: 'late-repeats',
    work: createLateRepeats({ nc, cursors, shards, partitions, metrics, log }),
    log,
  })
  const rounds = createRounds({
    leases,
    holder,
    everyMs: settings.sweepSeconds * 1000,
    log,
    work: async signal => {
      open.set(await continueErasures(context, signal))
      await sweep(context, signal)
      await expire(signal)
      await build(signal)
      await verifier()
    },
  })
  // Only what is asked for from now on: what was asked for before is found by the first round.
  const watch = await cursors.watch({ key: `${ERASURES}>`, include: 'updates' })
  void (async () => {
    for await (const entry of watch)
      if (entry.operation === 'PUT' && entry.json<{ state: string }>().state === 'requested') rounds.now()
  })()
  return {
    notReady: async () => ((await shards.ping()) ? [] : ['ClickHouse does not answer']),
    stop: async () => {
      watch.stop()
      view.close()
      await Promise.all([rounds.stop(), folding.stop(), repeats.stop()])
      await Promise.all([shards.close(), nc.close()])
    },
  }
})
