// What the processors' tests share: engines with a layout, owners in this process, payloads in envelopes, and the questions that
// tell whether every acknowledged payload is there exactly once, in rows and in projections.

import { randomUUID } from 'node:crypto'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { leaseKeyOf, subjectOf } from '#proto/streams.ts'
import type { Log } from '#runtime/log.ts'
import { createLog } from '#runtime/log.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { Outage } from '#runtime/outage.ts'
import type { Store } from '#store/client.ts'
import { buildProjections } from '#store/projections.ts'
import type { Buckets } from '#streams/apply.ts'
import { applyStreams } from '#streams/apply.ts'
import { foldEvents } from '#test/folding.ts'
import {
  connectNats,
  eventually,
  freshDatabase,
  startNats,
  type Teardown,
  type TestDatabase,
  type TestEngine,
} from '#test/rig.ts'
import type { OwnerShared } from './context.ts'
import { createGate } from './gate.ts'
import type { Lease } from './lease.ts'
import { takeLease, thisHolder } from './lease.ts'
import { createLinkAnswers } from './link-answers.ts'
import { createProcessorMetrics } from './metrics.ts'
import type { Owner } from './owner.ts'
import { startOwner } from './owner.ts'
import { createPool, type ParsePool } from './pool.ts'
import { plainReadings } from './readings.ts'

export const log: Log = createLog({ part: 'test', level: process.env.TEST_LOG ?? 'silent' })

/** Engines and everything an owner needs. */
export interface Bench {
  readonly nats: TestEngine
  readonly nc: NatsConnection
  readonly buckets: Buckets
  readonly db: TestDatabase
  readonly shared: OwnerShared
}

/** Longer than any pause of a busy machine: no payload is taken for one that hangs. Tests with one that does hang set less. */
const FRAME_TIMEOUT_MS = 20_000

/**
 * A NATS of its own with one partition, a fresh database, a pool of the tests' worker: its own, unless given one. Starting a thread costs
 * more than most tests do with it. `aggregated`: what is inserted has its projections at once, so that they can be looked at in every state.
 */
export async function createBench(
  t: Teardown,
  options: { url?: string; partitions?: number; pool?: ParsePool; aggregated?: boolean } = {},
): Promise<Bench> {
  const [nats, db] = await Promise.all([startNats(t), freshDatabase(t, options.url, options)])
  const nc = await connectNats(t, nats.url)
  const { buckets } = await applyStreams(nc, {
    partitions: options.partitions ?? 1,
    streamMaxBytes: 256 * 1024 * 1024,
    deadMaxBytes: 64 * 1024 * 1024,
    replicas: 1,
  })
  const pool = options.pool ?? poolOf(t)
  const shared: OwnerShared = {
    nc,
    js: jetstream(nc, { timeout: 2_000 }),
    jsm: await jetstreamManager(nc, { timeout: 2_000 }),
    cursors: buckets.cursors,
    store: db.store,
    linked: createLinkAnswers(db.store, log),
    pool,
    gate: createGate(2, 64 * 1024 * 1024),
    log,
    metrics: createProcessorMetrics(createMetrics('test')),
    classes: () => ({}),
    readings: plainReadings,
    insertIntervalMs: 50,
    insertsInFlight: 2,
    blockBytes: 256 * 1024,
    backlogBytes: 16 * 1024 * 1024,
    bulkShare: 0.5,
    repeatWindow: 100_000,
    replayMs: 3_600_000,
    correctionRows: 7,
  }
  return { nats, nc, buckets, db, shared }
}

/** Two threads of the tests' worker. */
export function poolOf(t: Teardown, frameTimeoutMs = FRAME_TIMEOUT_MS, suspectMs = frameTimeoutMs): ParsePool {
  const worker = new URL('./fixture-worker.ts', import.meta.url)
  const pool = createPool({ worker, threads: 2, frameTimeoutMs, suspectMs, heapMb: 256, log })
  t.teardown(() => pool.close())
  return pool
}

