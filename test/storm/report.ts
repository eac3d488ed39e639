// What a storm found, as one table: by surface, by fault, and whether every whole is what its parts come to.
import { percentile, table } from '../../bench/stats.ts'
import type { Happened } from './chaos.ts'
import { LOST_SESSION, type Tally } from './clients.ts'
import type { Count, Space } from './oracle.ts'
import { judge, noCount } from './oracle.ts'
import type { StormResult } from './storm.ts'

const HEADER = [
  ...[
    '',
    'times',
    'sent',
    'sent again',
    'acknowledged',
    'no answer',
    'refused',
    'stored',
    'lost',
    'doubled',
    'strange',
  ],
  ...['answers again after (s, median; most)', 'all stored after'],
]

/** Sums over everything. */
export interface Verdict {
  readonly total: Count
  readonly failedChecks: readonly string[]
  /** Requests that failed during a rolling restart. */
  readonly rollingFailures: number
}

type Row = (string | number)[]

/** The table, and what it comes to. */
export function report(result: StormResult): { readonly text: string; readonly verdict: Verdict } {
  const { oracle, chaos, clients, checks } = result
  const byFault = [noCount(), ...chaos.kinds.map(noCount)]
  const total = noCount()
  const again = oracle.surfaces.reduce((n, space) => n + space.repeats, 0)
  const rows: Row[] = []
  const rowOf = (space: Space, into: Count[]): Row => {
    const count = noCount()
    for (let n = 0; n < space.size; n++) {
      judge(space, n, count)
      for (const one of into) judge(space, n, one)
      if (into.length > 0) judge(space, n, byFault[space.fault(n)] as Count)
    }
    return [space.name, '', space.size, space.repeats, ...cellsOf(count), '', '']
  }
  for (const space of oracle.surfaces) rows.push(rowOf(space, [total]))
  const sent = oracle.surfaces.reduce((n, space) => n + space.size, 0)
  rows.push(['**all surfaces**', '', sent, again, ...cellsOf(total), '', ''])
  const captures = noCount()
  const { sessions } = oracle
  for (let n = 0; n < sessions.size; n++) judge(sessions, n, captures)
  rows.push([sessions.name, '', sessions.size, sessions.repeats, ...cellsOf(captures), '', ''])
  for (const [number, count] of byFault.entries()) {
    const kind = chaos.kinds[number - 1]
    const happened = chaos.happened.filter(one => one.kind === kind)
    const tally = clients.tallies[number]
    rows.push([
      kind === undefined ? 'sent while all was well' : `sent in “${kind.name}”`,
      kind === undefined ? '' : happened.length,
      ...(tally === undefined ? [0, ''] : [`${tally.requests} requests`, `${tally.unanswered + tally.refused} failed`]),
      ...cellsOf(count),
      ...(kind === undefined ? ['', ''] : [secondsOf(happened, 'answeredMs'), secondsOf(happened, 'storedMs')]),
    ])
  }
  const rolling = rollingOf(result)
  const failedChecks = checks.filter(check => !check.right).map(({ what, detail }) => `${what}: ${detail}`)
  for (const field of ['lost', 'doubled', 'strange'] as const) total[field] += captures[field]
  const verdict = {
    total,
    failedChecks,
    rollingFailures:
      rolling === undefined ? 0 : rolling.unanswered + rolling.refused - (rolling.failures.get(LOST_SESSION) ?? 0),
  }
  const text = [
    table(HEADER, rows),
    '',
    table(
      ['compared as a whole', 'found', ''],
      checks.map(({ what, right, detail }) => [what, detail, right ? 'equal' : '**NOT EQUAL**']),
    ),
    '',
    summaryOf(result, verdict),
  ].join('\n')
  return { text, verdict }
}

const cellsOf = (count: Count): number[] => [
  ...[count.acknowledged, count.unknown, count.refused, count.stored],
  ...[count.lost, count.doubled, count.strange],
]

function secondsOf(happened: readonly Happened[], what: 'answeredMs' | 'storedMs'): string {
  const known = happened.flatMap(one => one[what] ?? [])
  if (known.length === 0) return ''
  const show = (ms: number): string => (ms / 1_000).toFixed(2)
  return `${show(percentile(known, 50))}; ${show(Math.max(...known))}`
}

/** Of the kind in which no request may fail; undefined when it did not happen. */
function rollingOf({ chaos, clients }: StormResult): Tally | undefined {
  const at = chaos.kinds.findIndex(kind => kind.calm)
  return at < 0 ? undefined : clients.tallies[at + 1]
}

const listed = (answers: ReadonlyMap<string, number> = new Map()): string =>
  [...answers]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([said, n]) => `${said}: ${n}`)
    .join(' · ') || 'none'

function summaryOf(result: StormResult, verdict: Verdict): string {
  const { target, oracle, chaos, clients, missing, stormS, drainS, compareS } = result
  const { total, failedChecks, rollingFailures } = verdict
  return [
    `${target}: ${oracle.acknowledged} events acknowledged in ${stormS.toFixed(0)} s with ${chaos.happened.length} faults of ${chaos.kinds.length} kinds;`,
    `at rest after ${drainS.toFixed(1)} s, compared in ${compareS.toFixed(1)} s; answers ${listed(clients.answers)};`,
    `failed between faults: ${listed(clients.tallies[0]?.failures)};`,
    `in rolling restarts: ${listed(rollingOf(result)?.failures)};`,
    `${oracle.denied} events refused although their session was acknowledged; failed in rolling restarts: ${rollingFailures};`,
    `left out: ${missing.length === 0 ? 'nothing' : missing.join('; ')}.`,
    `**lost ${total.lost}, doubled ${total.doubled}, strange ${total.strange}; ${failedChecks.length} comparisons not equal**`,
  ].join(' ')
}
