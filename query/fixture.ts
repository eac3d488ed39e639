// What the tests of this folder share: rows written by hand, and a query node over real engines.

import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { createKeyUse } from '#control/key-use.ts'
import type { ControlView } from '#control/view.ts'
import { openControlView } from '#control/view.ts'
import { loadPrices } from '#pricing/list.ts'
import { NIL_UUID } from '#proto/ids.ts'
import type { EventRow, SessionRow, TextRow } from '#proto/rows.ts'
import { latencyBucket, PREVIEW_CHARS, Present } from '#proto/rows.ts'
import type { Metrics } from '#runtime/metrics.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { createOutgoing } from '#runtime/outgoing.ts'
import type { Store } from '#store/client.ts'
import type { Buckets } from '#streams/apply.ts'
import { openBuckets } from '#streams/apply.ts'
import { openAuditStream } from '#streams/audit.ts'
import type { StoredRanges } from '#streams/blocks.ts'
import { followStoredRanges } from '#streams/blocks.ts'
import { openJournal } from '#streams/journal.ts'
import { readPayload } from '#streams/payloads.ts'
import type { createTenant, WalledDatabase } from '#test/rig.ts'
import { connectNats, silentLog, startNats, walledDatabase } from '#test/rig.ts'
import { createAudit, storeAudit } from './audit.ts'
import { createAuthenticator } from './auth.ts'
import { createKeptDays, type KeptDays } from './days/kept.ts'
import type { Endpoint } from './endpoint.ts'
import { createRunner } from './endpoint.ts'
import { remembering } from './fixture-remembered.ts'
import { createPrefetch } from './prefetch.ts'
import type { Question } from './questions.ts'
import { createReaders, type OpenReader, type Parameters, type Reader } from './reader.ts'
import { routes } from './routes.ts'
import { startServer } from './server.ts'
import { createSignIn } from './sign-in/service.ts'

interface Teardown {
  teardown(handler: () => unknown): unknown
}

/** The instant that the tests' windows end at. */
export const NOW_MS = Date.UTC(2026, 5, 15, 12, 0, 0)

/** A uuid that is easy to read in a failure: `id(7)` ends in 7. */
export const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

let sequence = 0
const origin = () => ({
  origin_partition: 0,
  origin_generation: 1,
  origin_sequence: ++sequence,
  origin_frame: 0,
  origin_index: 0,
})

const sqlTime = (iso: string): string => iso.replace('T', ' ').replace('Z', '')

/** A whole row of `events`; texts make previews, sizes and present bits. `at` is ISO 8601. */
export type EventFields = Partial<EventRow> & {
  at: string
  input?: string
  output?: string
  content?: TextRow['content']
}

/** What stands in `events` and `texts` for one event. */
export interface StoredEvent {
  readonly event: EventRow & ReturnType<typeof origin> & { version: number; sign: 1 | -1 }
  readonly text: TextRow
}

/** Fills the columns that a test does not speak of. */
export function storedEvent(fields: EventFields): StoredEvent {
  const { at, input, output, content = {}, ...given } = fields
  const event: EventRow = {
    organization: NIL_UUID,
    conversation_id: NIL_UUID,
    session_id: '',
    event_id: NIL_UUID,
    parent_id: NIL_UUID,
    trace_id: NIL_UUID,
    span_id: '0',
    parent_span_id: '0',
    ts: sqlTime(at),
    duration_ns: -1,
    latency_bucket: latencyBucket(given.duration_ns ?? -1),
    source: 'sdk',
    kind: 'agent',
    name: 'support',
    failed: 0,
    error_type: '',
    error_message: '',
    user_id: '',
    provisional: 0,
    model: '',
    provider: '',
    input_tokens: 0,
    output_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
    cost_nanos: 0,
    input_preview: Array.from(input ?? '')
      .slice(0, PREVIEW_CHARS)
      .join(''),
    output_preview: Array.from(output ?? '')
      .slice(0, PREVIEW_CHARS)
      .join(''),
    input_bytes: Buffer.byteLength(input ?? ''),
    output_bytes: Buffer.byteLength(output ?? ''),
    metadata: {},
    checkpoints: '',
    received_at: sqlTime(at).slice(0, 23),
    retention: 0,
    ...given,
    present:
      (given.present ?? 0) | (input === undefined ? 0 : Present.input) | (output === undefined ? 0 : Present.output),
  }
  const group_id = event.trace_id === NIL_UUID ? event.conversation_id : event.trace_id
  const { organization, event_id, ts, retention } = event
  return {
    // A row keeps the place that it was written from, whatever becomes of it.
    event: { ...event, ...origin(), version: 1, sign: 1 },
    text: { organization, group_id, event_id, ts, input: input ?? '', output: output ?? '', content, retention },
  }
}

