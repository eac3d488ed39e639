// A small world made inside the engine is what the parsers make of the payloads that say the same: row by row, every column.
import t from 'tap'
import { loadPrices } from '#pricing/list.ts'
import { pricingOf } from '#pricing/quote.ts'
import type { ParseOutcome } from '#processors/outcome.ts'
import { parseTraces } from '#processors/parsers/otlp.ts'
import { parseEvent, parseSession } from '#processors/parsers/sdk.ts'
import type { JsonObject } from '#proto/json.ts'
import { attributes, jsonBytes, request } from '#proto/otlp/fixture.ts'
import type { EventRow, LinkRow, SessionRow, TextRow } from '#proto/rows.ts'
import { Present } from '#proto/rows.ts'
import { freshDatabase } from '#test/rig.ts'
import { build } from './build.ts'

const ORGANIZATION = '11111111-1111-4111-8111-111111111111'
const END_MS = Date.UTC(2026, 5, 15, 12)

type Stored<T> = T & { origin_sequence: string; origin_frame: number; origin_index: number }
type StoredEvent = Stored<EventRow> & { origin_generation: number; version: string; sign: number; provisional: number }

const { store } = await freshDatabase(t)
const pricing = pricingOf((await loadPrices('')).list)
const world = {
  ...{ events: 1_200, texts: true, organization: ORGANIZATION, organizations: 3, share: 0.6, endMs: END_MS, days: 240 },
}
// Another database of the engine has reasons of its own to hold its merges still.
const elsewhere = await freshDatabase(t)
await elsewhere.store.command('INSERT INTO fences VALUES (1, 1)')
await elsewhere.store.command('SYSTEM STOP MERGES fences')
await build(store, world, () => {})

const read = async <T>(table: string, where = '1'): Promise<Stored<T>[]> =>
  store.read<Stored<T>>(`SELECT * FROM ${table} WHERE ${where} ORDER BY origin_sequence, origin_frame, origin_index`, {
    settings: { date_time_output_format: 'simple' },
  })

/** A row without what does not come from its payload, and with numbers as the parsers have them. */
function plain(row: object, numbers: readonly string[] = []): Record<string, unknown> {
  const ours = Object.entries(row).filter(([key]) => !/^(origin_|move_id$|version$|sign$)/.test(key))
  const said = Object.fromEntries(ours.map(([key, value]) => [key, numbers.includes(key) ? Number(value) : value]))
  return JSON.parse(JSON.stringify(said)) as Record<string, unknown>
}
const COUNTS = [
  'duration_ns',
  'cost_nanos',
  ...['input', 'output', 'cache_read', 'cache_write', 'reasoning'].map(of => `${of}_tokens`),
]

const nanosOf = (time: string): bigint =>
  BigInt(Date.parse(`${time.slice(0, 19).replace(' ', 'T')}Z`)) * 1_000_000n + BigInt(time.slice(20).padEnd(9, '0'))
const contextOf = ({ organization, received_at }: EventRow | SessionRow) => ({
  ...{ organization, receivedAtMs: Number(nanosOf(received_at) / 1_000_000n), mintedId: '', retention: 0, pricing },
})
const rowsOf = (outcome: ParseOutcome) => {
  if ('dead' in outcome) throw new Error(outcome.reason)
  return outcome.units
}
const texts = new Map((await read<TextRow>('texts')).map(row => [row.event_id, row]))
const events = (await read<EventRow>('events', 'sign = 1 AND bitAnd(version, 4294967295) = 0')) as StoredEvent[]

t.test('merges of other databases are left as they are', async t => {
  await t.rejects(elsewhere.store.command('OPTIMIZE TABLE fences FINAL'), { code: '236' }, 'still stopped')
})

t.test('events of the SDK', async t => {
  const ours = events.filter(({ source }) => source !== 'otlp')
  t.ok(ours.length > 300)
  for (const row of ours) {
    const text = texts.get(row.event_id)
    const body = {
      ...{ session_id: row.conversation_id, event_id: row.event_id, primitive_name: row.name, metadata: row.metadata },
      ...{ primitive_type: row.source === 'mcp' ? row.kind : '', args: text?.input, result: text?.output },
      ...(Number(row.duration_ns) < 0 ? {} : { latency: Number(row.duration_ns) / 1e6 }),
      ...(row.failed ? { success: false } : {}),
      ...{ timestamp: Number(nanosOf(row.ts) / 1_000_000n) },
      ...(row.checkpoints === '' ? {} : { checkpoints: JSON.parse(row.checkpoints) as unknown }),
    }
    const [unit] = rowsOf(parseEvent(jsonBytes(body), 'json', contextOf(row)))
    t.strictSame(plain(row, COUNTS), plain(unit?.events[0] as EventRow))
    t.strictSame(plain(text as TextRow), plain(unit?.texts[0] as TextRow))
  }
})

