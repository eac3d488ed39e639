// GET /dashboard/api/organization/summary: who the organization is, whether anything was ever captured, and from when to when.
import { OrganizationSummary } from '#proto/dashboard/organization.ts'
import { isoTime } from '../../answers.ts'
import { endpoint } from '../../endpoint.ts'
import type { Reader } from '../../reader.ts'
import { answeredBy, OURS, sqlTime } from '../../reads/sql.ts'

const BUCKET = 'toStartOfInterval(ts, INTERVAL 15 MINUTE)'

/** From the aggregate by 15 minutes alone: a few rows an hour, however many events there are. */
export const EXTENT_SQL = `
  SELECT min(bucket) AS first, max(bucket) AS last
  FROM (
    SELECT ${BUCKET} AS bucket
    FROM events
    WHERE ${OURS}
    GROUP BY bucket
    HAVING sum(sign) > 0
    ${answeredBy('metrics_15m')}
  )
  HAVING count() > 0`

const EDGES_SQL = `
  SELECT min(ts) AS first, max(ts) AS last
  FROM events FINAL
  PREWHERE ${OURS}
    AND toStartOfHour(ts) IN (toStartOfHour({first:DateTime64(9, 'UTC')}), toStartOfHour({last:DateTime64(9, 'UTC')}))
    AND ((ts >= {first:DateTime64(9, 'UTC')} AND ts < {first:DateTime64(9, 'UTC')} + INTERVAL 15 MINUTE)
      OR (ts >= {last:DateTime64(9, 'UTC')} AND ts < {last:DateTime64(9, 'UTC')} + INTERVAL 15 MINUTE))
  HAVING count() > 0`

export const organizationSummary = endpoint({
  method: 'GET',
  path: '/dashboard/api/organization/summary',
  auth: 'any',
  tellsUnknown: true,
  about: 'Id and name of the organization, whether it has any data, and the times of its first and last event.',
  response: OrganizationSummary,
  work: async ({ organization: { id, name }, reader }) => {
    const extent = await readExtent(reader)
    const first_event_at = extent && isoTime(extent.first)
    const last_event_at = extent && isoTime(extent.last)
    return { id, name, has_data: extent !== null, first_event_at, last_event_at }
  },
})

/** Times cannot be reversed, so the rows of the first and the last quarter of an hour with events are folded. */
async function readExtent(reader: Reader): Promise<{ first: string; last: string } | null> {
  type Extent = { first: string; last: string }
  const [buckets] = await reader.read<Extent>('extent', EXTENT_SQL)
  if (buckets === undefined) return null
  const bounds = { first: sqlTime(buckets.first), last: sqlTime(buckets.last) }
  const [edges] = await reader.read<Extent>('extent_edges', EDGES_SQL, bounds)
  return edges ?? null
}
