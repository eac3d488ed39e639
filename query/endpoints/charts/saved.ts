// /dashboard/api/dashboard/charts: the charts that an organization keeps, in their order.
import { randomUUID } from 'node:crypto'
import Type from 'typebox'
import { changeRecord, readRecord } from '#control/lists.ts'
import { chartsKey } from '#control/records.ts'
import type { ChartConfig } from '#proto/dashboard/charts.ts'
import {
  CHARTS_MAX,
  ChartCreate,
  ChartList,
  ChartReorder,
  ChartConfig as ChartShape,
  ChartUpdate,
} from '#proto/dashboard/charts.ts'
import { ParleyError } from '#proto/errors.ts'
import { authorOf } from '../../auth.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'

const PATH = '/dashboard/api/dashboard/charts'

/** All charts of the organization, by position. */
export async function readCharts({ records, organization }: Call): Promise<ChartConfig[]> {
  return (await readRecord<ChartConfig[]>(records, chartsKey(organization.id))) ?? []
}

/** Changes the list; positions follow from the order. */
async function change(
  call: Call,
  how: (charts: readonly ChartConfig[]) => readonly ChartConfig[],
): Promise<ChartConfig[]> {
  return changeRecord<ChartConfig[]>(call.records, chartsKey(call.organization.id), (charts = []) =>
    how(charts).map((chart, position) => ({ ...chart, position })),
  )
}

/** @throws ParleyError QRY_NOT_FOUND. */
function requireChart(charts: readonly ChartConfig[], id: string | undefined): ChartConfig {
  const chart = charts.find(chart => chart.id === id)
  if (chart === undefined) throw new ParleyError('QRY_NOT_FOUND', 'no such chart', { field: 'id' })
  return chart
}

export const chartsList = endpoint({
  method: 'GET',
  path: PATH,
  auth: 'any',
  about: 'The saved charts, in their order.',
  response: ChartList,
  work: readCharts,
})

export const chartsCreate = endpoint({
  method: 'POST',
  path: PATH,
  auth: 'any',
  about: 'Saves a chart behind the others.',
  request: ChartCreate,
  response: ChartShape,
  status: 201,
  work: async (call, { title, chart_type, metric, group_by = null, filters }) => {
    const id = randomUUID()
    const created_at = new Date(call.nowMs).toISOString()
    const charts = await change(call, charts => {
      if (charts.length >= CHARTS_MAX) {
        throw new ParleyError('REQ_BODY_INVALID', `there are ${CHARTS_MAX} charts already: delete one first`)
      }
      const created_by = authorOf(call.principal)
      return [...charts, { id, title, chart_type, metric, group_by, filters, position: 0, created_by, created_at }]
    })
    return requireChart(charts, id)
  },
})

export const chartsUpdate = endpoint({
  method: 'PUT',
  path: `${PATH}/{id}`,
  auth: 'any',
  about: 'Changes a saved chart; absent fields stay as they are.',
  request: ChartUpdate,
  response: ChartShape,
  work: async (call, { title, chart_type, metric, group_by, filters }) => {
    const { id } = call.params
    const charts = await change(call, charts => {
      const chart = requireChart(charts, id)
      const changed: ChartConfig = {
        ...chart,
        title: title ?? chart.title,
        chart_type: chart_type ?? chart.chart_type,
        metric: metric ?? chart.metric,
        group_by: group_by === undefined ? chart.group_by : group_by,
        filters: filters ?? chart.filters,
      }
      return charts.map(other => (other === chart ? changed : other))
    })
    return requireChart(charts, id)
  },
})

export const chartsDelete = endpoint({
  method: 'DELETE',
  path: `${PATH}/{id}`,
  auth: 'any',
  about: 'Deletes a saved chart.',
  response: Type.Null(),
  status: 204,
  work: async call => {
    await change(call, charts => {
      const chart = requireChart(charts, call.params.id)
      return charts.filter(other => other !== chart)
    })
    return null
  },
})

export const chartsReorder = endpoint({
  method: 'PUT',
  path: `${PATH}/reorder`,
  auth: 'any',
  about: 'Puts the saved charts into an order; every one must be named once.',
  request: ChartReorder,
  response: ChartList,
  work: (call, { chart_ids }) =>
    change(call, charts => {
      const ids = chart_ids.map(id => id.toLowerCase())
      const byId = new Map(charts.map(chart => [chart.id, chart]))
      if (ids.length !== charts.length || new Set(ids).size !== ids.length || !ids.every(id => byId.has(id))) {
        throw new ParleyError('REQ_BODY_INVALID', 'chart_ids must name every chart exactly once', {
          field: 'chart_ids',
        })
      }
      return ids.flatMap(id => byId.get(id) ?? [])
    }),
})