t.test('captures of the SDK', async t => {
  const ours = await read<SessionRow>('sessions', `source = 'sdk'`)
  t.ok(ours.length > 20)
  for (const row of ours) {
    const timestamp = Number(nanosOf(row.started_at) / 1_000_000n)
    const body = { session_id: row.conversation_id, user_data: row.user_data, metadata: row.metadata, timestamp }
    const [unit] = rowsOf(parseSession(jsonBytes(body), 'json', contextOf(row)))
    t.strictSame(plain(row), plain(unit?.sessions[0] as SessionRow))
  }
})

const positionOf = (row: Stored<object>): string => `${row.origin_sequence} ${row.origin_frame} ${row.origin_index}`

const hex = (uuid: string): string => uuid.replaceAll('-', '')
const spanHex = (id: string): string => BigInt(id).toString(16).padStart(16, '0')

/** The span of a row, as an exporter sends it. */
function spanOf(row: EventRow): JsonObject {
  const text = texts.get(row.event_id)
  const { metadata, provisional } = row
  const own = Object.entries(metadata).filter(([key]) => !/^(resource|otel[.]scope|parley)[.]/.test(key))
  const values = {
    ...Object.fromEntries(own),
    ...(provisional ? {} : { 'session.id': row.session_id, ...(row.user_id === '' ? {} : { 'user.id': row.user_id }) }),
    ...{ input: text?.input, output: text?.output },
    ...(row.kind === 'llm' ? { 'gen_ai.provider.name': row.provider } : {}),
    ...((row.present & Present.inputTokens) > 0
      ? {
          'gen_ai.usage.input_tokens': Number(row.input_tokens),
          'gen_ai.usage.output_tokens': Number(row.output_tokens),
        }
      : {}),
  }
  const start = nanosOf(row.ts)
  return {
    ...{
      traceId: hex(row.trace_id),
      spanId: spanHex(row.span_id),
      name: metadata['parley.span_name'] as string,
      kind: 1,
    },
    ...(row.parent_span_id === '0' ? {} : { parentSpanId: spanHex(row.parent_span_id) }),
    ...{ startTimeUnixNano: String(start), endTimeUnixNano: String(start + BigInt(row.duration_ns)) },
    attributes: attributes(values),
    ...(row.failed ? { status: { code: 2, message: row.error_message } } : {}),
  }
}

t.test('spans, with their captures and links', async t => {
  const ours = events.filter(({ source }) => source === 'otlp')
  t.ok(ours.length > 200)
  t.ok(
    ours.some(row => row.provisional === 1),
    'some are late',
  )
  const batches = Map.groupBy(ours, row => `${row.trace_id} ${row.received_at}`)
  const sessions = new Map((await read<SessionRow>('sessions', `source = 'otlp'`)).map(row => [positionOf(row), row]))
  const links = new Map((await read<LinkRow>('links')).map(row => [positionOf(row), row]))
  for (const batch of batches.values()) {
    const service = { 'service.name': batch[0]?.metadata['resource.service.name'] }
    const body = request(batch.map(spanOf), service)
    const units = rowsOf(parseTraces(jsonBytes(body), 'json', contextOf(batch[0] as EventRow)))
    for (const [i, unit] of units.entries()) {
      const row = batch[i] as StoredEvent
      t.strictSame(plain(row, COUNTS), plain(unit.events[0] as EventRow))
      t.strictSame(plain(texts.get(row.event_id) as TextRow), plain(unit.texts[0] as TextRow))
      t.strictSame(
        unit.sessions.map(row => plain(row)),
        [sessions.get(positionOf(row))].flatMap(row => (row ? [plain(row)] : [])),
      )
      const link = links.get(positionOf(row))
      t.strictSame(
        (unit.links ?? []).map(row => plain(row)),
        link ? [plain(link)] : [],
      )
    }
  }
})

t.test('spans that came before their session have gone home', async t => {
  const [sums] = await store.read<Record<string, string>>(
    `SELECT sum(sign) AS standing, sumIf(sign, provisional = 1) AS loose, uniqExact(event_id) AS ids, countIf(sign = -1) > 0 AS moved,
       (SELECT count() FROM events FINAL) AS folded, (SELECT count() FROM corrections) = 2 * countIf(sign = -1) AS staged
     FROM events SETTINGS optimize_use_projections = 0`,
  )
  const n = String(world.events)
  t.match(sums, { standing: n, loose: '0', ids: n, folded: n })
  const homes = await store.read(
    `SELECT trace_id FROM events FINAL WHERE source = 'otlp' GROUP BY trace_id HAVING uniqExact(conversation_id, session_id) > 1`,
  )
  t.strictSame(homes, [], 'a trace is in one conversation')
})
