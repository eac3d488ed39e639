// Which projection answers which question. The planner takes one only when a query filters and groups by the projection's own
// expressions, so a harmless-looking edit can turn milliseconds into a scan: these tests notice.
import t from 'tap'
import { buildProjections } from '#store/projections.ts'
import { TABLES } from '#store/verify/projections.ts'
import { ORGANIZATION_HEADER } from '#store/wall/tables.ts'
import { walledDatabase } from '#test/rig.ts'
import { arrivedSql } from './days/arrived-sql.ts'
import { capturesArrivedSql, DAY_CAPTURES_SQL } from './days/captures-sql.ts'
import { DAY_FIGURES_SQL, VERSIONS_SQL } from './days/sql.ts'
import { EXTENT_SQL } from './endpoints/organization/summary.ts'
import { wholeDaysSql } from './endpoints/raw-logs/count.ts'
import { agentCondition, allOf, NOTHING } from './filters.ts'
import { BOUNDS_SQL, CONVERSATION_BOUNDS, FACTS_SQL } from './reads/conversation-facts.ts'
import { CORRECTED_CONVERSATIONS, conversationPageSql, DAYS_SQL } from './reads/conversation-page.ts'
import { answeredByDay, EVENTS, FAILED, LATENCIES } from './reads/daily.ts'
import { EVENTS_BY_KEY, PLACES_OF_EVENT, rowsAt } from './reads/events.ts'
import { FIRST_DAY_SQL } from './reads/first-day.ts'
import { TRACE_BOUNDS } from './reads/ids.ts'
import { EVENT_KEYS } from './reads/keys.ts'
import { pageRowsSql, pageSql } from './reads/log-page.ts'
import { BUCKET_BOUND, NEWEST_BUCKETS } from './reads/log-reach.ts'
import { bucketCountsSql, dayConversationsSql } from './reads/metrics.ts'
import { BY_ROWS } from './reads/sql.ts'
import { conversationCostsSql } from './reads/summary-costs.ts'
import { toolGroupsSql } from './reads/tools.ts'
import { CAPTURED, CONVERSATIONS_OF_USERS, SEEN, userCondition, WINDOW_CONVERSATIONS } from './reads/users.ts'
import { windowGroups } from './reads/window-groups.ts'

// Asked as the dashboard asks: through the reader whose rows the store narrows.
const { store, reader } = await walledDatabase(t)
const ROWS = 200_000
const parameters = {
  organization: '00000000-0000-4000-8000-000000000001',
  from: '2026-06-08 12:00:00.000',
  to: '2106-01-01 00:00:00.000',
  until: '2106-01-01 00:00:00.000',
  from_day: '2026-06-08',
  reach: '2026-06-08 12:00:00.000',
  reach_day: '2026-06-08',
  to_day: '2106-01-01',
  first_end: '2026-06-09 00:00:00.000',
  last_start: '2106-01-01 00:00:00.000',
  first: '2026-06-10 08:00:00.000',
  last: '2026-06-10 10:00:00.000',
  lower: '2026-06-15 10:00:00.000',
  wanted: 21,
  limit: 21,
  offset: 0,
  days: ['2026-06-10'],
  since: '2026-06-10 00:00:00.000',
  arrived: '2026-06-10 12:00:00.000',
  cut: '2026-06-10 12:00:05.000',
  corrected: [] as string[],
  conversation: '00000000-0000-4000-8000-000000000007',
  conversations: ['00000000-0000-4000-8000-000000000007'],
  trace: '00000000-0000-4000-8000-000000000008',
  event: '00000000-0000-4000-8000-000000000009',
  events: ['00000000-0000-4000-8000-000000000009'],
  hours: ['2026-06-10 08:00:00'],
  first_second: Date.parse('2026-06-10T08:00:00Z') / 1000,
  end_second: Date.parse('2026-06-10T09:00:00Z') / 1000,
  instants: ['2026-06-10 08:01:00'],
  users: ['u2'],
  agents: ['n1'],
  failed: 0,
  values_0: ['turn'],
  said_keys: ['plan', 'team'],
  captured_keys: ['plan'],
}
const PLAIN = { recount: false, ends: false }
const PAGE = { offset: 0, limit: 21 }
const MERGES_OFF = 'SYSTEM STOP MERGES events'

