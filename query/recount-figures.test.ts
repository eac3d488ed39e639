// Figures, tools, failures, metadata and its keys, words and charts over random data: every answer must equal a recount written without SQL.
import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import t from 'tap'
import { latencyOfBucket, Present } from '#proto/rows.ts'
import { foldEvents } from '#test/folding.ts'
import { createTenant, eventually } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'
import type { StoredEvent } from './fixture.ts'
import { NOW_MS, startNode } from './fixture.ts'
import type { Filters, RandomData } from './fixture-random.ts'
import { boundsOf, createDice, eventsOf, randomFilters, timeOf, userOf, writeRandomData } from './fixture-random.ts'

// Another seed and more rounds: tap query/recount-figures.test.ts --test-arg=<seed> --test-arg=<rounds>
const SEED = Number(process.argv[2] ?? 7_041_776)
const EVENTS = 250
const ROUNDS = Number(process.argv[3] ?? scaled({ sample: 1, full: 4 }))
const DAY_MS = 86_400_000

const dice = createDice(SEED)
const node = await startNode(t, { aggregated: true })
const { apiKey, organization } = await createTenant(node.buckets)
const headers = { 'x-api-key': apiKey }
const post = async (path: string, body: object) => {
  const answer = await node.ask('POST', `/dashboard/api/${path}`, { body, headers })
  if (answer.status !== 200) throw new Error(`${path} ${JSON.stringify(body)}: ${JSON.stringify(answer.body)}`)
  return answer.body
}
await eventually('the tenant', async () => {
  const { status } = await node.ask('GET', '/dashboard/api/organization/summary', { headers })
  return status === 200
})

let data: RandomData
t.before(async () => {
  await node.db.store.command('SYSTEM STOP MERGES events')
  // Another organization, under the same ids: none of it may be counted.
  const other = { organization: randomUUID(), count: EVENTS / 2, dice: createDice(SEED + 1) }
  const [ours] = await writeRandomData(node.db.store, [{ organization, count: EVENTS, dice }, other])
  data = ours as RandomData
})

// ---- the recount

const iso = (ms: number): string => new Date(ms).toISOString()
const distinct = <T>(values: readonly T[]): number => new Set(values).size
const conversationsOf = (events: readonly StoredEvent[]): string[] => events.map(({ event }) => event.conversation_id)
const usersOf = (events: readonly StoredEvent[]): number =>
  distinct(conversationsOf(events).flatMap(conversation => userOf(data, conversation) || []))
const failedOf = (events: readonly StoredEvent[]): number => events.filter(({ event }) => event.failed === 1).length
const timedOf = (events: readonly StoredEvent[]): StoredEvent[] => events.filter(({ event }) => event.duration_ns >= 0)

/** Nearest rank over latency buckets, in milliseconds. */
function percentile(events: readonly StoredEvent[], level: number): number | null {
  const buckets = timedOf(events)
    .map(({ event }) => event.latency_bucket)
    .sort((a, b) => a - b)
  const at = buckets[Math.ceil(buckets.length * level) - 1]
  return at === undefined ? null : latencyOfBucket(at)
}

/** The longest of whole microseconds, in milliseconds. */
const longest = (events: readonly StoredEvent[]): number | null =>
  timedOf(events).reduce<number | null>(
    (most, { event }) => Math.max(most ?? 0, Math.floor(event.duration_ns / 1000) / 1000),
    null,
  )
const least = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : Math.min(a, b))

function average(events: readonly StoredEvent[]): number | null {
  const timed = timedOf(events)
  if (timed.length === 0) return null
  return timed.reduce((sum, { event }) => sum + Math.floor(event.duration_ns / 1000), 0) / timed.length / 1000
}

/** Events by some text, in the order in which the texts come first. */
const by = (events: readonly StoredEvent[], of: (stored: StoredEvent) => string): Map<string, StoredEvent[]> =>
  Map.groupBy(events, of)

const QUARTER_MS = 900_000
const formats = new Map<string, Intl.DateTimeFormat>()
/** The date on the wall in a time zone. */
function dateIn(ms: number, timeZone: string): string {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
  formats.set(timeZone, format)
  return format.format(ms)
}

