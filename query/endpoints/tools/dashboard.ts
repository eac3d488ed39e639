// POST /dashboard/api/tools-dashboard: statistics, series and saved charts in one call.
import { QueryFilters } from '#proto/dashboard/shared.ts'
import type { ToolTimeSeriesResponse } from '#proto/dashboard/tools.ts'
import { ToolsDashboardResponse } from '#proto/dashboard/tools.ts'
import { endpoint } from '../../endpoint.ts'
import { createMissing } from '../../missing.ts'
import { readCharts } from '../charts/saved.ts'
import { askedTools } from './filters.ts'
import { readToolStats } from './stats.ts'
import { readToolSeries } from './time-series.ts'

export const toolsDashboard = endpoint({
  method: 'POST',
  path: '/dashboard/api/tools-dashboard',
  auth: 'any',
  about: 'The bodies of tool-stats and tool-time-series, and the saved charts; what fails is left out.',
  request: QueryFilters,
  response: ToolsDashboardResponse,
  work: async (call, request) => {
    const asked = askedTools(call, request)
    const missing = createMissing(call)
    const nothing: ToolTimeSeriesResponse = { bucket_seconds: 0, series: [] }
    const [tool_stats, time_series, charts] = await Promise.all([
      missing.orElse(readToolStats(call, asked), []),
      missing.orElse(readToolSeries(call, asked), nothing),
      readCharts(call),
    ])
    return { tool_stats, time_series, charts, partial_data: missing.any() }
  },
})
