// POST /dashboard/api/dashboard: the figures of a window, by day, and those of the window before.
import { CommandCenterMetrics, type WindowMetrics } from '#proto/dashboard/metrics.ts'
import { QueryFilters } from '#proto/dashboard/shared.ts'
import { type AskedFigures, readKeptFigures, type WindowFigures } from '../../days/figures.ts'
import { readFilteredFigures } from '../../days/filtered.ts'
import type { Kind } from '../../days/organization.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import { eventConditions, onlyMetadataOf } from '../../filters.ts'
import type { DaySums, Distinct } from '../../reads/metrics.ts'
import { averageOf, readDaySums, readDistinct, readP95 } from '../../reads/metrics.ts'
import { readSpending } from '../../reads/spending.ts'
import type { Series } from '../../series.ts'
import { daysOf, fillSeries } from '../../series.ts'
import { isLong, startOfDay, windowBefore, windowOf } from '../../window.ts'

export const dashboard = endpoint({
  method: 'POST',
  path: '/dashboard/api/dashboard',
  auth: 'any',
  about:
    'Events, conversations, users, failures, latency, tokens and cost of a window, by day, and of the window before.',
  request: QueryFilters,
  response: CommandCenterMetrics,
  work: readDashboard,
})

/** The body of the endpoint; `beside`: what other parts of the request will ask of kept days. */
export async function readDashboard(
  call: Call,
  request: QueryFilters,
  beside: readonly Kind[] = [],
): Promise<CommandCenterMetrics> {
  const asked = { window: windowOf(request, call.nowMs), conditions: eventConditions(request) }
  const [metrics, spending] = await Promise.all([readMetrics(call, request, beside), readSpending(call.reader, asked)])
  return { ...metrics, ...spending }
}

/** The same without tokens and costs. */
export async function readMetrics(
  call: Call,
  request: QueryFilters,
  beside: readonly Kind[] = [],
): Promise<WindowMetrics> {
  const { nowMs } = call
  const window = windowOf(request, nowMs)
  const before = windowBefore(window, nowMs)
  const { sums, counts, p95 } = await readFigures(call, request, { window, before, beside })
  const days = sums.filter(day => day.current === 1)
  const distinct = counts.filter(({ current }) => current === 1)
  const distinctDays = distinct.filter(({ whole }) => whole === 0)
  const { timezone } = window
  const end = Math.min(window.toMs - 1, nowMs)
  const firstMs = days[0] ? startOfDay(days[0].day, timezone) : end
  const shown = daysOf(isLong(window, nowMs) ? Math.max(firstMs, window.fromMs) : window.fromMs, end, timezone)
  const daily = <T extends DaySums | Distinct>(rows: readonly T[], count: (row: T) => number) =>
    byDay(shown, timezone, rows, count)
  return {
    ...totals(days, wholeOf(distinct)),
    daily_calls: daily(days, day => day.events),
    daily_users: daily(distinctDays, day => day.users),
    daily_conversations: daily(distinctDays, day => day.conversations),
    error_count: sumOf(days, day => day.errors),
    avg_latency: averageOf(days),
    p95_latency: p95,
    daily_errors: daily(days, day => day.errors),
    previous: before && totals(earlier(sums), wholeOf(earlier(counts))),
  }
}

/** From whole days in memory where those of UTC are asked for, without filters or with those of metadata; else from aggregates and rows. */
async function readFigures(
  { reader, kept, organization: { id: organization } }: Call,
  request: QueryFilters,
  { window, before, beside }: Omit<AskedFigures, 'organization'>,
): Promise<WindowFigures> {
  const conditions = eventConditions(request)
  const filters = onlyMetadataOf(request)
  if (window.timezone === 'UTC' && (conditions.sql.length === 0 || filters.length > 0)) {
    const asked = { organization, window, before, beside }
    const figures =
      filters.length === 0
        ? await readKeptFigures(kept, reader, asked)
        : await readFilteredFigures(kept, reader, { ...asked, filters })
    if (figures !== null) return figures
  }
  const asked = { window, conditions }
  const [sums, counts, p95] = await Promise.all([
    readDaySums(reader, { ...asked, before }),
    readDistinct(reader, { ...asked, before }),
    readP95(reader, asked),
  ])
  return { sums, counts, p95 }
}

type Totals = NonNullable<WindowMetrics['previous']>

/** What is of the window before. */
const earlier = <T extends { readonly current: 0 | 1 }>(rows: readonly T[]): T[] =>
  rows.filter(row => row.current === 0)

const wholeOf = (counts: readonly Distinct[]): Distinct | undefined => counts.find(({ whole }) => whole === 1)

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
