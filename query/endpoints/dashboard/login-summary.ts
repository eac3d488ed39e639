// GET /dashboard/api/login-summary: what the last 48 hours held, for whoever signs in. Sentences from figures; no model has a say in it.
import { randomUUID } from 'node:crypto'
import type { LoginSummary, SummarySection } from '#proto/dashboard/login-summary.ts'
import { LoginSummaryRequest, LoginSummary as Shape, SUMMARY_WORDS_MAX } from '#proto/dashboard/login-summary.ts'
import type { WindowMetrics } from '#proto/dashboard/metrics.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import { NOTHING } from '../../filters.ts'
import type { FailureGroup } from '../../reads/failures.ts'
import { readFailureGroups } from '../../reads/failures.ts'
import { windowBetween } from '../../window.ts'
import { readMetrics } from './metrics.ts'

const WINDOW_MS = 48 * 3_600_000
/** Failures that are listed. */
const FAILURES_MAX = 5
/** Senders choose names and messages; a summary shows their beginnings. */
const NAME_CHARS = 60
const MESSAGE_CHARS = 200
const NO_DATA =
  'Nothing was captured in the last 48 hours. New sessions, events, calls and traces show up here as they come in.'

export const loginSummary = endpoint({
  method: 'GET',
  path: '/dashboard/api/login-summary',
  auth: 'any',
  named: true,
  about:
    'The last 48 hours in a few sentences, with the failures and figures behind them; made anew for every request.',
  request: LoginSummaryRequest,
  response: Shape,
  work: async call => {
    const at = new Date(call.nowMs).toISOString()
    const window_start = new Date(call.nowMs - WINDOW_MS).toISOString()
    const [figures, failures] = await Promise.all([readFigures(call, window_start, at), readFailures(call)])
    const empty = figures.total_calls === 0
    return {
      id: randomUUID(),
      org_id: call.organization.id,
      window_start,
      window_end: at,
      generated_at: at,
      summary_text: empty ? NO_DATA : clipWords(sentences(figures, failures[0])),
      sections: empty ? [] : sectionsOf(figures, failures, `from=${window_start}&to=${at}`),
    } satisfies LoginSummary
  },
})

const readFigures = (call: Call, from: string, to: string): Promise<WindowMetrics> =>
  readMetrics(call, { time_range: '1w', from, to, page: 1, page_size: 1 })

/** The most frequent failures. */
async function readFailures({ reader, nowMs }: Call): Promise<FailureGroup[]> {
  const { parameters } = windowBetween(nowMs - WINDOW_MS, nowMs)
  const [, ...groups] = await readFailureGroups(reader, NOTHING, parameters, FAILURES_MAX)
  return groups
}

function sentences(figures: WindowMetrics, worst: FailureGroup | undefined): string {
  const { total_calls, total_conversations, active_users, error_count, p95_latency, previous } = figures
  const said = [
    `In the last 48 hours there ${total_calls === 1 ? 'was' : 'were'} ${counted(total_calls, 'event')} in ${counted(total_conversations, 'conversation')}` +
      ` with ${counted(active_users, 'known user')}; events: ${change(total_calls, previous?.total_calls ?? 0)}.`,
    error_count === 0
      ? 'None failed.'
      : `${number(error_count)} failed, which is ${percent(error_count / total_calls)}; ${failedBefore(previous)}.`,
  ]
  if (worst !== undefined) said.push(`Most often: ${titleOf(worst)} (${number(worst.n)}).`)
  if (p95_latency !== null) said.push(`Of the events with a latency, 95 % took no more than ${duration(p95_latency)}.`)
  return said.join(' ')
}

function sectionsOf(figures: WindowMetrics, failures: readonly FailureGroup[], filters: string): SummarySection[] {
  const { total_calls, total_conversations, active_users, previous } = figures
  const usage = (title: string, page: string, count: number, before: number) => ({
    ...{ title, detail: sentence(change(count, before)), href: `/${page}?${filters}`, count },
  })
  const errors: SummarySection = {
    ...{ key: 'errors', title: 'Most frequent failures', href: `/errors?${filters}` },
    items: failures.map(group => ({
      title: titleOf(group),
      detail: clip(group.message, MESSAGE_CHARS),
      href: `/raw-logs?event_id=${group.sample[0]}`,
      count: group.n,
    })),
  }
  return [
    ...(failures.length === 0 ? [] : [errors]),
    {
      ...{ key: 'usage', title: 'Usage', href: `/dashboard?${filters}` },
      items: [
        usage('Events', 'raw-logs', total_calls, previous?.total_calls ?? 0),
        usage('Conversations', 'user-stories', total_conversations, previous?.total_conversations ?? 0),
        usage('Known users', 'user-stories', active_users, previous?.active_users ?? 0),
      ],
    },
  ]
}

/** `TimeoutError in find_order, find_invoice` */
function titleOf({ error_type, names }: FailureGroup): string {
  const [first = '', second] = names
  const where = second === undefined ? first : `${first}, ${second}${names.length > 2 ? ' …' : ''}`
  return `${clip(error_type, NAME_CHARS) || 'Failure'} in ${clip(where, NAME_CHARS)}`
}

/** How a count compares with that of the window before. */
function change(count: number, before: number): string {
  if (before === 0) return 'none in the 48 hours before'
  if (count === before) return 'as many as in the 48 hours before'
  return `${percent(Math.abs(count - before) / before)} ${count > before ? 'more' : 'fewer'} than in the 48 hours before`
}

function failedBefore(previous: WindowMetrics['previous']): string {
  const rate = previous?.success_rate ?? null
  return rate === null
    ? 'there is nothing before to compare with'
    : `it was ${percent(1 - rate)} in the 48 hours before`
}

const number = (value: number): string => value.toLocaleString('en-US')
const counted = (count: number, noun: string): string => `${number(count)} ${noun}${count === 1 ? '' : 's'}`
const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`
const duration = (ms: number): string =>
  ms < 1000 ? `${number(Math.round(ms))} ms` : `${(ms / 1000).toLocaleString('en-US', { maximumFractionDigits: 1 })} s`

/** One digit behind the point, and never 0 of what there is. */
function percent(share: number): string {
  if (share > 0 && share < 0.001) return 'under 0.1 %'
  return `${(share * 100).toLocaleString('en-US', { maximumFractionDigits: 1 })} %`
}

/** The beginning of a text on one line. */
function clip(text: string, chars: number): string {
  const line = Array.from(text.replaceAll(/\s+/g, ' ').trim())
  return line.length <= chars ? line.join('') : `${line.slice(0, chars - 1).join('')}…`
}

/** As many words as a summary may have. */
export function clipWords(text: string): string {
  const words = text.split(/\s+/)
  return words.length <= SUMMARY_WORDS_MAX ? text : `${words.slice(0, SUMMARY_WORDS_MAX).join(' ')}…`
}
