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
  readonly wrong: readonly Wrong[]
}

/** What is watched comes first: two cores have to do both, and a recount may take what they leave. */
const SETTINGS = {
  enable_shared_storage_snapshot_in_query: 1,
  max_execution_time: 120,
  os_threads_nice_value_query: 5,
} as const
const RAW = 'SETTINGS optimize_use_projections = 0'
/** Answered by the projection of this name where parts have it, by the rows of those that have not been merged yet. */
const by = (projection: string): string => `SETTINGS preferred_optimize_projection_name = '${projection}'`
const SUMS =
  'sum(sign) AS n, sum(sign * failed) AS failures, sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0)) AS micros'

// A recount must not cost more than what it watches: rows are read twice, a projection once, and no group has more keys than it needs.
const whole = (settings: string): string =>
  `SELECT tuple(n, failures, micros) FROM (SELECT ${SUMS} FROM events) ${settings}`
const conversations = (settings: string): string =>
  `SELECT tuple(sum(n), sum(failures), sum(micros), countIf(n != 0)) FROM (SELECT ${SUMS} FROM events GROUP BY conversation_id) ${settings}`
const users = (settings: string): string =>
  `SELECT tuple(sum(n), countIf(n != 0)) FROM (SELECT sum(sign) AS n FROM events GROUP BY user_id) ${settings}`

// Each part is a scalar subquery: only there are settings of its own heeded.
const SQL = `SELECT
  (${conversations(RAW)}) AS counted,
  (${users(RAW)}) AS counted_users,
  (${conversations(by('conversations_daily'))}) AS conversations_daily,
  (${whole(by('metrics_15m'))}) AS metrics_15m,
  (${users(by('users'))}) AS users`

/** What the places of each view's tuple mean. */
const PLACES = {
  conversations_daily: ['rows', 'failures', 'microseconds', 'conversations'],
  metrics_15m: ['rows', 'failures', 'microseconds'],
  users: ['rows', 'users'],
} as const
type View = keyof typeof PLACES
type Answer = Readonly<Record<View | 'counted' | 'counted_users', readonly string[]>>

/** What stands in the table, and which sums differ from it. @throws when the store is away. */
export async function recount(store: Store): Promise<Recounted> {
  const [found] = await store.read<Answer>(SQL, { settings: SETTINGS })
  const answer = found as Answer
  const counted = new Map<string, number>(
    PLACES.conversations_daily.map((what, place) => [what, Number(answer.counted[place])]),
  )
  counted.set('users', Number(answer.counted_users[1]))
  const sums = (Object.keys(PLACES) as View[]).flatMap(view =>
    PLACES[view].map((what, place) => ({
      what: `${what}, ${view}`,
      is: Number(answer[view][place]),
      counted: counted.get(what) as number,
    })),
  )
  return { rows: counted.get('rows') as number, wrong: sums.filter(sum => sum.is !== sum.counted) }
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
