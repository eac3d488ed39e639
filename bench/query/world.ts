// A number of events -> SQL that makes each of them from its number alone: rows as the processors write them from what the SDK and
// exporters of spans send. Nothing is drawn, so any piece of a world can be made again, and a test can hold the rows against the parsers.
import { loadPrices } from '#pricing/list.ts'
import { pricingOf } from '#pricing/quote.ts'
import { parseTraces } from '#processors/parsers/otlp.ts'
import { jsonBytes, request, span } from '#proto/otlp/fixture.ts'
import { Present } from '#proto/rows.ts'
import { quoted, WORDS } from './words.ts'

/** What a world is like. */
export interface World {
  readonly events: number
  readonly texts: boolean
  /** The organization that asks, and how many others there are. */
  readonly organization: string
  readonly organizations: number
  /** What part of the events is of the asking organization. */
  readonly share: number
  /** The instant before which everything has happened. */
  readonly endMs: number
  readonly days: number
}

/** Events of a block: conversations of these lengths beside each other. */
const LENGTHS = [2, 2, 3, 4, 5, 6, 8, 8, 10, 12, 14, 16, 20, 24, 30, 40, 52]
export const BLOCK = LENGTHS.reduce((sum, length) => sum + length, 0)
/** Every so many blocks one is a single conversation. */
const LONG_EVERY = 1_000
/** Positions in the streams that no stream of a bench will reach. */
export const FIRST_POSITION = 1_000_000_000_000
/** Events of one message. */
const MESSAGE = 64
/** A trace in so many has spans that are stored before anything says whose they are. */
const LATE_EVERY = 50
const MODELS = ['gpt-4o', 'gpt-4o-mini', 'gpt-4.1']
const TOOLS = ['search', 'order', 'refund', 'ticket', 'invoice', 'stock', 'price', 'route', 'mail', 'note'].flatMap(
  noun => ['find', 'get', 'list', 'update'].map(verb => `${verb}_${noun}`),
)
const AGENTS = ['support', 'sales', 'billing', 'returns', 'travel', 'research', 'onboarding', 'planner']
const FAILURES = ['Timeout', 'NotFound', 'RateLimited', 'Invalid', 'Refused']
/** Besides plan, region, channel and what parsers add: keys of which an event has two. */
const KEYS = [
  'app',
  'locale',
  'release',
  'device',
  'queue',
  'team',
  'stage',
  'shard',
  'flow',
  'score',
  'order_id',
  'step',
].flatMap(key => [key, `${key}_previous`])

/** Nano-dollars of one token in and out, and what is noted about the price, as the parsers find them. */
interface Priced {
  readonly model: string
  readonly input: number
  readonly output: number
  readonly note: string
}

async function pricesOfModels(): Promise<Priced[]> {
  const pricing = pricingOf((await loadPrices('')).list)
  const context = {
    organization: '11111111-1111-4111-8111-111111111111',
    receivedAtMs: Date.now(),
    mintedId: '',
    retention: 0,
    pricing,
  }
  const cost = (model: string, input: number, output: number) => {
    const values = {
      ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model, 'gen_ai.provider.name': 'openai' },
      ...{ 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.output_tokens': output },
    }
    const outcome = parseTraces(jsonBytes(request([span(1, 1, { name: 'chat' }, values)])), 'json', context)
    const event = 'units' in outcome ? outcome.units[0]?.events[0] : undefined
    if (event === undefined || event.cost_nanos === 0) throw new Error(`no price for ${model}`)
    return event
  }
  return MODELS.map(model => {
    const both = cost(model, 1000, 1000).cost_nanos
    const input = (cost(model, 2000, 1000).cost_nanos - both) / 1000
    return { model, input, output: both / 1000 - input, note: cost(model, 1, 1).metadata['parley.price'] ?? '' }
  })
}

const list = (values: readonly (string | number)[]): string =>
  `[${values.map(value => (typeof value === 'number' ? value : quoted(value))).join(', ')}]`
