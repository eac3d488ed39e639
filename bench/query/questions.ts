// What is asked: every endpoint of the dashboard that reads the store, over the windows that people look at, with the aims it is held to.
import type { Store } from '#store/client.ts'

/** One request, without its window. */
export interface Question {
  readonly name: string
  readonly method?: 'GET'
  readonly path: string
  readonly body?: Readonly<Record<string, unknown>>
  /** What p95 shall not exceed on a quiet machine, warm, in milliseconds. */
  readonly aimMs?: number
  /** Its window; left out: the question has none. */
  readonly range?: Range
  /** How much earlier than the window of others its own begins. */
  readonly earlierMs?: number
  /** What others ask for by the same question, where that is no page or window. */
  readonly others?: readonly Question['body'][]
  /** Asks for texts, which only some stores have. */
  readonly texts?: true
  /** Says how much rows there are as of now, so that a second answer may differ: compared by status only. */
  readonly moving?: true
}

export type Range = '1d' | '1w' | '1m' | 'all'
const DAYS: Readonly<Record<Exclude<Range, 'all'>, number>> = { '1d': 1, '1w': 7, '1m': 30 }
const DAY_MS = 86_400_000

/** What some questions look for. */
export interface Found {
  readonly event: string
  /** Of some 200 events. */
  readonly long: string
  readonly user: string
  /** The same of others, for questions that nobody asked before. */
  readonly others: Readonly<Record<'events' | 'longs' | 'users', readonly string[]>>
}

/** Others of each that are found. */
const OTHERS = 40

/** Finds it in a store. */
export async function findSubjects(store: Store, organization: string): Promise<Found> {
  const [long, ...longs] = await store.read<{ conversation_id: string }>(
    `SELECT conversation_id FROM events WHERE organization = {organization:UUID}
     GROUP BY conversation_id ORDER BY abs(sum(sign) - 200) LIMIT ${OTHERS + 1}`,
    { parameters: { organization } },
  )
  const [event, ...events] = await store.read<{ event_id: string; user_id: string }>(
    `SELECT event_id, user_id FROM events WHERE organization = {organization:UUID} AND user_id != ''
     AND ts > (SELECT max(ts) FROM events WHERE organization = {organization:UUID}) - INTERVAL 40 DAY LIMIT 1 BY user_id LIMIT ${OTHERS + 1}`,
    { parameters: { organization } },
  )
  if (long === undefined || event === undefined) throw new Error('the store has no events of the organization')
  return {
    ...{ event: event.event_id, user: event.user_id, long: long.conversation_id },
    others: {
      events: events.map(other => other.event_id),
      longs: longs.map(other => other.conversation_id),
      users: events.map(other => other.user_id),
    },
  }
}

const over = (
  ranges: readonly Range[],
  question: Omit<Question, 'range'>,
  aims: Partial<Record<Range, number>> = {},
): Question[] =>
  ranges.map(range => ({
    ...question,
    ...(aims[range] === undefined ? {} : { aimMs: aims[range] }),
    range,
    name: `${question.name}, ${range}`,
  }))

const API = '/dashboard/api'
const AIMS = { '1w': 100, '1m': 100, all: 300 }
const FILTERED = { '1w': 500, '1m': 500 }
const WINDOWS: readonly Range[] = ['1w', '1m', 'all']

/** What is looked for in texts. Numbers are pieces of ids as well; of words, the world's few hundred stand in thousands of texts each. */
const SEARCHES: readonly (readonly [string, string, object?])[] = [
  ['a word everywhere', 'courier'],
  ['a piece of a word', 'ourie'],
  ['three letters', 'cou'],
  ['two words', 'courier invoice'],
  ['an absent word', 'zebrafish'],
  ['a rare number', '73511'],
  ['a name', 'find_order'],
  ['a word, one agent that failed', 'courier', { agent_name: 'planner', success: false }],
]

function searchesOf(grouped: object): Question[] {
  const options = `${API}/user-stories/search-options`
  return [
    ...SEARCHES.flatMap(([name, search_query, more]) =>
      over(
        ['1m', 'all'],
        { name: `search: ${name}`, path: `${API}/raw-logs`, body: { search_query, ...more }, texts: true },
        { '1m': 2_000, all: 2_000 },
      ),
    ),
    ...over(['1m', 'all'], { name: 'options of an identifier', path: options, body: { search: 'user-1' } }),
    ...over(['1m'], { name: 'options of a group', path: options, body: { search: 'c1', ...grouped } }),
  ]
}

function toolsOf(filter: Readonly<Record<string, unknown>>): Question[] {
  return [
    ...over(WINDOWS, { name: 'tool stats', path: `${API}/tool-stats`, body: {} }, AIMS),
    ...over(['1w', '1m'], { name: 'tool stats, one filter', path: `${API}/tool-stats`, body: filter }, FILTERED),
    ...over(['1m'], { name: 'tools over time', path: `${API}/tool-time-series`, body: {} }),
    ...over(['1m'], { name: 'errors of tools', path: `${API}/tool-error-distribution`, body: {} }),
    ...over(['1m'], { name: 'checkpoints of tools', path: `${API}/tool-checkpoint-stats`, body: {} }),
    ...over(['1m'], { name: 'page of tools', path: `${API}/tools-dashboard`, body: {} }),
  ]
}

const ofOthers = (key: string, others: readonly string[]) => others.map(other => ({ [key]: other }))

