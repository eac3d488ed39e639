// Answers of the dashboard's endpoints against what the oracle counts of the rows that are there.
import { Present } from '#proto/rows.ts'
import type { Store } from '#store/client.ts'
import type { Oracle, Space } from './oracle.ts'
import type { Check } from './target.ts'
import { insist } from './wait.ts'

/** Where to ask. */
interface Asked {
  readonly store: Store
  readonly queryUrl: string
  readonly organization: string
  readonly apiKey: string
  /** By what number the oracle knows its things. */
  readonly owner: number
}

/** Conversations that are asked for one by one. */
const SAMPLE = 8
const ALL_TIME = { time_range: 'all' } as const

type Json = Readonly<Record<string, unknown>>

/** Every endpoint with a total, compared for one organization. */
export async function endpointChecks(oracle: Oracle, asked: Asked): Promise<Check[]> {
  // The node may have been the last to be killed, and a busy one may say no.
  const post = <T>(path: string, body: object): Promise<T> =>
    insist(path, async () => {
      const answer = await fetch(`${asked.queryUrl}/dashboard/api/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': asked.apiKey },
        body: JSON.stringify({ ...ALL_TIME, ...body }),
      })
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
      return (await answer.json()) as T
    })
  const { owner } = asked
  const events = sum(oracle.surfaces, space => storedRows(space, owner))
  const conversations = conversationsOf(oracle, owner)
  const rows = await rowsOf(asked)
  const checks: Check[] = []
  const equal = (what: string, is: unknown, should: unknown): void => {
    checks.push({
      what,
      right: JSON.stringify(is) === JSON.stringify(should),
      detail: `${JSON.stringify(is)}${is === should ? '' : `, counted ${JSON.stringify(should)}`}`,
    })
  }
  equal('rows of events', rows.events, events)
  equal('conversations of rows', rows.conversations, conversations)

  type Metrics = {
    total_calls: number
    total_conversations: number
    active_users: number
    error_count: number
    daily_calls: { count: number }[]
  }
  const metrics = await post<Metrics>('dashboard', {})
  equal('dashboard: calls', metrics.total_calls, events)
  equal('dashboard: conversations', metrics.total_conversations, conversations)
  equal('dashboard: failures', metrics.error_count, rows.failed)
  equal(
    'dashboard: calls by day',
    sum(metrics.daily_calls, day => day.count),
    events,
  )
  equal('raw-logs/count', (await post<Json>('raw-logs/count', {})).total_count, events)
  const unsuccessful = (await post<Json>('raw-logs/count', { success: false })).total_count
  equal('raw-logs/count: failures, and what passed one on', unsuccessful, rows.failed + rows.carried)
  const tools = await post<{ tools?: ToolStat[] } | ToolStat[]>('tool-stats', {})
  const stats = Array.isArray(tools) ? tools : (tools.tools ?? [])
  equal(
    'tool-stats: calls',
    sum(stats, tool => tool.calls),
    rows.tools,
  )
  equal(
    'tool-stats: failures',
    sum(stats, tool => tool.error_count),
    rows.failedTools,
  )
  type Summary = { metrics: Metrics; partial_data: boolean }
  const summary = await post<Summary>('command-center-summary', {})
  equal('command-center-summary: calls', summary.metrics.total_calls, events)
  equal('metadata-distribution', (await post<Json>('metadata-distribution', {})).total_events, events)
  equal('active users', [metrics.active_users, summary.metrics.active_users], [rows.users, rows.users])
  await conversationChecks(asked, post, checks)
  return checks
}

interface ToolStat {
  readonly calls: number
  readonly error_count: number
}

/** A sample of conversations, each through the two ways in which a page shows it. */
async function conversationChecks(
  { store, organization }: Asked,
  post: <T>(path: string, body: object) => Promise<T>,
  checks: Check[],
): Promise<void> {
  const sample = await store.read<{ id: string; n: number }>(
    `SELECT conversation_id AS id, toInt32(sum(sign)) AS n FROM events WHERE organization = {organization:UUID}
     GROUP BY id HAVING n != 0 ORDER BY cityHash64(id) LIMIT ${SAMPLE}`,
    { parameters: { organization }, settings: { optimize_use_projections: 0 } },
  )
  let stories = 0
  let messages = 0
  for (const { id, n } of sample) {
    const search = { search_field: 'conversation_id', search_value: id, exclude_io: true }
    const page = await post<{ conversations: { conversation_id: string; message_count: number }[] }>(
      'user-stories',
      search,
    )
    if (page.conversations.length === 1 && page.conversations[0]?.message_count === n) stories++
    const detail = await post<{ spans: unknown[] }>('conversation-spans', { conversation_id: id })
    if (detail.spans.length === n) messages++
  }
  const all = sample.length
  checks.push({ what: 'user-stories of a sample', right: stories === all && all > 0, detail: `${stories} of ${all}` })
  checks.push({ what: 'conversation-spans of a sample', right: messages === all, detail: `${messages} of ${all}` })
}

/** Sums of the rows, read without projections. A user stands with the event, or with the capture that came after it. */
async function rowsOf({ store, organization }: Asked) {
  const [found] = await store.read<Record<string, string>>(
    `SELECT sum(n) AS events, sum(f) AS failed, sum(c) AS carried, sum(t) AS tools, sum(ft) AS failedTools, uniqExact(conversation_id) AS conversations,
       uniqExactIf(if(user_id != '', user_id, captured), user_id != '' OR captured != '') AS users
     FROM (
       SELECT conversation_id, user_id, sum(sign) AS n, sum(sign * failed) AS f, sum(sign * (failed = 0 AND bitAnd(present, ${Present.carried}) > 0)) AS c,
         sum(sign * (kind IN ('tool', 'resource', 'prompt'))) AS t, sum(sign * failed * (kind IN ('tool', 'resource', 'prompt'))) AS ft
       FROM events WHERE organization = {organization:UUID} GROUP BY conversation_id, user_id HAVING n != 0
     ) AS counted
     LEFT JOIN (
       SELECT conversation_id, max(user_id) AS captured FROM sessions WHERE organization = {organization:UUID} GROUP BY conversation_id
     ) AS captures USING (conversation_id)`,
    { parameters: { organization }, settings: { optimize_use_projections: 0 } },
  )
  const number = (name: string): number => Number(found?.[name] ?? 0)
  return {
    events: number('events'),
    failed: number('failed'),
    carried: number('carried'),
    tools: number('tools'),
    failedTools: number('failedTools'),
    conversations: number('conversations'),
    users: number('users'),
  }
}

function storedRows(space: Space, owner: number): number {
  let rows = 0
  for (let n = 0; n < space.size; n++) if (space.owner(n) === owner) rows += space.stored(n)
  return rows
}

/** Conversations that have at least one event: those of the SDK by session, traces, calls. */
function conversationsOf({ events, minted, spansJson, spansProtobuf, calls }: Oracle, owner: number): number {
  const there = (space: Space, n: number): boolean => space.owner(n) === owner && space.stored(n) > 0
  const seen = (spaces: readonly Space[]): number => {
    const groups = new Set<number>()
    for (const space of spaces) for (let n = 0; n < space.size; n++) if (there(space, n)) groups.add(space.group(n))
    return groups.size
  }
  let ofCalls = 0
  for (let n = 0; n < calls.size; n++) if (there(calls, n)) ofCalls++
  return seen([events, minted]) + seen([spansJson, spansProtobuf]) + ofCalls
}

const sum = <T>(of: readonly T[], value: (one: T) => number): number => of.reduce((total, one) => total + value(one), 0)