const midnights = new Map<string, number>()
/** When the day of an instant began: clocks are quarters of an hour apart, so some quarter is the first with its date. */
function dayAt(ms: number, timezone = 'UTC'): number {
  const date = dateIn(ms, timezone)
  const known = midnights.get(`${timezone} ${date}`)
  if (known !== undefined) return known
  let begins = Math.floor(ms / QUARTER_MS) * QUARTER_MS
  while (dateIn(begins - 1, timezone) === date) begins -= QUARTER_MS
  midnights.set(`${timezone} ${date}`, begins)
  return begins
}

/** Days of a window in its time zone, as far as now. */
function daysOf(filters: Filters, events: readonly StoredEvent[]): number[] {
  const { timezone } = filters
  const { start, end } = boundsOf(filters)
  const first = start === Number.NEGATIVE_INFINITY ? Math.min(NOW_MS, ...events.map(timeOf)) : start
  const days: number[] = []
  for (
    let day = dayAt(first, timezone);
    day <= Math.min(end - 1, NOW_MS);
    day = dayAt(day + 26 * 3_600_000, timezone)
  ) {
    days.push(day)
  }
  return days
}

const dayOf = (stored: StoredEvent, timezone?: string): number => dayAt(timeOf(stored), timezone)

function totals(events: readonly StoredEvent[]) {
  return {
    total_calls: events.length,
    total_conversations: distinct(conversationsOf(events)),
    active_users: usersOf(events),
    success_rate: events.length === 0 ? null : 1 - failedOf(events) / events.length,
  }
}

function dashboardOf(filters: Filters) {
  const events = eventsOf(data, filters)
  const daily = (count: (events: StoredEvent[]) => number) =>
    daysOf(filters, events).map(day => ({
      day: iso(day),
      count: count(events.filter(stored => dayOf(stored, filters.timezone) === day)),
    }))
  const { start, end } = boundsOf(filters)
  const length = Math.min(end, NOW_MS) - start
  const before: Filters = { ...filters, from: iso(Math.max(start - length, 0)), to: iso(Math.max(start, 1)) }
  return {
    ...totals(events),
    daily_calls: daily(of => of.length),
    daily_users: daily(usersOf),
    daily_conversations: daily(of => distinct(conversationsOf(of))),
    error_count: failedOf(events),
    avg_latency: average(events),
    p95_latency: percentile(events, 0.95),
    daily_errors: daily(failedOf),
    previous: start === Number.NEGATIVE_INFINITY ? null : totals(eventsOf(data, before)),
    ...spendingOf(events),
  }
}

/** None of these events is a span of a trace, and none has a price. */
function spendingOf(events: readonly StoredEvent[]) {
  const used = events.filter(({ event }) => (event.present & Present.inputTokens) > 0)
  const input_tokens = used.reduce((sum, { event }) => sum + event.input_tokens, 0)
  return { input_tokens, output_tokens: 0, cost: used.length > 0 ? null : 0, unpriced_calls: used.length }
}

const TOOLS = new Set(['tool', 'resource', 'prompt'])

/** Calls of tools; with an agent, those that stand below one of its turns. */
function callsOf({ agent_name, ...filters }: Filters): StoredEvent[] {
  const calls = eventsOf(data, filters).filter(({ event }) => TOOLS.has(event.kind))
  if (agent_name === undefined) return calls
  const { start, end } = boundsOf(filters)
  const near = data.standing.filter(stored => timeOf(stored) >= start - DAY_MS && timeOf(stored) < end)
  const byId = new Map(near.map(stored => [stored.event.event_id, stored.event]))
  return calls.filter(({ event }) => {
    let parent = byId.get(event.parent_id)
    for (let depth = 1; parent !== undefined && depth <= 16; depth++) {
      if (parent.kind === 'agent' && parent.name === agent_name) return true
      parent = byId.get(parent.parent_id)
    }
    return false
  })
}