/** An element of a list by a hash. */
const pick = (values: readonly (string | number)[], hash: string): string =>
  `${list(values)}[${hash} % ${values.length} + 1]`
/** A fraction from 0 to 1. */
const unit = (...parts: string[]): string => `((cityHash64(${parts.join(', ')}) % 1000000) / 1000000)`

/** UUIDv5 of a name under a uuid. */
const uuidV5 = (namespace: string, name: string): string => {
  const hash = `SHA1(concat(unhex(replaceAll(toString(${namespace}), '-', '')), ${name}))`
  return `toUUID(arrayStringConcat(arrayMap((h, x) -> concat(substring(x, 1, 8), '-', substring(x, 9, 4), '-5', substring(x, 14, 3), '-',
      substring('89ab', bitAnd(bitShiftRight(reinterpretAsUInt8(substring(h, 9, 1)), 4), 3) + 1, 1), substring(x, 18, 3), '-',
      substring(x, 21, 12)), [${hash}], [lower(hex(${hash}))])))`
}

/** Words of a text from a seed. */
const words = (seed: string, count: string): string =>
  `arrayStringConcat(arrayMap(i -> vocabulary[1 + toUInt16(pow(cityHash64(${seed}, i) % 65536 / 65536, 2) * ${WORDS.length})], range(${count})), ' ')`

