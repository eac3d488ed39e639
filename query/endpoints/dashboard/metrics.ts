// POST /dashboard/api/dashboard: the figures of a window, by day, and those of the window before.
import { CommandCenterMetrics } from '#proto/dashboard/metrics.ts'
import { QueryFilters } from '#proto/dashboard/shared.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import { eventConditions } from '../../filters.ts'
import type { DaySums, Distinct } from '../../reads/metrics.ts'
import { averageOf, readDaySums, readDistinct, readP95 } from '../../reads/metrics.ts'
import type { Series } from '../../series.ts'
import { daysOf, fillSeries } from '../../series.ts'
import { startOfDay, windowBefore, windowOf } from '../../window.ts'

export const dashboard = endpoint({
  method: 'POST',
  path: '/dashboard/api/dashboard',
  auth: 'any',
  about: 'Events, conversations, users, failures and latency of a window, by day, and of the window before.',
  request: QueryFilters,
  response: CommandCenterMetrics,
  work: readMetrics,
})

/** The body of the endpoint. */
export async function readMetrics(call: Call, request: QueryFilters): Promise<CommandCenterMetrics> {
  const { reader, nowMs } = call
  const window = windowOf(request, nowMs)
  const asked = { window, conditions: eventConditions(request) }
  const before = windowBefore(window, nowMs)
  const [days, distinct, p95, previous] = await Promise.all([
    readDaySums(reader, asked),
    readDistinct(reader, asked),
    readP95(reader, asked),
    before && readTotals(call, { ...asked, window: before }),
  ])
  const { timezone } = window
  const firstMs = days[0] ? startOfDay(days[0].day, timezone) : nowMs
  const end = Math.min(window.toMs - 1, nowMs)
  const shown = daysOf(window.fromMs === 0 ? firstMs : window.fromMs, end, timezone)
  const daily = <T extends DaySums | Distinct>(rows: readonly T[], count: (row: T) => number) =>
    byDay(shown, timezone, rows, count)
  return {
    ...totals(days, distinct.whole),
    daily_calls: daily(days, day => day.events),
    daily_users: daily(distinct.days, day => day.users),
    daily_conversations: daily(distinct.days, day => day.conversations),
    error_count: sumOf(days, day => day.errors),
    avg_latency: averageOf(days),
    p95_latency: p95,
    daily_errors: daily(days, day => day.errors),
    previous,
  }
}

type Totals = NonNullable<CommandCenterMetrics['previous']>

async function readTotals({ reader }: Call, asked: Parameters<typeof readDaySums>[1]): Promise<Totals> {
  const [days, { whole }] = await Promise.all([readDaySums(reader, asked), readDistinct(reader, asked)])
  return totals(days, whole)
}

function totals(days: readonly DaySums[], whole: Distinct | undefined): Totals {
  const events = sumOf(days, day => day.events)
  return {
    total_calls: events,
    total_conversations: whole?.conversations ?? 0,
    active_users: whole?.users ?? 0,
    success_rate: events === 0 ? null : 1 - sumOf(days, day => day.errors) / events,
  }
}

const sumOf = (days: readonly DaySums[], of: (day: DaySums) => number): number =>
  days.reduce((sum, day) => sum + of(day), 0)

function byDay<T extends { readonly day: string }>(
  buckets: Series['buckets'],
  timezone: string,
  rows: readonly T[],
  count: (row: T) => number,
): { day: string; count: number }[] {
  const found = new Map(rows.map(row => [row.day, count(row)]))
  return fillSeries({ buckets }, found, timezone, (day, value) => ({ day, count: value ?? 0 }))
}