/** A whole row of `sessions`. `at` is when it arrived. */
export function storedSession(fields: Partial<SessionRow> & { at: string }): SessionRow {
  const { at, ...given } = fields
  return {
    organization: NIL_UUID,
    conversation_id: NIL_UUID,
    session_id: '',
    source: 'sdk',
    user_id: '',
    user_email: '',
    user_data: {},
    metadata: {},
    client_config: '',
    connection_type: '',
    ip: '',
    tools: [],
    started_at: sqlTime(at),
    recording_url: '',
    received_at: sqlTime(at),
    retention: 0,
    report: '',
    ...given,
  }
}

async function insert(store: Store, table: string, rows: readonly object[]): Promise<void> {
  await store.client.insert({
    table,
    format: 'JSONEachRow',
    values: rows.map(row => ({ ...origin(), ...row })),
    clickhouse_settings: { async_insert: 0 },
  })
}

/** Writes events and, where something was captured, their texts. */
export async function insertEvents(store: Store, events: readonly StoredEvent[]): Promise<void> {
  const texts = events.filter(
    ({ event, text }) => (event.present & (Present.input | Present.output)) > 0 || Object.keys(text.content).length > 0,
  )
  if (texts.length > 0)
    await insert(
      store,
      'texts',
      texts.map(({ text }) => text),
    )
  await insert(
    store,
    'events',
    events.map(({ event }) => event),
  )
}

export const insertSessions = (store: Store, sessions: readonly SessionRow[]): Promise<void> =>
  insert(store, 'sessions', sessions)

/** Events, and what becomes of them: other fields, or nothing. */
interface Move {
  readonly events: readonly StoredEvent[]
  readonly change: Partial<EventRow> | null
}

/** Writes a correction: each event reversed, and written again with other fields. */
export const insertMove = (store: Store, events: readonly StoredEvent[], change: Move['change']): Promise<void> =>
  insertMoves(store, [{ events, change }])

/** Writes several corrections at once. */
export async function insertMoves(store: Store, moves: readonly Move[]): Promise<void> {
  const rows = moves.flatMap(({ events, change }) => [
    ...events.map(({ event }) => ({ ...event, sign: -1 })),
    ...(change === null ? [] : events.map(({ event }) => ({ ...event, ...change, version: event.version + 1 }))),
  ])
  await insert(store, 'events', rows)
}

/** An answer with its parsed body. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  // Tests look into bodies freely.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

/** A query node of a test's own, inside the test's process. */
export interface TestNode {
  readonly url: string
  readonly nc: NatsConnection
  readonly view: ControlView
  readonly stored: StoredRanges
  readonly db: WalledDatabase
  readonly buckets: Buckets
  readonly metrics: Metrics
  ask(method: string, path: string, options?: { body?: unknown; headers?: Record<string, string> }): Promise<Answer>
}

/** A node with the data set of data.ts in two organizations. */
export interface DataNode extends TestNode {
  readonly a: Tenant
  readonly b: Tenant
  /** Lets the store fold rows with their reversals. */
  fold(): Promise<void>
  /** Posts to the dashboard API as organization `a` unless another key is given. */
  post(path: string, body?: unknown, apiKey?: string): Promise<Answer>
}

export type Tenant = Awaited<ReturnType<typeof createTenant>>

/** What a node may be told. */
export interface NodeOptions {
  readonly routes?: readonly Endpoint[]
  /** What it reads; the wall's reader unless said otherwise. */
  readonly store?: (db: WalledDatabase) => Store
  /** Inserts of events have their projections at once. */
  readonly aggregated?: boolean
  /** Watches kept days. */
  readonly keeping?: (kept: KeptDays) => KeptDays
  /** Hosts that it may call although they are not public. */
  readonly privateHosts?: readonly string[]
}