t.before(async () => {
  // Two organizations, 20,000 conversations and ten days, in rows that only the keys of the projections matter of.
  await store.command(MERGES_OFF)
  await store.command(`
    INSERT INTO events (organization, conversation_id, event_id, ts, kind, source, name, user_id, duration_ns, version, sign, metadata)
    SELECT
      toUUID('00000000-0000-4000-8000-00000000000' || toString(1 + number % 2)),
      reinterpretAsUUID(cityHash64(number % 20000)), reinterpretAsUUID(sipHash128(number)),
      toDateTime64('2026-06-15 12:00:00', 9, 'UTC') - toIntervalMillisecond(number * 4320),
      1 + number % 4, 1, 'n' || toString(number % 7), 'u' || toString(number % 2000), number, 1, 1, map('event_type', 'turn')
    FROM numbers(${ROWS})`)
  await store.command(`
    INSERT INTO sessions (organization, conversation_id, user_id, received_at)
    SELECT toUUID('00000000-0000-4000-8000-000000000001'), reinterpretAsUUID(cityHash64(number)), 'u' || toString(number % 2000), now64(3)
    FROM numbers(50000)`)
  // As after their first merge.
  await store.command('SYSTEM START MERGES events')
  for (const table of TABLES) await buildProjections(store, table)
  await store.command(MERGES_OFF)
})

const settings = { do_not_merge_across_partitions_select_final: 1, optimize_functions_to_subcolumns: 0 } as const
const headers = { [ORGANIZATION_HEADER]: parameters.organization }

/** The plan of a query as text. */
async function plan(sql: string): Promise<string> {
  const rows = await reader.read<{ explain: string }>(`EXPLAIN projections = 1, indexes = 1 ${sql}`, {
    ...{ parameters, settings, headers },
  })
  return rows.map(row => row.explain).join('\n')
}

/** Projections that a plan reads from. */
const projections = (text: string): string[] =>
  [...text.matchAll(/ReadFrom(?:MergeTree|PreparedSource) \(([^)]+)\)/g)].map(match => match[1] as string)

t.test('every aggregate question is answered by a projection and by no scan', async t => {
  const f = async (name: string, sql: string, ...expected: string[]): Promise<void> => {
    const text = await plan(sql)
    t.strictSame([...new Set(projections(text))].sort(), expected.sort(), `${name}\n${text}`)
  }
  const eventType = { sql: [`metadata['event_type'] IN {values_0:Array(String)}`], parameters: {} }
  await f('extent of the data', EXTENT_SQL, 'metrics_15m')
  await f('days of a page', DAYS_SQL, 'metrics_daily')
  await f('corrected conversations', CORRECTED_CONVERSATIONS, 'conversations_daily')
  await f('page of conversations', conversationPageSql(NOTHING, 'newest', PLAIN, PAGE), 'conversations_daily')
  await f('reach of a page', NEWEST_BUCKETS, 'metrics_15m')
  await f('reach of a page that looks far back', BUCKET_BOUND, 'metrics_15m')
  await f('bounds of a conversation', CONVERSATION_BOUNDS, 'bounds')
  await f('bounds of conversations', BOUNDS_SQL, 'bounds')
  // Plans don't show how a set is found, only what it narrows.
  await f('an event by id', PLACES_OF_EVENT, 'ids')
  await f('count by agent', wholeDaysSql(agentCondition(['n1'])), 'names_daily')
  await f('count by agent and type', wholeDaysSql(allOf(agentCondition(['n1']), eventType)), 'names_daily')
  const daysOf = (sql: string): string => sql.split('UNION ALL')[0] as string
  await f('keys of metadata', EVENT_KEYS, 'keys_daily')
  await f('first day', FIRST_DAY_SQL, 'metrics_daily')
  await f('conversations by day', daysOf(dayConversationsSql(NOTHING, 'UTC')), 'conversations_daily')
  await f('conversations of a window', WINDOW_CONVERSATIONS, 'conversations_daily')
  await f('costs of conversations', conversationCostsSql('SELECT {conversation:UUID}'), 'priced')
  await f('tools and their latencies', daysOf(toolGroupsSql(NOTHING)), 'latency_daily')
  await f('latencies of everything', daysOf(bucketCountsSql(NOTHING)), 'latency_daily')
  const sums = windowGroups({ day: 'toDate(ts)' }, [EVENTS, FAILED, LATENCIES], NOTHING)
  await f('sums by day', daysOf(sums), 'metrics_daily')
  await f('count', wholeDaysSql(NOTHING), 'metrics_daily')
  const [versions, captureVersions] = VERSIONS_SQL.split('UNION ALL') as [string, string]
  await f('versions of days', versions, 'day_versions')
  await f('versions of captures', captureVersions, 'capture_versions')
})

