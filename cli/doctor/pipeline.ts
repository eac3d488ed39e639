// What flows through the engines: room in the streams, owners, lag, dead letters, and whether numbers were found right.
import { jetstreamManager } from '@nats-io/jetstream'
import { readRecord } from '#control/lists.ts'
import { LEDGER_KEY, type LedgerState } from '#proto/ledger.ts'
import { BLOCKS_STREAM, DEAD_STREAM, leaseKeyOf, streamOf } from '#proto/streams.ts'
import { readSettled } from '#streams/settled.ts'
import { type Finding, finding, type Patient, stateOf } from './finding.ts'

const FULL_WARN = 70
const FULL_FAIL = 95
const LAG_WARN_S = 60
const LAG_FAIL_S = 900
const VERIFIED_WARN_MS = 3 * 86_400_000
const BEHIND_WARN = 2_000
/** The analysis process writes it (analysis/verify.ts). */
const VERIFIED_KEY = 'verified'

const partitionsOf = ({ partitions }: Patient): number[] => Array.from({ length: partitions }, (_, p) => p)

async function room(patient: Patient): Promise<Finding> {
  const jsm = await jetstreamManager(patient.nc)
  let fullest = 0
  for (const partition of partitionsOf(patient)) {
    const { state, config } = await jsm.streams.info(streamOf(partition))
    if (config.max_bytes > 0) fullest = Math.max(fullest, (state.bytes / config.max_bytes) * 100)
  }
  const fix = 'look at lag; else raise PARLEY_STREAM_BYTES or lower PARLEY_REPLAY_MS'
  return finding(
    'streams',
    stateOf(fullest > FULL_FAIL, fullest > FULL_WARN),
    `the fullest stream is ${fullest.toFixed(0)} % full`,
    fix,
  )
}

async function owners(patient: Patient): Promise<Finding> {
  const without: number[] = []
  for (const partition of partitionsOf(patient)) {
    const lease = await patient.leases.get(leaseKeyOf(partition))
    if (lease?.operation !== 'PUT') without.push(partition)
  }
  const said =
    without.length === 0 ? `all ${patient.partitions} partitions have one` : `none for partition ${without.join(', ')}`
  return finding('owners', stateOf(without.length > 0, false), said, 'start a processor, and read its log if one runs')
}

/** How old the oldest payload is that is not stored everywhere; a replay counts as long as it lasts. */
async function lag(patient: Patient): Promise<Finding> {
  const jsm = await jetstreamManager(patient.nc)
  const settled = await readSettled(patient.cursors, patient.partitions)
  let [messages, seconds] = [0, 0]
  for (const [partition, through] of settled) {
    const { state } = await jsm.streams.info(streamOf(partition))
    const first = Math.max(through + 1, state.first_seq)
    if (state.messages === 0 || state.last_seq < first) continue
    messages += state.last_seq - first + 1
    const oldest = await jsm.streams.getMessage(streamOf(partition), { seq: first })
    if (oldest) seconds = Math.max(seconds, (Date.now() - oldest.time.getTime()) / 1000)
  }
  const said =
    messages === 0 ? 'everything is stored' : `${messages} messages wait, the oldest for ${Math.round(seconds)} s`
  const fix =
    'wait for a replay that runs (parley replay status); else add processors, or see why the store takes nothing'
  return finding('lag', stateOf(seconds > LAG_FAIL_S, seconds > LAG_WARN_S), said, fix)
}

async function deadLetters({ nc }: Patient): Promise<Finding> {
  const { state } = await (await jetstreamManager(nc)).streams.info(DEAD_STREAM)
  const fix = 'parley dead list says why; dead replay sends them again once that is mended, dead drop removes them'
  return finding('dead letters', stateOf(false, state.messages > 0), `${state.messages} payloads became no rows`, fix)
}

async function views({ cursors }: Patient): Promise<Finding> {
  const last = await readRecord<{ at: number; differences?: number; rows?: number }>(cursors, VERIFIED_KEY)
  const fix = 'parley verify looks now; --repair puts right what differs'
  if (last?.differences === undefined) {
    // A fresh installation is verified after a day.
    const isFresh = last !== undefined && Date.now() - last.at < VERIFIED_WARN_MS
    return finding('numbers', stateOf(false, !isFresh), 'aggregates have not been compared with their rows yet', fix)
  }
  const at = new Date(last.at).toISOString()
  const said = `${last.differences} differences in ${last.rows ?? 0} rows on ${at}`
  return finding('numbers', stateOf(last.differences > 0, Date.now() - last.at > VERIFIED_WARN_MS), said, fix)
}

async function ledger({ nc, cursors }: Patient): Promise<Finding> {
  const { state } = await (await jetstreamManager(nc)).streams.info(BLOCKS_STREAM)
  const { position = 0 } = (await readRecord<LedgerState>(cursors, LEDGER_KEY)) ?? {}
  const behind = Math.max(0, state.last_seq - position)
  return finding(
    'ledger',
    stateOf(false, behind > BEHIND_WARN),
    `${behind} records behind`,
    'start the analysis process, or read its log',
  )
}

/** In the order in which they are told. */
export const pipeline = [room, owners, lag, deadLetters, views, ledger] as const