/** An owner of a partition in this process. `stop` gives the lease back; `crash` leaves everything as a killed process would. */
export async function own(
  t: Teardown,
  bench: Bench,
  shared: Partial<OwnerShared> = {},
  partition = 0,
): Promise<{ owner: Owner; lease: Lease; stop(): Promise<void>; crash(): Promise<void> }> {
  const holder = thisHolder(randomUUID())
  const outage = new Outage(log, 'test')
  // One that its holder could not give back in time runs out by itself.
  const lease = await eventually('the lease', async () => {
    return (await takeLease({ kv: bench.buckets.leases, key: leaseKeyOf(partition), holder, outage })) ?? undefined
  })
  const owner = startOwner({ ...bench.shared, ...shared }, partition, lease, holder.member)
  const end = async (graceMs: number): Promise<void> => {
    await owner.stop(graceMs)
    await lease.release()
  }
  t.teardown(() => end(0))
  return { owner, lease, stop: () => end(10_000), crash: () => end(0) }
}

/** An event of the SDK surface. */
export interface TestEvent {
  readonly event_id: string
  readonly session_id: string
  readonly primitive_name: string
  readonly args: string
  readonly result: string
  readonly timestamp?: number
}

export const organization = randomUUID()

/** Events of one conversation. */
export function someEvents(n: number, fields: Partial<TestEvent> = {}): TestEvent[] {
  const session_id = fields.session_id ?? randomUUID()
  return Array.from({ length: n }, (_, i) => ({
    event_id: randomUUID(),
    session_id,
    primitive_name: 'agent',
    args: `question ${i}`,
    result: `answer ${i}`,
    ...fields,
  }))
}

/** One envelope of events, of calls' reports (which have a `message`), and of sessions, which have neither. */
export function envelopeOf(
  payloads: readonly object[],
  organizationId = organization,
  receivedAtMs = Date.now(),
): Uint8Array {
  const writer = new EnvelopeWriter(8 * 1024 * 1024)
  for (const payload of payloads) {
    const kind = 'event_id' in payload ? FrameKind.event : 'message' in payload ? FrameKind.voice : FrameKind.session
    const bytes = Buffer.from(JSON.stringify(payload))
    writer.append(kind, FrameEncoding.json, uuidBytes(organizationId), receivedAtMs, null, bytes)
  }
  return writer.finish().slice()
}

/** A span of `tracesOf`; ids are small numbers. */
export interface TestSpan {
  readonly trace: number
  readonly span: number
  /** 0 = none. */
  readonly parent?: number
  readonly session?: string
  readonly user?: string
  /** After the beginning of its trace. */
  readonly afterMs?: number
  readonly attributes?: Readonly<Record<string, string>>
}

const hex = (n: number, digits: number): string => n.toString(16).padStart(digits, '0')

/** The hex id of a trace of `tracesOf`. */
export const traceHex = (trace: number): string => hex(trace, 32)

/** One envelope with one export of some spans. */
export function tracesOf(
  spans: readonly TestSpan[],
  organizationId = organization,
  startMs = Date.now() - 60_000,
): Uint8Array {
  const resourceSpans = spans.map(({ trace, span, parent = 0, session, user, afterMs = 0, attributes = {} }) => {
    const values = {
      ...attributes,
      ...(session === undefined ? {} : { 'session.id': session }),
      ...(user === undefined ? {} : { 'user.id': user }),
    }
    const one = {
      traceId: traceHex(trace),
      spanId: hex(span, 16),
      ...(parent === 0 ? {} : { parentSpanId: hex(parent, 16) }),
      name: 'invoke_agent planner',
      startTimeUnixNano: `${startMs + afterMs}000000`,
      endTimeUnixNano: `${startMs + afterMs + 5}000000`,
      attributes: Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } })),
    }
    return { scopeSpans: [{ spans: [one] }] }
  })
  const writer = new EnvelopeWriter(8 * 1024 * 1024)
  const bytes = Buffer.from(JSON.stringify({ resourceSpans }))
  writer.append(FrameKind.otlp, FrameEncoding.json, uuidBytes(organizationId), Date.now(), null, bytes)
  return writer.finish().slice()
}

/** Publishes an envelope to partition 0 and waits for the stream's answer; returns its sequence. */
export async function publish(bench: Bench, envelope: Uint8Array, partition = 0): Promise<number> {
  return (await bench.shared.js.publish(subjectOf(partition), envelope)).seq
}