function toolStatsOf(filters: Filters) {
  const tools = [...by(callsOf(filters), ({ event }) => `${event.name} ${event.kind}`).values()].map(calls => {
    const { name, kind } = (calls[0] as StoredEvent).event
    const errors = failedOf(calls)
    return {
      tool_name: name,
      primitive_type: kind,
      calls: calls.length,
      success_count: calls.length - errors,
      error_count: errors,
      success_rate: (calls.length - errors) / calls.length,
      error_rate: errors / calls.length,
      avg_latency: average(calls),
      p50_latency: least(percentile(calls, 0.5), longest(calls)),
      p95_latency: least(percentile(calls, 0.95), longest(calls)),
      p99_latency: least(percentile(calls, 0.99), longest(calls)),
      max_latency: longest(calls),
      conversations: distinct(conversationsOf(calls)),
      users: usersOf(calls),
      last_called_at: iso(Math.max(...calls.map(timeOf))),
    }
  })
  return tools.sort((a, b) => b.calls - a.calls || order(a.tool_name, b.tool_name) || kindOrder(a) - kindOrder(b))
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
/** Kinds sort as the store numbers them. */
const kindOrder = ({ primitive_type }: { primitive_type: string }): number =>
  ['tool', 'resource', 'prompt'].indexOf(primitive_type)

const masked = ({ event }: StoredEvent): string =>
  (event.error_message || event.output_preview).replaceAll(/[0-9]+/g, '<n>')

/** Failures that say the same, most frequent first. */
function groupsOf(failures: readonly StoredEvent[]) {
  return [...by(failures, stored => JSON.stringify([stored.event.error_type, masked(stored)])).values()]
    .map(group => {
      const latest = group.reduce((a, b) =>
        timeOf(b) > timeOf(a) || (timeOf(b) === timeOf(a) && b.event.event_id > a.event.event_id) ? b : a,
      )
      return {
        error_type: latest.event.error_type,
        message: masked(latest),
        count: group.length,
        people: usersOf(group),
        last_seen_at: iso(timeOf(latest)),
        sample_event_id: latest.event.event_id,
        sample_conversation_id: latest.event.conversation_id,
        sample_session_id: latest.event.session_id || latest.event.conversation_id,
      }
    })
    .sort((a, b) => b.count - a.count || order(a.error_type, b.error_type) || order(a.message, b.message))
}

function toolErrorsOf(filters: Filters) {
  const failures = callsOf(filters).filter(({ event }) => event.failed === 1)
  const tools = [...by(failures, ({ event }) => event.name)].map(([tool_name, group]) => ({
    tool_name,
    error_count: group.length,
    people: usersOf(group),
    share: group.length / failures.length,
    errors: groupsOf(group).slice(0, 10),
  }))
  return {
    total_errors: failures.length,
    tools: tools.sort((a, b) => b.error_count - a.error_count || order(a.tool_name, b.tool_name)),
  }
}

/** `<source> <key> <value>` -> events. */
function metadataOf(filters: Filters): Record<string, number> {
  const counts: Record<string, number> = {}
  const add = (name: string): void => void (counts[name] = (counts[name] ?? 0) + 1)
  for (const { event } of eventsOf(data, filters)) {
    for (const [key, value] of Object.entries(event.metadata)) add(`event_metadata ${key} ${value}`)
    const captured = data.captured.get(event.conversation_id)
    if (captured) add(`user_metadata plan ${captured.plan}`)
  }
  return counts
}

const STOP = new Set(['the', 'of'])

function keywordsOf(filters: Filters) {
  const inputs = eventsOf(data, filters).filter(({ event }) => event.kind === 'agent')
  const terms = new Map<string, StoredEvent[]>()
  for (const stored of inputs) {
    const words = stored.event.input_preview.toLowerCase().match(/\p{L}[\p{L}\p{N}]+/gu) ?? []
    for (const word of new Set(words)) terms.set(word, [...(terms.get(word) ?? []), stored])
  }
  const keywords = [...terms]
    .filter(([term, of]) => term.length >= 3 && !STOP.has(term) && usersOf(of) >= 2)
    .map(([keyword, of]) => ({ keyword, count: of.length, share: of.length / inputs.length }))
  return {
    total_analyzed: inputs.length,
    keywords: keywords.sort((a, b) => b.count - a.count || order(a.keyword, b.keyword)),
  }
}

/** Value of a metric over events. */
const METRICS: Record<string, (events: StoredEvent[]) => number | null> = {
  events: events => events.length,
  errors: failedOf,
  error_rate: events => (events.length === 0 ? null : failedOf(events) / events.length),
  conversations: events => distinct(conversationsOf(events)),
  active_users: usersOf,
  avg_latency: average,
  p95_latency: events => percentile(events, 0.95),
  input_tokens: events => events.reduce((sum, { event }) => sum + event.input_tokens, 0),
}

// ---- the comparison

async function compareFigures(t: Test, filters: Filters): Promise<void> {
  const said = JSON.stringify(filters)
  t.strictSame(await post('dashboard', filters), dashboardOf(filters), `dashboard ${said}`)
  t.strictSame(await post('tool-stats', filters), toolStatsOf(filters), `tool-stats ${said}`)
  t.strictSame(await post('tool-error-distribution', filters), toolErrorsOf(filters), `tool errors ${said}`)
  const failures = eventsOf(data, { ...filters, success: false })
  const { total_errors, groups } = await post('errors/groups', filters)
  t.equal(total_errors, failures.length, `errors/groups ${said}`)
  const shown = groups.map((group: Record<string, unknown>) => {
    const { primitive_names: _names, conversations: _n, first_seen_at: _first, ...shown } = group
    return shown
  })
  t.strictSame(shown, groupsOf(failures), `errors/groups ${said}`)
  const { total_events, keys } = await post('metadata-distribution', filters)
  t.equal(total_events, eventsOf(data, filters).length)
  const counts: Record<string, number> = {}
  for (const { key, source, values } of keys) {
    for (const { value, count } of values) counts[`${source} ${key} ${value}`] = count
  }
  t.strictSame(counts, metadataOf(filters), `metadata ${said}`)
  const words = await post('intent-keywords', filters)
  const keywords = words.keywords.map(({ keyword, count, share }: Record<string, unknown>) => ({
    keyword,
    count,
    share,
  }))
  t.strictSame({ total_analyzed: words.total_analyzed, keywords }, keywordsOf(filters), `keywords ${said}`)
}

async function compareSeries(t: Test, filters: Filters): Promise<void> {
  const said = JSON.stringify(filters)
  const { series, bucket_seconds } = await post('tool-time-series', filters)
  const calls = callsOf(filters)
  for (const { tool_name, points } of series) {
    const own = calls.filter(({ event }) => event.name === tool_name)
    const sum = points.reduce((total: number, point: { calls: number }) => total + point.calls, 0)
    t.equal(sum, own.length, `points of ${tool_name} ${said}`)
    const expected = points.map(({ timestamp }: { timestamp: string }) => {
      const from = Date.parse(timestamp)
      const inside = own.filter(stored => timeOf(stored) >= from && timeOf(stored) < from + bucket_seconds * 1000)
      return {
        timestamp,
        calls: inside.length,
        errors: failedOf(inside),
        avg_latency: average(inside),
        p95_latency: percentile(inside, 0.95),
      }
    })
    t.strictSame(points, expected, `${tool_name} ${said}`)
  }
  const metric = dice.pick(Object.keys(METRICS))
  const chart = await post('charts/query', { metric, group_by: 'agent_name', filters })
  const turns = eventsOf(data, filters).filter(({ event }) => event.kind === 'agent')
  const value = METRICS[metric] as (events: StoredEvent[]) => number | null
  t.equal(chart.series.length, distinct(turns.map(({ event }) => event.name)))
  for (const { group, total, points } of chart.series) {
    const own = turns.filter(({ event }) => event.name === group)
    t.equal(total, value(own), `${metric} of ${group} ${said}`)
    const expected = points.map(({ timestamp }: { timestamp: string }) => {
      const from = Date.parse(timestamp)
      const to = from + chart.bucket_seconds * 1000
      return { timestamp, value: value(own.filter(stored => timeOf(stored) >= from && timeOf(stored) < to)) }
    })
    t.strictSame(points, expected, `${metric} of ${group} ${said}`)
  }
}

/** Keys of the last 30 days, in which all data are. */
async function compareKeys(t: Test): Promise<void> {
  const { body } = await node.ask('GET', '/dashboard/api/organization/event-keys', { headers })
  const expected = ['event_type', 'plan', 'weight'].map(key => {
    const values = data.standing.flatMap(({ event }) => event.metadata[key] ?? [])
    return {
      key,
      type: key === 'event_type' ? 'text' : 'mixed',
      count: values.length,
      distinct_values: distinct(values),
    }
  })
  t.strictSame(
    body.available,
    expected.sort((a, b) => b.count - a.count || order(a.key, b.key)),
  )
}

async function compare(t: Test): Promise<void> {
  await compareKeys(t)
  for (let round = 0; round < ROUNDS; round++) {
    const { success: _ofLogs, ...filters } = randomFilters(dice)
    await compareFigures(t, filters)
    await compareSeries(t, filters)
  }
}

t.test(`figures equal a recount while corrections are unmerged (seed ${SEED})`, compare)

t.test('and when they are merged', async t => {
  await foldEvents(node.db.store)
  await compare(t)
})
