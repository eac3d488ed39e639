// Finished ranges -> events of SDKs whose id another partition has stored too, because it was sent under two sessions: the one that was received
// first stands, whatever was stored first, and the owners of the others reverse them. A partition's own repeats never come so far (verdicts.ts).
//
// Ids of spans and of turns of calls are made from what they belong to, so they cannot meet in two sessions. Ids of SDK events are looked for in
// a memory of hashes; only what it knows is asked of the store. A round that is cut short anywhere is done again: what stands is read anew.
import { hash, randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { unpackTally } from '#proto/ledger.ts'
import type { RecordedRange } from '#proto/recorded-range.ts'
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { Store } from '#store/client.ts'
import type { Shards } from '#store/shards.ts'
import { FIRST_OF_EVENT, type Wrong } from '#store/verify/repair.ts'
import { getCorrection, isOpen, requestCorrection } from '#streams/corrections.ts'
import { readRecordsAfter } from '#streams/ledger.ts'
import { readSettled, type Settled } from '#streams/settled.ts'
import { SeenIds } from './seen-ids.ts'

/** What looking needs. */
export interface LateRepeatsContext {
  readonly nc: NatsConnection
  readonly cursors: KV
  readonly shards: Shards
  readonly partitions: number
  readonly metrics: Metrics
  readonly log: Log
  /** For tests: ids that are remembered. */
  readonly ids?: number
}

/** Key of the cursors bucket: how far records were looked at. */
export const LATE_REPEATS_KEY = 'late-repeats'

interface State {
  /** Every record up to here was looked at. */
  readonly position: number
  /** The highest position of a partition in these records. */
  readonly through: Readonly<Record<string, number>>
}

/** A position that an event counts at. */
interface Place {
  readonly organization: string
  readonly event: string
  readonly conversation: string
  readonly partition: number
  readonly sequence: string
  readonly frame: number
  readonly index: number
  /** Unix seconds. */
  readonly received: number
}

/** Two million of 16 bytes, and as many again before the older ones are given up. */
const IDS = 2_000_000
const RECORDS = 500
/** Rows of one look; a range is looked at whole, however large it is. */
const ROWS = 500_000
/** Ids that one statement names. */
const SLICE = 500
/** Positions that one statement finds. */
const PLACES = 2_000
const POLL_MS = 50
/** How long owners are waited for before the round is given up, to be done again. */
const PATIENCE_MS = 60_000
const HOUR_S = 3_600
/** Of rows in the ledger's table that belong to no range. */
const NO_PARTITION = 2 ** 32 - 1

const READ = { max_threads: 2, max_execution_time: 600, optimize_use_projections: 0 } as const
const BY_SDKS = `source IN ('sdk', 'mcp') AND sign = 1`

/** Makes the look: it goes on until all records that stood in the stream when it last asked were looked at, or until one is not settled. */
export function createLateRepeats(context: LateRepeatsContext): (signal: AbortSignal) => Promise<void> {
  const { cursors, shards, partitions, log } = context
  const reversed = context.metrics.counter(
    'late_repeats_total',
    'events that were taken back because their id was received before in another session',
  )
  let seen: SeenIds | undefined
  let at = -1
  // Nobody who chooses ids can make them meet.
  const key = randomBytes(16)
  const hashSql = `greatest(bitShiftRight(sipHash64Keyed((toUInt64(${key.readBigUInt64LE(0)}), toUInt64(${key.readBigUInt64LE(8)})), organization, event_id), 11), 1)`

  const remember = async ({ through }: State): Promise<SeenIds> => {
    const ids = new SeenIds(context.ids ?? IDS)
    const before = Object.entries(through).map(([p, last]) => `origin_partition = ${p} AND origin_sequence <= ${last}`)
    if (before.length === 0) return ids
    for (const store of shards.all) {
      const newest = await hashesOf(
        store,
        `SELECT toFloat64(${hashSql}) FROM events WHERE (${before.join(' OR ')}) AND ${BY_SDKS}
         ORDER BY received_at DESC LIMIT ${context.ids ?? IDS}`,
      )
      for (const one of newest.reverse()) ids.add(one)
    }
    return ids
  }

  return async signal => {
    for (;;) {
      signal.throwIfAborted()
      const { state, revision } = await readState(cursors)
      // Another process may have looked meanwhile, and remembers what this one does not.
      if (seen === undefined || at !== state.position) seen = await remember(state)
      at = state.position
      const found = await readRecordsAfter(context.nc, state.position, RECORDS)
      if (found.missed > 0) log.warn({ missed: found.missed }, 'records of finished ranges are gone: not looked at')
      const settled = await readSettled(cursors, partitions)
      const records = nextOf(found.records, settled)
      const passed = found.records.length === records.length
      const hashes: number[] = []
      for (const [store, ranges] of Map.groupBy(records.filter(hasEvents), one => shards.ofPartition(one.partition))) {
        const where = `(${ranges.map(rangeSql).join(' OR ')}) AND ${BY_SDKS}`
        const fresh = await hashesOf(store, `SELECT toFloat64(${hashSql}) FROM events WHERE ${where}`)
        const known = doubtful(fresh, seen)
        for (let first = 0; first < known.length; first += SLICE) {
          const some = known.slice(first, first + SLICE)
          const events = await namesOf(store, `${where} AND ${hashSql} IN (${some.join()})`)
          const done = await settle(context, store, { events, settled, signal })
          // Owners are busy with another correction: what was looked at is looked at again.
          if (done === undefined) return
          reversed.inc(done)
        }
        for (const one of fresh) hashes.push(one)
      }
      const position = found.position - found.records.length + records.length
      if (position === state.position) return
      await cursors.put(LATE_REPEATS_KEY, JSON.stringify({ position, through: throughOf(state, records) }), {
        previousSeq: revision,
      })
      at = position
      for (const one of hashes) seen.add(one)
      if (passed && found.ended) return
    }
  }
}

async function readState(cursors: KV): Promise<{ state: State; revision: number }> {
  const entry = await cursors.get(LATE_REPEATS_KEY)
  const state = entry?.operation === 'PUT' ? entry.json<State>() : { position: 0, through: {} }
  return { state, revision: entry?.revision ?? 0 }
}

/** The first records, of which nobody is about to take rows back, up to the size of a look. */
function nextOf(records: readonly RecordedRange[], settled: Settled): readonly RecordedRange[] {
  let rows = 0
  const end = records.findIndex(({ partition, to, rows: { events = 0 } }, i) => {
    rows += events
    return to > (settled.get(partition) ?? 0) || (i > 0 && rows > ROWS)
  })
  return end === -1 ? records : records.slice(0, end)
}

/** What says nothing of its payloads may hold any. */
const hasEvents = ({ rows, tally }: RecordedRange): boolean =>
  (rows.events ?? 0) > 0 && (tally === undefined || unpackTally(tally).some(({ surface }) => surface === 'sdk'))

const rangeSql = ({ partition, from, to }: RecordedRange): string =>
  `origin_partition = ${partition} AND origin_sequence BETWEEN ${from} AND ${to}`

function throughOf({ through }: State, records: readonly RecordedRange[]): State['through'] {
  const next: Record<string, number> = { ...through }
  for (const { partition, to } of records) next[partition] = Math.max(to, next[partition] ?? 0)
  return next
}

/** Hashes that were there before, or that are there twice. */
function doubtful(hashes: Float64Array, seen: SeenIds): number[] {
  const own = new SeenIds(Number.POSITIVE_INFINITY)
  return [
    ...new Set(
      hashes.filter(one => {
        if (seen.has(one) || own.has(one)) return true
        own.add(one)
        return false
      }),
    ),
  ]
}

/** The numbers that a SELECT finds. */
async function hashesOf(store: Store, sql: string): Promise<Float64Array> {
  const result = await store.client.exec({
    query: `${sql} FORMAT RowBinary`,
    clickhouse_settings: { ...READ, wait_end_of_query: 1 },
  })
  const chunks: Buffer[] = []
  for await (const chunk of result.stream) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  return new Float64Array(new Uint8Array(bytes).buffer)
}

interface EventName {
  readonly organization: string
  readonly event: string
}

const namesOf = (store: Store, where: string): Promise<EventName[]> =>
  store.read<EventName>(`SELECT DISTINCT organization, event_id AS event FROM events WHERE ${where}`, {
    settings: READ,
  })

/** Lets one of the places of each event stand; returns how many others there were, undefined when that has to wait. */
async function settle(
  { cursors, log }: LateRepeatsContext,
  store: Store,
  { events, settled, signal }: { events: readonly EventName[]; settled: Settled; signal: AbortSignal },
): Promise<number | undefined> {
  let reversed = 0
  for (let before = ''; ; ) {
    const { losers, wrong } = await losersAmong(store, events, settled)
    if (losers.length === 0) return reversed
    const now = losers.map(({ partition, sequence, frame }) => `${partition}/${sequence}/${frame}`).join()
    // A replay has begun, or somebody has cancelled it.
    if (now === before) throw new Error(`${losers.length} repeats are still there after they were corrected`)
    before = now
    // Before they are taken back: who comes after a kill finds them no more.
    await tellLedger(store, losers)
    const asked: { partition: number; id: string }[] = []
    for (const partition of new Set(losers.map(one => one.partition))) {
      const { asked: ours, record } = await requestCorrection(cursors, partition, {
        ...{ kind: 'repair', positions: [], events: wrong },
      })
      if (!ours) return undefined
      asked.push({ partition, id: record.id })
    }
    for (const { partition, id } of asked) await ended(cursors, partition, { id, signal })
    reversed += losers.length
    log.info({ events: losers.length }, 'events were taken back whose ids were received before in other sessions')
  }
}

/** Settled places beyond the first of each event, and what names these events to their owners. A place that is not settled has its record yet to come. */
async function losersAmong(
  store: Store,
  names: readonly EventName[],
  settled: Settled,
): Promise<{ losers: readonly Place[]; wrong: Wrong['events'] }> {
  const losers: Place[] = []
  const wrong: Place[] = []
  for (const [organization, events] of Map.groupBy(names, one => one.organization)) {
    const places = await store.read<Place>(PLACES_SQL, {
      parameters: { organization, events: events.map(one => one.event) },
      settings: { max_threads: 2, max_execution_time: 600 },
    })
    for (const [first, ...others] of Map.groupBy(places, one => one.event).values()) {
      if (first === undefined || !isSettled(first, settled)) continue
      const late = others.filter(one => isSettled(one, settled))
      losers.push(...late)
      if (late.length > 0) wrong.push(first, ...late)
    }
  }
  return {
    losers,
    wrong: wrong.map(one => ({ organization: one.organization, conversation: one.conversation, event: one.event })),
  }
}

const isSettled = ({ partition, sequence }: Place, settled: Settled): boolean =>
  Number(sequence) <= (settled.get(partition) ?? 0)

// Where the ids stand says the projection; the positions are read there. Whoever sends one id in a million sessions is dealt with piece by piece.
const KEY = 'ts, toStartOfHour(ts), conversation_id, event_id'
const PLACES_SQL = `
  SELECT organization, event_id AS event, conversation_id AS conversation, origin_partition AS partition,
    toString(origin_sequence) AS sequence, origin_frame AS frame, origin_index AS index, toUnixTimestamp(received_at) AS received
  FROM events
  PREWHERE organization = {organization:UUID} AND (${KEY}) IN (
    SELECT ${KEY} FROM events WHERE organization = {organization:UUID} AND event_id IN {events:Array(UUID)}
    GROUP BY organization, event_id, ts, conversation_id HAVING sum(sign) > 0
    SETTINGS preferred_optimize_projection_name = 'ids')
  WHERE source IN ('sdk', 'mcp')
  GROUP BY organization, event_id, conversation_id, ${FIRST_OF_EVENT} HAVING sum(sign) > 0
  ORDER BY event_id, ${FIRST_OF_EVENT}
  LIMIT ${PLACES}
  SETTINGS optimize_use_projections = 0`

/** What was counted as stored is a repeat. The same position again takes the place of its row. */
async function tellLedger(store: Store, losers: readonly Place[]): Promise<void> {
  const values = losers.map(({ organization, received, partition, sequence, frame, index }) => ({
    ...{ organization, hour: received - (received % HOUR_S), surface: 'sdk', reading: 0 },
    ...{ partition: NO_PARTITION, from_sequence: idOf(`${partition}/${sequence}/${frame}/${index}`), to_sequence: 0 },
    ...{ generation: 0, payloads: 0, dead: 0, repeats: 1, items: 0, repeated_items: 1 },
  }))
  const clickhouse_settings = { async_insert: 0 } as const
  await store.client.insert({ table: 'ledger', format: 'JSONEachRow', values, clickhouse_settings })
}

const idOf = (text: string): string => hash('sha1', text, 'buffer').readBigUInt64LE(0).toString()

/** Waits for the end of a correction. @throws when that takes too long. */
async function ended(
  cursors: KV,
  partition: number,
  { id, signal }: { readonly id: string; readonly signal: AbortSignal },
): Promise<void> {
  for (const until = performance.now() + PATIENCE_MS; ; ) {
    const found = await getCorrection(cursors, partition)
    if (found?.record.id !== id || !isOpen(found.record)) return
    if (performance.now() > until) throw new Error(`partition ${partition} does not correct repeats`)
    await delay(POLL_MS, undefined, { signal })
  }
}
