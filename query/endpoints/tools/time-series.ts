// POST /dashboard/api/tool-time-series: calls, failures and latencies of the most used tools over time; all others together.
import { QueryFilters } from '#proto/dashboard/shared.ts'
import { ToolTimeSeriesResponse } from '#proto/dashboard/tools.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import { averageMs, bucketMs } from '../../latency.ts'
import { readFirstDay } from '../../reads/first-day.ts'
import type { AskedTools, ToolPoint } from '../../reads/tools.ts'
import { readToolFigures, readToolPoints, topNames } from '../../reads/tools.ts'
import { fillSeries, seriesOf } from '../../series.ts'
import { isLong } from '../../window.ts'
import { askedTools } from './filters.ts'

export const toolTimeSeries = endpoint({
  method: 'POST',
  path: '/dashboard/api/tool-time-series',
  auth: 'any',
  about: 'Calls, failures and latencies of the most used tools over time; all others are the series `other`.',
  request: QueryFilters,
  response: ToolTimeSeriesResponse,
  work: (call, request) => readToolSeries(call, askedTools(call, request)),
})

/** The body of the endpoint. */
export async function readToolSeries(call: Call, asked: AskedTools): Promise<ToolTimeSeriesResponse> {
  const { reader, nowMs } = call
  const { window } = asked
  const [tools, firstMs] = await Promise.all([
    readToolFigures(reader, asked),
    isLong(window, nowMs) ? readFirstDay(reader) : null,
  ])
  const series = seriesOf(window, nowMs, firstMs)
  const top = topNames(tools)
  const points = await readToolPoints(reader, asked, series, top)
  const byTool = Map.groupBy(points, point => point.name)
  const names = byTool.has('') && !top.includes('') ? [...top, ''] : top
  return {
    bucket_seconds: series.seconds,
    series: names.map(name => ({
      tool_name: top.includes(name) ? name : 'other',
      points: fillSeries(
        series,
        new Map((byTool.get(name) ?? []).map(point => [point.bucket, point])),
        window.timezone,
        seriesPoint,
      ),
    })),
  }
}

function seriesPoint(timestamp: string, point: ToolPoint | undefined) {
  if (point === undefined) return { timestamp, calls: 0, errors: 0, avg_latency: null, p95_latency: null }
  const { calls, errors, us, timed, p95 } = point
  return {
    timestamp,
    calls,
    errors,
    avg_latency: averageMs(us, timed),
    p95_latency: timed === '0' ? null : bucketMs(p95),
  }
}
