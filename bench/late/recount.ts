// The sums that dashboards read (from projections) against a recount of the rows, of one and the same state of the table: all parts of
// one statement read one snapshot (enable_shared_storage_snapshot_in_query).
import type { Store } from '#store/client.ts'

/** A sum that is not what the rows say. */
export interface Wrong {
  readonly what: string
  readonly is: number
  readonly counted: number
}

/** What stood in the table at one moment. */
export interface Recounted {
  readonly rows: number
  readonly conversations: number
  readonly users: number
  readonly wrong: readonly Wrong[]
}

const SETTINGS = { enable_shared_storage_snapshot_in_query: 1, max_execution_time: 120 } as const
const RAW = 'SETTINGS optimize_use_projections = 0'
const PROJECTED = 'SETTINGS force_optimize_projection = 1'
const DURATION = 'sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0))'
const SUMS = `sum(sign) AS n, sum(sign * failed) AS failures, ${DURATION} AS micros`

const grouped = (keys: string): string => `SELECT tuple(sum(n), sum(failures), sum(micros)) FROM
  (SELECT ${SUMS} FROM events GROUP BY ${keys}) ${PROJECTED}`
const distinct = (keys: string, of: string, settings: string): string => `SELECT uniqExact(${of}) FROM
  (SELECT ${of} FROM events GROUP BY ${keys} HAVING sum(sign) != 0) ${settings}`

const QUARTERS = 'organization, toStartOfInterval(ts, INTERVAL 15 MINUTE), kind, source'
const BY_CONVERSATION = 'organization, conversation_id, user_id'
const BY_DAY = 'organization, toDate(ts), conversation_id'
const BY_USER = 'organization, toDate(ts), user_id'

const SQL = `SELECT
  (SELECT tuple(sum(sign), sum(sign * failed), ${DURATION}) FROM events ${RAW}) AS counted,
  (${grouped(QUARTERS)}) AS quarters,
  (${grouped(BY_CONVERSATION)}) AS by_conversation,
  (${grouped(BY_DAY)}) AS by_day,
  (SELECT sum(n) FROM (SELECT sum(sign) AS n FROM events GROUP BY ${BY_USER}) ${PROJECTED}) AS by_user,
  (${distinct('conversation_id', 'conversation_id', RAW)}) AS conversations,
  (${distinct('organization, conversation_id', 'conversation_id', PROJECTED)}) AS listed_conversations,
  (${distinct('user_id', 'user_id', RAW)}) AS users,
  (${distinct('organization, user_id', 'user_id', PROJECTED)}) AS listed_users`

type Answer = Record<'counted' | 'quarters' | 'by_conversation' | 'by_day', readonly string[]> &
  Record<'by_user' | 'conversations' | 'listed_conversations' | 'users' | 'listed_users', string>

/** What stands in the table, and which sums differ from it. @throws when the store is away. */
export async function recount(store: Store): Promise<Recounted> {
  const [found] = await store.read<Answer>(SQL, { settings: SETTINGS })
  const a = found as Answer
  const pairs: (readonly [string, string, string])[] = (['quarters', 'by_conversation', 'by_day'] as const).flatMap(
    view =>
      ['rows', 'failures', 'microseconds'].map(
        (what, i) => [`${what}, ${view}`, a[view][i] as string, a.counted[i] as string] as const,
      ),
  )
  pairs.push(['rows, by_user', a.by_user, a.counted[0] as string])
  pairs.push(['conversations', a.listed_conversations, a.conversations])
  pairs.push(['users', a.listed_users, a.users])
  const all = pairs.map(([what, is, counted]) => ({ what, is: Number(is), counted: Number(counted) }))
  return {
    rows: Number(a.counted[0]),
    conversations: Number(a.conversations),
    users: Number(a.users),
    wrong: all.filter(({ is, counted }) => is !== counted),
  }
}

/** Events that count other than once, or in several conversations: reads every row, for the end of a run. @throws when the store is away. */
export async function oddEvents(store: Store): Promise<Wrong> {
  const [row] = await store.read<{ n: string }>(
    `SELECT count() AS n FROM
       (SELECT sum(s) AS total, countIf(s != 0) AS homes, countIf(s NOT IN (0, 1)) AS odd FROM
         (SELECT event_id, sum(sign) AS s FROM events GROUP BY event_id, conversation_id)
       GROUP BY event_id HAVING total != 1 OR homes != 1 OR odd != 0) ${RAW}`,
    { settings: SETTINGS },
  )
  return { what: 'events that count other than once', is: Number(row?.n), counted: 0 }
}