function lookUpsOf(found: Found): Question[] {
  const events = ofOthers('event_id', found.others.events)
  const conversations = ofOthers('conversation_id', found.others.longs)
  return [
    {
      name: 'an event by its id',
      path: `${API}/raw-logs`,
      range: 'all',
      body: { event_id: found.event },
      others: events,
      aimMs: 50,
    },
    {
      name: 'texts of an event',
      path: `${API}/event-io`,
      body: { event_id: found.event },
      others: events,
      aimMs: 50,
      texts: true,
    },
    {
      name: 'a conversation of 200 messages',
      path: `${API}/conversation-messages`,
      body: { conversation_id: found.long },
      others: conversations,
      aimMs: 60,
    },
    {
      name: 'spans of a conversation',
      path: `${API}/conversation-spans`,
      body: { conversation_id: found.long },
      others: conversations,
    },
    {
      name: 'a conversation',
      path: `${API}/conversation-detail`,
      body: { conversation_id: found.long },
      others: conversations,
      aimMs: 50,
    },
  ]
}

/** All questions. */
export function questionsOf(found: Found): Question[] {
  const filter = { metadata_filters: [{ key: 'plan', value: 'pro' }] }
  const captured = { metadata_filters: [{ key: 'region', value: 'eu' }] }
  const both = { metadata_filters: [...filter.metadata_filters, ...captured.metadata_filters] }
  const grouped = { group_by: { source: 'conversation_metadata', key: 'campaign' } }
  return [
    ...over(WINDOWS, { name: 'user stories', path: `${API}/user-stories`, body: {} }, AIMS),
    ...over(WINDOWS, { name: 'user stories, grouped', path: `${API}/user-stories`, body: grouped }, AIMS),
    ...over(['1w', '1m'], { name: 'user stories, one filter', path: `${API}/user-stories`, body: filter }, FILTERED),
    ...over(['1m'], {
      name: 'user stories, grouped, one filter',
      path: `${API}/user-stories`,
      body: { ...grouped, ...filter },
    }),
    {
      name: 'user stories of a user',
      path: `${API}/user-stories`,
      range: 'all',
      body: { search_field: 'user_id', search_value: found.user },
      others: ofOthers('search_value', found.others.users),
    },
    ...over(WINDOWS, { name: 'command center', path: `${API}/command-center-summary`, body: {} }, AIMS),
    ...over(
      ['1w', '1m'],
      { name: 'command center, one filter', path: `${API}/command-center-summary`, body: filter },
      FILTERED,
    ),
    ...over(WINDOWS, { name: 'metrics', path: `${API}/dashboard`, body: {} }, AIMS),
    ...over(['1w', '1m'], { name: 'metrics, one filter', path: `${API}/dashboard`, body: filter }, FILTERED),
    // Captures alone say this key, which finds as many conversations.
    ...over(['1m'], { name: 'metrics, one filter of captures', path: `${API}/dashboard`, body: captured }),
    ...over(['1m'], { name: 'metrics, two filters', path: `${API}/dashboard`, body: both }),
    ...toolsOf(filter),
    ...over(['1w', '1m'], { name: 'errors', path: `${API}/errors`, body: {} }),
    ...over(['1w', '1m'], { name: 'groups of errors', path: `${API}/errors/groups`, body: {} }),
    ...over(
      ['1d', '1m', 'all'],
      { name: 'raw logs', path: `${API}/raw-logs`, body: {} },
      { '1d': 50, '1m': 50, all: 50 },
    ),
    ...over(['1m'], { name: 'raw logs, one filter', path: `${API}/raw-logs`, body: filter }, { '1m': 500 }),
    ...over(['1m', 'all'], { name: 'count of raw logs', path: `${API}/raw-logs/count`, body: {} }),
    ...lookUpsOf(found),
    ...over(['1w'], { name: 'distribution of metadata', path: `${API}/metadata-distribution`, body: {} }),
    ...over(['1m'], {
      name: 'a chart',
      path: `${API}/charts/query`,
      body: { metric: 'active_users', group_by: 'agent_name' },
    }),
    ...over(['1w'], { name: 'words of inputs', path: `${API}/intent-keywords`, body: {}, texts: true }),
    ...searchesOf(grouped),
    { name: 'keys of metadata', method: 'GET', path: `${API}/organization/event-keys`, moving: true },
    { name: 'summary of the organization', method: 'GET', path: `${API}/organization/summary`, moving: true },
  ]
}

const PAGED: ReadonlySet<string> = new Set(
  ['user-stories', 'command-center-summary', 'raw-logs', 'errors'].map(name => `${API}/${name}`),
)
/** Windows begin in other minutes. */
const EARLIER_MS = 61_000

/** The same question as nobody asked it before: about something else, or of the next page and a window that begins earlier. */
export function askedAnew(question: Question, nth: number): Question {
  const { body, others, path, earlierMs = 0 } = question
  if (others !== undefined) return { ...question, body: { ...body, ...others[nth % others.length] } }
  const page = PAGED.has(path) ? { page: nth + 2 } : {}
  return { ...question, body: { ...body, ...page }, earlierMs: earlierMs + (nth + 1) * EARLIER_MS }
}

/** The body of a request; `to` undefined asks for a window that does not end, as pages do. */
export function bodyOf({ path, body, range, earlierMs = 0 }: Question, endMs: number, to?: number): object {
  const window = {
    ...(range === undefined || range === 'all'
      ? { time_range: 'all' }
      : { from: new Date(endMs - DAYS[range] * DAY_MS - earlierMs).toISOString() }),
    ...(to === undefined ? {} : { to: new Date(to).toISOString() }),
  }
  if (range === undefined) return { ...body }
  return path.endsWith('/charts/query') ? { ...body, filters: window } : { ...body, ...window }
}