/** What each event of the numbers from `from` on is: one row an event, before it becomes rows of tables. */
export async function eventsSql(world: World, from: number, count: number): Promise<string> {
  const { organization, organizations, share, endMs, days } = world
  const spanMs = days * 86_400_000
  const blocks = Math.ceil(world.events / BLOCK)
  const conversations = blocks * LENGTHS.length
  const at = LENGTHS.flatMap((length, i) => Array.from({ length }, (_, position) => [i, position] as const))
  const users = (part: number): number => Math.max(20, Math.round((conversations * part) / 8))
  const prices = await pricesOfModels()
  const of = (key: 'input' | 'output' | 'note'): string => `${list(prices.map(price => price[key]))}[model_no]`
  const tools = `if(pos % 4 = 3, ${pick(
    AGENTS.map(agent => `${agent}_template`),
    'h1',
  )}, ${list(TOOLS)}[1 + toUInt8(pow(${unit('n', "'tool'")}, 2) * ${TOOLS.length})])`
  return `
  WITH ${list(WORDS)} AS vocabulary
  SELECT
    number AS n, intDiv(n, ${BLOCK}) AS block, n % ${BLOCK} AS slot, block % ${LONG_EVERY} = 7 AS long,
    if(long, 0, ${list(at.map(([i]) => i))}[slot + 1]) AS idx, if(long, slot, ${list(at.map(([, p]) => p))}[slot + 1]) AS pos,
    block * ${LENGTHS.length} + idx AS conv, cityHash64(conv, 'c') AS hc, cityHash64(n, 'a') AS h1, cityHash64(n, 'b') AS h2,
    ${unit('block', "'o'")} AS drawn,
    if(drawn < ${share}, 0, least(${organizations}, 1 + toUInt32(pow((drawn - ${share}) / ${1 - share || 1}, 2) * ${organizations}))) AS org,
    if(org = 0, toUUID('${organization}'), reinterpretAsUUID(sipHash128(org, 'organization'))) AS organization,
    conv % 5 < 2 AS otlp,
    toUInt64(pow(${unit('conv', "'u'")}, 2) * if(org = 0, ${users(share)}, ${users((1 - share) / Math.max(organizations, 1))})) AS user_no,
    if(hc % 10 = 0, '', concat('user-', toString(user_no))) AS user,
    if(otlp, concat('chat-', toString(conv)), '') AS session,
    if(otlp, ${uuidV5('organization', "concat('chat-', toString(conv))")}, reinterpretAsUUID(sipHash128(conv, 'conversation'))) AS home,
    (${endMs - 7_200_000 - spanMs} + toInt64(block * ${spanMs / blocks}) - toInt64(hc % 86400000)) * 1000000 + toInt64(pos) * 15000000000 + toInt64(h1 % 10000) * 1000000 AS ms_ns,
    ms_ns + if(otlp, toInt64(h2 % 1000000), 0) AS ts_ns,
    intDiv(pos, 4) AS turn, conv * 64 + turn AS trace, n - pos % 4 AS first,
    reinterpretAsUUID(sipHash128(trace, 'trace')) AS trace_uuid, replaceAll(toString(trace_uuid), '-', '') AS trace_hex,
    cityHash64(trace, 'span') + pos % 4 AS span_no, cityHash64(trace, 'span') AS root_no,
    otlp AND cityHash64(trace, 'late') % ${LATE_EVERY} = 0 AS late, late AND pos % 4 != 0 AS moved,
    multiIf(pos % 4 = 0, 'agent', otlp AND pos % 4 != 2, 'llm', otlp OR pos % 4 != 3, 'tool', ['tool', 'resource', 'prompt'][h1 % 3 + 1]) AS kind,
    multiIf(otlp, 'otlp', pos % 4 = 3, 'mcp', 'sdk') AS source,
    h2 % 3 + 1 AS model_no, ${list(MODELS)}[model_no] AS model_name,
    ${pick(AGENTS, 'cityHash64(conv, 1)')} AS agent, if(kind = 'agent', agent, if(kind = 'llm', model_name, ${tools})) AS name,
    toInt64(pow(10, multiIf(kind = 'agent', 5 + 1.6 * ${unit('n', "'d'")}, kind = 'llm', 5.3 + 1.2 * ${unit('n', "'d'")}, 3.5 + 2.2 * ${unit('n', "'d'")})) / 100) * 100000 AS took_ns,
    if(NOT otlp AND h2 % 100 = 1, -1, took_ns) AS duration_ns,
    intDiv(took_ns, 1000) AS us, if(us < 64, 0, toUInt8(floor(log2(us))) - 5) AS shift,
    if(duration_ns < 0, -1, if(us < 64, us, 64 + (shift - 1) * 32 + bitShiftRight(us, shift) - 32)) AS latency_bucket,
    h1 % 1000 < multiIf(kind = 'agent', 20, kind = 'llm', 10, 60) AS failed,
    if(failed, ${pick(FAILURES, 'h2')}, '') AS error_type,
    if(failed, concat(${pick(['no answer after ', 'nothing known about ', 'wait before request ', 'cannot read line '], 'h2')}, toString(h2 % 900 + 100)), '') AS error_message,
    if(kind = 'llm', 400 + h1 % 6000, 0) AS input_tokens, if(kind = 'llm', 20 + h2 % 900, 0) AS output_tokens,
    if(kind = 'llm', toUInt64(input_tokens * ${of('input')} + output_tokens * ${of('output')}), 0) AS cost_nanos,
    intDiv(ts_ns, 1000000) AS ts_ms,
    if(otlp, intDiv(if(late AND pos % 4 = 0, 300000000000, 0) + toInt64(conv_ns) + toInt64(turn + 1) * 60000000000, 1000000) + 10000, ts_ms + 200 + h2 % 800) AS received_ms,
    ms_ns - toInt64(pos) * 15000000000 - toInt64(h1 % 10000) * 1000000 AS conv_ns,
    if(source = 'mcp' AND h1 % 50 = 0, concat('[{"name":"fetched","timestamp":', toString(ts_ms + 5), ',"metadata":{}}]'), '') AS checkpoints,
    ${metadataSql(of('note'))} AS metadata,
    ${world.texts ? textsSql() : `'' AS input, '' AS output`},
    conv % 2 AS origin_partition, 1 AS origin_generation,
    ${FIRST_POSITION} + intDiv(if(otlp, first, n), ${MESSAGE}) AS origin_sequence,
    if(otlp, first, n) % ${MESSAGE} AS origin_frame, if(otlp, pos % 4, 0) AS origin_index
  FROM numbers(${from}, ${count})`
}