t.test('a SELECT over whole days names the aggregate that has all of its columns', t => {
  const f = (expected: string, keys: string[], sums: string[], conditions: string[]): void => {
    t.match(answeredByDay(keys, sums, conditions), new RegExp(`= '${expected}'$`), expected)
  }
  const agent = agentCondition(['n1']).sql[0] as string
  f('metrics_daily', ['toDate(ts)'], [EVENTS, FAILED, LATENCIES], [`kind IN ('tool', 'prompt')`])
  f(
    'metrics_daily',
    ['toString(toMonday(toDate(ts)))', 'toString(source)'],
    ['sum(sign * toInt64(cost_nanos)) AS a'],
    [],
  )
  f('names_daily', ['toDate(ts)'], [EVENTS, LATENCIES], [agent, `metadata['event_type'] IN {values_0:Array(String)}`])
  f('any', ['toDate(ts)'], [EVENTS, FAILED], [agent])
  f('latency_daily', ['kind', 'name', 'failed', 'latency_bucket'], [EVENTS], [agent])
  f('conversations_daily', ['toDate(ts)', 'conversation_id'], [EVENTS], [])
  f('any', ['model', 'toDate(ts)'], [EVENTS], [])
  f('any', ['toDate(ts)'], [EVENTS], ['conversation_id IN (SELECT conversation_id FROM sessions)'])
  // Instants and days of other time zones are in no aggregate by day: the one named is only told not to fit.
  f('users', ['toDate(ts, {timezone:String})'], [EVENTS], [])
  f('users', ['toString(intDiv(toUnixTimestamp(ts), 300) * 300)'], [EVENTS], [])
  t.end()
})

t.test('every name that stands for rows is one of the store', async t => {
  const named = BY_ROWS.match(/'(\w+)'/)?.[1]
  const rows = await store.read(
    `SELECT 1 FROM system.projections WHERE database = {database:String} AND name = {named:String}`,
    {
      parameters: { database: store.database, named: named ?? '' },
    },
  )
  t.equal(rows.length, 1, 'or the planner would try all of them')
})

t.test('conversations of a user come from the aggregate by conversation and the captures by user', async t => {
  // Plans don't show the reads of IN-sets, which are made before; so each is asked for by itself.
  t.strictSame(projections(await plan(CAPTURED)), ['by_user'])
  t.strictSame(projections(await plan(SEEN)), ['users'])
  const text = await plan(CONVERSATIONS_OF_USERS)
  t.ok(projections(text).includes('users'), text)
  t.notOk(
    projections(text).some(name => name.endsWith('.events')),
    'no scan of events',
  )
  const page = projections(await plan(conversationPageSql(userCondition('u2'), 'newest', PLAIN, PAGE)))
  t.strictSame(page, ['conversations_daily'])
})