/**
 * Every count that must be the same number when each event is there exactly once. With `waitingFor` nothing is asked but the cheapest
 * of them while that is another number.
 */
export async function countsOf(store: Store, waitingFor?: number): Promise<Record<string, number>> {
  const { raw = Number.NaN } = await numbersOf(store, { raw: 'SELECT sum(sign) AS n FROM events' })
  if (waitingFor !== undefined && raw !== waitingFor) return { raw }
  await buildProjections(store, 'events')
  const others = await numbersOf(store, {
    distinct: 'SELECT uniqExact(event_id) AS n FROM events',
    texts: 'SELECT count() AS n FROM texts',
    'texts distinct': 'SELECT uniqExact(event_id) AS n FROM texts',
    ...projected(['ids', 'metrics_15m', 'metrics_daily', 'names_daily', 'conversations_daily', 'bounds', 'users']),
  })
  return { raw, ...others }
}

/**
 * Writings of rows that are there with more than one content: versions of days name writings alone, so each must say one thing for ever,
 * its reversal as well.
 */
export async function ambiguousWritings(store: Store): Promise<number> {
  const [row] = await store.read<{ n: string }>(
    `SELECT count() AS n FROM (
       SELECT 1 FROM events GROUP BY origin_partition, origin_generation, origin_sequence, origin_frame, origin_index, version
       HAVING uniqExact(cityHash64(* EXCEPT (move_id, sign))) > 1)
     SETTINGS optimize_use_projections = 0`,
  )
  return Number(row?.n)
}

/** What says how many events each projection of `events` counts: from itself, so that it is not the table that answers. */
export function projected(names: readonly string[]): Record<string, string> {
  const counted = (name: string): string => (name === 'ids' ? 'sum(sign)' : 'sumMerge(`sum(sign)`)')
  return Object.fromEntries(
    names.map(name => [
      name,
      `SELECT ${counted(name)} AS n FROM mergeTreeProjection(currentDatabase(), 'events', '${name}')`,
    ]),
  )
}

/** One number `n` of each of these selects, without projections that they do not name: one statement, which costs more than what it counts. */
export async function numbersOf(
  store: Store,
  selects: Readonly<Record<string, string>>,
): Promise<Record<string, number>> {
  const each = Object.entries(selects).map(
    ([name, select]) => `SELECT '${name}' AS name, toInt64(n) AS n FROM (${select})`,
  )
  const rows = await store.read<{ name: string; n: string }>(
    `${each.join(' UNION ALL ')} SETTINGS optimize_use_projections = 0`,
  )
  const found = new Map(rows.map(({ name, n }) => [name, Number(n)]))
  return Object.fromEntries(Object.keys(selects).map(name => [name, found.get(name) ?? Number.NaN]))
}

/** The store, whose inserts of events wait for `gate` first. */
export function gatedStore(store: Store, gate: (queryId: string) => Promise<unknown>): Store {
  const exec = async (options: { query: string; query_id?: string }): Promise<unknown> => {
    if (options.query.startsWith('INSERT INTO events FORMAT')) await gate(options.query_id ?? '')
    return store.client.exec(options as never)
  }
  const client = new Proxy(store.client, {
    get: (target, key) => {
      if (key === 'exec') return exec
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { ...store, client }
}

/** Sends a statement, or says so. */
export type Fault = (send: () => Promise<void>) => Promise<void>

/** What may become of a statement that a store was asked to do, by name; the last kind folds what it wrote. */
export function faultsOf(store: Store): Readonly<Record<string, Fault>> {
  const fail = (): never => {
    throw new Error('connection lost')
  }
  return {
    'not sent': async () => fail(),
    'nothing done, answered well': async () => {},
    'answer lost': async send => {
      await send()
      fail()
    },
    'done and merged, answer lost': async send => {
      await send()
      await foldEvents(store)
      fail()
    },
  }
}

/** True when every count is `n`. */
export function allEqual(counts: Readonly<Record<string, number>>, n: number): boolean {
  return Object.values(counts).every(count => count === n)
}