const metadataSql = (note: string): string => {
  const own = `map('plan', ['free', 'team', 'pro', 'enterprise'][hc % 4 + 1], 'channel', ['web', 'mobile', 'voice'][hc % 3 + 1],
      ${pick(KEYS, 'h1')}, toString(h2 % if(h1 % 24 = 20, 100000, 40)), ${pick(['first_note', 'second_note', 'third_note', 'last_note'], 'h2')}, concat('v', toString(h1 % 12)))`
  const spans = `map('resource.service.name', concat('service-', toString(org % 7)), 'otel.scope.name', 'shop-tracer', 'otel.scope.version', '1.2.3',
      'gen_ai.operation.name', multiIf(kind = 'agent', 'invoke_agent', kind = 'llm', 'chat', 'execute_tool'),
      'parley.span_name', concat(multiIf(kind = 'agent', 'invoke_agent ', kind = 'llm', 'chat ', 'execute_tool '), name))`
  return `mapConcat(${own}, multiIf(
      NOT otlp, if(kind = 'tool' AND source = 'sdk', map('event_type', 'tool_call'), map()),
      kind = 'llm', mapConcat(${spans}, map('gen_ai.request.model', name, 'parley.price', ${note})),
      mapConcat(${spans}, map(if(kind = 'agent', 'gen_ai.agent.name', 'gen_ai.tool.name'), name))),
    if(failed = 0, map(), if(otlp, map('error.type', error_type), map('error_type', error_type, 'error_message', error_message))))`
}

/** Questions of which a third is asked again and again; calls of models repeat what was said before. */
function textsSql(): string {
  const question = (turn: string): string =>
    words(
      `if(cityHash64(conv, ${turn}, 'q') % 3 = 0, cityHash64(org, cityHash64(conv, ${turn}) % 300), cityHash64(conv, ${turn}))`,
      `20 + cityHash64(conv, ${turn}) % 40`,
    )
  const answer = (turn: string): string =>
    words(`cityHash64(conv, ${turn}, 'answer')`, `60 + cityHash64(conv, ${turn}) % 60`)
  const history = `arrayStringConcat(arrayMap(t -> concat(',{"role":"user","content":"', ${question('t')}, '"},{"role":"assistant","content":"', ${answer('t')}, '"}'),
      if(kind = 'llm', range(greatest(toInt64(turn) - 2, 0), toInt64(turn)), emptyArrayInt64())))`
  return `
    multiIf(
      kind = 'agent', ${question('turn')},
      kind = 'llm', concat('[{"role":"system","content":"', ${words('cityHash64(org, agent)', '80')}, '"}', ${history}, ',{"role":"user","content":"', ${question('turn')}, '"}]'),
      concat('{"id":', toString(h1 % 100000), ',"about":"', ${words('h2 % 500', '8')}, '"}')) AS input,
    multiIf(kind = 'agent' OR kind = 'llm', ${answer('turn')}, concat('{"found":', toString(h2 % 100), ',"text":"', ${words('h1', '30')}, '"}')) AS output`
}