/** As by default. */
const ORGANIZATION_QUERIES = 8

/** Readers of a store for tests: no limit is met unless a question hangs. */
export const readersOver = (store: Store, { maxSeconds = 600, metrics = createMetrics('query') } = {}): OpenReader =>
  createReaders({
    storeOf: () => store,
    limits: {
      ...{ maxSeconds, maxMemoryMb: 1024, maxRows: 0 },
      ...{ organizationQueries: ORGANIZATION_QUERIES, organizationRows: 0, organizationSeconds: 0 },
    },
    ...{ metrics, log: silentLog },
  })

/** The same reader, of which `hear` is told each question before it is asked. */
export const heard = (reader: Reader, hear: (question: Question, parameters?: Parameters) => void): Reader => ({
  ...reader,
  read: (question, sql, parameters, ...rest) => {
    hear(question, parameters)
    return reader.read(question, sql, parameters, ...rest)
  },
})

/** Starts NATS, a database and a node whose clock stands at NOW_MS; every answer is compared with its schema. */
export async function startNode(t: Teardown, options: NodeOptions = {}): Promise<TestNode> {
  const [nats, db] = await Promise.all([startNats(t), walledDatabase(t, options).then(remembering)])
  const nc = await connectNats(t, nats.url)
  const buckets = await openBuckets(nc)
  const jsm = await jetstreamManager(nc)
  const view = await openControlView(buckets.control, silentLog)
  t.teardown(() => view.close())
  const metrics = createMetrics('query')
  const stored = followStoredRanges(nc, silentLog)
  t.teardown(() => stored.close())
  const auditStream = await openAuditStream(nc)
  const audit = createAudit({ stream: auditStream, log: silentLog, metrics })
  const reading = options.store?.(db) ?? db.reader
  const auditing = storeAudit({ stream: auditStream, storeOf: () => db.store, log: silentLog })
  t.teardown(() => auditing.stop())
  const openReader = readersOver(reading, { maxSeconds: 20, metrics })
  // Long enough for any machine: every answer of these tests that may come from kept days does. And each of them asks, since rows are
  // written into the store by the thousand and recounted at once.
  const kept = createKeptDays({ maxMb: 64, waitMs: 600_000, freshMs: 0, openReader, metrics, log: silentLog })
  t.teardown(() => kept.close())
  const bind = createRunner({
    audit,
    authenticator: createAuthenticator(view, {
      onKey: createKeyUse({ records: buckets.control, view, log: silentLog }),
    }),
    openReader,
    kept: options.keeping?.(kept) ?? kept,
    prefetch: createPrefetch(metrics, ORGANIZATION_QUERIES - 1),
    control: { records: buckets.control, view },
    signIn: createSignIn({
      control: { records: buckets.control, view },
      ...{ oidc: null, oidcName: '', passwords: false, signUp: 'open', publicUrl: 'http://localhost' },
      ...{ metrics, log: silentLog },
    }),
    rejects: buckets.rejects,
    cursors: buckets.cursors,
    stored,
    prices: (await loadPrices('')).list,
    payloads: async position => readPayload(jsm, position),
    journal: openJournal(nc),
    outgoing: createOutgoing({ privateHosts: options.privateHosts ?? [], metrics }),
    metrics,
    log: silentLog,
    checkResponses: true,
    clock: () => NOW_MS,
  })
  const server = await startServer(
    { routes: options.routes ?? routes, bind, notReady: async () => [], maxBodyBytes: 64 * 1024, log: silentLog },
    '127.0.0.1',
    0,
  )
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${server.port}`
  return {
    url,
    nc,
    view,
    stored,
    db,
    buckets,
    metrics,
    ask: async (method, path, { body, headers } = {}) => {
      const response = await fetch(url + path, {
        method,
        headers: { ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      const json = response.headers.get('content-type')?.startsWith('application/json') ?? false
      return { status: response.status, headers: response.headers, body: json && text !== '' ? JSON.parse(text) : text }
    },
  }
}
