// POST /dashboard/api/charts/query: a metric over time, by group; what a chart shows, saved or not.
import type { ChartSeries } from '#proto/dashboard/charts.ts'
import { CHART_GROUPS, ChartQuery, ChartSeries as Shape } from '#proto/dashboard/charts.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import { eventConditions } from '../../filters.ts'
import { bucketMs } from '../../latency.ts'
import type { ChartPoint } from '../../reads/chart-points.ts'
import { readChart } from '../../reads/chart-points.ts'
import { readFirstDay } from '../../reads/first-day.ts'
import { fillSeries, seriesOf } from '../../series.ts'
import { isLong, windowOf } from '../../window.ts'

export const chartsQuery = endpoint({
  method: 'POST',
  path: '/dashboard/api/charts/query',
  auth: 'any',
  about: 'A metric over time, by group: the groups with most events.',
  request: ChartQuery,
  response: Shape,
  work: readChartSeries,
})

/** Metrics that are 0 where nothing happened; the others are unknown there. */
const ADDITIVE = new Set([
  'events',
  'errors',
  'conversations',
  'active_users',
  'cost',
  'input_tokens',
  'output_tokens',
  'intent_count',
  'violation_count',
])

async function readChartSeries(call: Call, request: ChartQuery): Promise<ChartSeries> {
  const { metric, filters, group_by = null } = request
  const window = windowOf(filters, call.nowMs)
  const firstMs = isLong(window, call.nowMs) ? await readFirstDay(call.reader) : null
  const series = seriesOf(window, call.nowMs, firstMs)
  const points = await readChart(call.reader, {
    metric,
    group: group_by,
    bucket: series.sql,
    conditions: eventConditions(filters),
    parameters: { ...window.parameters, ...(window.timezone === 'UTC' ? {} : { timezone: window.timezone }) },
  })
  const nothing = ADDITIVE.has(metric) ? 0 : null
  const valueOf = (point: ChartPoint | undefined): number | null => {
    if (point === undefined) return nothing
    return metric === 'p95_latency' ? bucketMs(point.value) : point.value
  }
  const totals = points.filter(point => point.whole === 1).slice(0, CHART_GROUPS)
  // Without groups there is one series, also where nothing was found.
  const shown = group_by === null ? [totals[0]] : totals
  return {
    metric,
    group_by,
    bucket_seconds: series.seconds,
    series: shown.map(total => {
      const own = points.filter(point => point.whole === 0 && point.group === total?.group)
      const found = new Map(own.map(point => [point.bucket, point]))
      return {
        group: group_by === null ? null : (total?.group ?? ''),
        total: valueOf(total),
        points: fillSeries(series, found, window.timezone, (timestamp, point) => ({
          timestamp,
          value: valueOf(point),
        })),
      }
    }),
  }
}