/** Rows of each table from those of `eventsSql`, in the order of their insertion. */
export const tablesSql: Readonly<Record<'sessions' | 'texts' | 'links' | 'events', (events: string) => string>> = {
  sessions: events => `
  SELECT organization, home AS conversation_id, session AS session_id, if(otlp, 'otlp', 'sdk') AS source, user AS user_id,
    if(otlp OR user = '', '', concat(user, '@example.org')) AS user_email,
    if(user = '', map(), if(otlp, map('id', user), map('user_id', user, 'email', concat(user, '@example.org'), 'tier', ['gold', 'silver', 'basic'][user_no % 3 + 1]))) AS user_data,
    if(otlp, map('service.name', concat('service-', toString(org % 7))), map('region', ['eu', 'us', 'asia'][hc % 3 + 1], 'campaign', concat('c', toString(hc % 200)))) AS metadata,
    ${ms('ts_ms')} AS started_at,
    ${ms('if(otlp, received_ms, ts_ms + if(hc % 20 = 3, 600000, 100))')} AS received_at,
    origin_partition, origin_generation, origin_sequence,
    if(otlp, origin_frame, origin_frame + ${MESSAGE}) AS origin_frame, 0 AS origin_index
  FROM (${events}) WHERE if(otlp, pos % 4 = 0, pos = 0)`,
  texts: events => `
  SELECT organization, if(otlp, trace_uuid, home) AS group_id, ${EVENT_ID} AS event_id, ${NS} AS ts, input, output,
    origin_partition, origin_generation, origin_sequence, origin_frame, origin_index
  FROM (${events}) WHERE input != '' OR output != ''`,
  links: events => `
  SELECT organization, trace_uuid AS trace_id, ${uuidV5('organization', 'trace_hex')} AS provisional_id, home AS conversation_id,
    session AS session_id, 0 AS depth, ${NS} AS started_at, span_no AS span_id,
    origin_partition, origin_generation, origin_sequence, origin_frame, origin_index
  FROM (${events}) WHERE otlp AND pos % 4 = 0`,
  events: events => `
  SELECT organization, if(moved, ${uuidV5('organization', 'trace_hex')}, home) AS conversation_id, if(moved, trace_hex, session) AS session_id,
    ${EVENT_ID} AS event_id, if(otlp AND pos % 4 > 0, ${spanId('root_no')}, toUUID('00000000-0000-0000-0000-000000000000')) AS parent_id,
    if(otlp, trace_uuid, toUUID('00000000-0000-0000-0000-000000000000')) AS trace_id,
    if(otlp, span_no, 0) AS span_id, if(otlp AND pos % 4 > 0, root_no, 0) AS parent_span_id,
    ${NS} AS ts, duration_ns, latency_bucket, source, kind, name, failed, error_type, error_message,
    if(otlp AND NOT moved, user, '') AS user_id, moved AS provisional,
    if(kind = 'llm', model_name, '') AS model, if(kind = 'llm', 'openai', '') AS provider, input_tokens, output_tokens, cost_nanos,
    if(kind = 'llm', ${Present.inputTokens + Present.outputTokens + Present.cost + Present.costComputed}, 0)
      + if(input != '', ${Present.input}, 0) + if(output != '', ${Present.output}, 0) AS present,
    substring(input, 1, 200) AS input_preview, substring(output, 1, 200) AS output_preview, length(input) AS input_bytes, length(output) AS output_bytes,
    metadata, checkpoints, ${ms('received_ms')} AS received_at,
    origin_partition, origin_generation, origin_sequence, origin_frame, origin_index,
    toUInt64(4294967296) AS version, 1 AS sign
  FROM (${events})`,
}

const ms = (millis: string): string => `fromUnixTimestamp64Milli(toInt64(${millis}), 'UTC')`
const NS = `fromUnixTimestamp64Nano(toInt64(ts_ns), 'UTC')`
const spanId = (no: string): string =>
  uuidV5('organization', `concat(trace_hex, '/', lower(leftPad(hex(${no}), 16, '0')))`)
const EVENT_ID = `if(otlp, ${spanId('span_no')}, reinterpretAsUUID(sipHash128(n, 'event')))`

/** Both sides of the corrections that took the late spans of some events home, as the resolver stages them. */
export const correctionsSql = (events: string, move: string): string => `
  SELECT * EXCEPT (known_home, known_session, way) REPLACE (
      if(way = 1, known_home, conversation_id) AS conversation_id, if(way = 1, known_session, session_id) AS session_id,
      if(way = 1, 0, provisional) AS provisional, version + (way = 1) AS version, way AS sign),
    toUUID('${move}') AS move_id
  FROM (SELECT *, arrayJoin([-1, 1]) AS way
    FROM (${tablesSql.events(`SELECT * FROM (${events}) WHERE moved`).replace('SELECT organization,', 'SELECT organization, home AS known_home, session AS known_session,')}))`