t.test('a trace is looked for in the granules that may hold it', async t => {
  t.match(await plan(TRACE_BOUNDS), /Name: trace_ids/)
})

t.test('what arrived since an instant is looked for in the granules that may hold it', async t => {
  const arrived = [
    arrivedSql({ prices: false, keys: 0 }),
    arrivedSql({ prices: true, keys: 2 }),
    capturesArrivedSql(['user_metadata']),
  ]
  for (const sql of [DAY_FIGURES_SQL.open, DAY_CAPTURES_SQL.open, ...arrived]) {
    t.match(await plan(sql), /Name: received_range/)
  }
})

t.test('what lies between two instants is read from the granules of their hours', async t => {
  const raggedOf = (sql: string): string => sql.split('UNION ALL')[1] as string
  const f = async (name: string, sql: string, most: number): Promise<void> => {
    const text = await plan(sql)
    const [, read, all] = [...text.matchAll(/Granules: (\d+)\/(\d+)/g)].at(-1) ?? []
    t.ok(Number(read) <= most && Number(all) >= 96, `${name}: ${read} of ${all} granules\n${text}`)
  }
  await f('two hours of some conversations', FACTS_SQL, 2)
  await f('two hours of logs', pageSql(NOTHING, PAGE), 2)
  await f('half a day of sums', raggedOf(windowGroups({ day: 'toDate(ts)' }, [EVENTS], NOTHING)), 8)
})

t.test('rows of a page are read from the granules of their hours and conversations', async t => {
  const f = async (sql: string, most: number): Promise<void> => {
    const text = await plan(sql)
    const [, read, all] = [...text.matchAll(/Granules: (\d+)\/(\d+)/g)].at(-1) ?? []
    t.ok(Number(read) > 0 && Number(read) <= most, `${read} of ${all} granules\n${text}`)
    t.ok(Number(all) >= 160, 'the table has many')
  }
  await f(EVENTS_BY_KEY, 2)
  const instant = `toDateTime64('2026-06-10 08:01:00', 9, 'UTC')`
  await f(rowsAt(`SELECT ${instant}, toStartOfHour(${instant}), {conversation:UUID}, {event:UUID}`), 2)
  // Parts are left alone by their instants: an hour of arrivals is in many of them.
  t.match(await plan(pageRowsSql(NOTHING, PAGE)), /Min-Max\s+Keys:\s+ts\s+Condition: \(ts in \d+-element set\)/)
  // As instants: of whole seconds the engine would leave out what comes within the last one.
  t.match(await plan(FACTS_SQL), /Min-Max\s+Keys:\s+ts\s+Condition: .*\(ts in \(-Inf, '\d+'\)\), \(ts in \['\d+', /)
  // The newest of a page are of so many conversations, each of which may have a granule of its own.
  await f(pageRowsSql(NOTHING, PAGE), 2)
})

t.test('behind the wall no question reads a row more', async t => {
  const questions: readonly (readonly [string, string])[] = [
    ['extent of the data', EXTENT_SQL],
    ['page of conversations', conversationPageSql(NOTHING, 'newest', PLAIN, PAGE)],
    ['an event by id', rowsAt(PLACES_OF_EVENT)],
    ['count', wholeDaysSql(NOTHING)],
    ['costs', conversationCostsSql('SELECT {conversation:UUID}')],
    ['first day', FIRST_DAY_SQL],
    ['conversations of users', CONVERSATIONS_OF_USERS],
    ['rows of a page', EVENTS_BY_KEY],
  ]
  for (const [name, sql] of questions) {
    const rowsOf = async (who: typeof store): Promise<number> => {
      let rows = 0
      await who.read(sql, {
        ...{ parameters, headers, settings: { ...settings, http_wait_end_of_query: 1 } },
        onRows: read => {
          rows = read
        },
      })
      return rows
    }
    const [behind, before] = [await rowsOf(reader), await rowsOf(store)]
    t.ok(before > 0 && behind <= before, `${name}: ${behind} rows, ${before} without`)
  }
})
