// Samples -> the series that are judged, the CSV, and what is printed at the end.
import { table } from '../../bench/stats.ts'
import { handlesOf, memoryOf, type Sample } from './sampler.ts'
import type { Finding, Series } from './verdict.ts'

/**
 * What fills up by design before it stays, in MiB over the whole observation: the sessions that a receiver remembers, and the ids by
 * which a processor knows repeats (4 million of each partition).
 */
const FILLS_UP: Readonly<Record<string, number>> = { receiver: 48, processor: 160 }
const MEMORY_SLACK = 24
const HANDLES_SLACK = 16
const PARTS_MOST = 300
const PARTS_SLACK = 60
const LAG_MOST_S = 60
const LAG_SLACK_S = 5
const ANSWER_SLACK_MS = 50

/** The series of all samples, in the order in which they are drawn. */
export function seriesOf(samples: readonly Sample[], processes: readonly string[]): Series[] {
  const points = (key: string): [number, number][] =>
    samples.flatMap(({ atS, values }) => {
      const value = values.get(key)
      return value === undefined ? [] : [[atS, value] as [number, number]]
    })
  const memory = processes.map((name): Series => {
    const role = name.split(' ')[0] as string
    const slack = MEMORY_SLACK + (FILLS_UP[role] ?? 0)
    return { name: `memory of ${name}`, unit: 'MiB', slack, points: points(memoryOf(name)) }
  })
  const handles = processes.map(
    (name): Series => ({
      name: `handles of ${name}`,
      unit: 'handles',
      slack: HANDLES_SLACK,
      points: points(handlesOf(name)),
    }),
  )
  const most = 'most parts of a month'
  return [
    ...memory,
    ...handles,
    { name: most, unit: 'parts', slack: PARTS_SLACK, most: PARTS_MOST, points: points(most) },
    { name: 'lag', unit: 's', slack: LAG_SLACK_S, most: LAG_MOST_S, points: points('lag') },
    { name: 'answer p50', unit: 'ms', slack: ANSWER_SLACK_MS, points: points('answer p50') },
    { name: 'answer p99', unit: 'ms', slack: ANSWER_SLACK_MS, points: points('answer p99') },
  ]
}

/** A line for each sample, a column for each value that any of them has. */
export function csvOf(samples: readonly Sample[]): string {
  const columns = [...new Set(samples.flatMap(({ values }) => [...values.keys()]))].sort()
  const line = ({ atS, values }: Sample): string =>
    [atS.toFixed(1), ...columns.map(column => shown(values.get(column)))].join(',')
  return `${['seconds', ...columns].join(',')}\n${samples.map(sample => `${line(sample)}\n`).join('')}`
}

const shown = (value: number | undefined): string => (value === undefined ? '' : String(Number(value.toFixed(3))))

/** The findings as a table. */
export function tableOf(findings: readonly Finding[]): string {
  const rounded = (value: number): string => (Number.isFinite(value) ? String(Number(value.toPrecision(3))) : '–')
  return table(
    ['what', 'unit', 'median', 'highest', 'an hour adds', '95 % between', 'judgement'],
    findings.map(({ name, unit, level, highest, perHour, low, high, judgement }) => [
      ...[name, unit, rounded(level), rounded(highest), rounded(perHour)],
      ...[`${rounded(low)} and ${rounded(high)}`, judgement],
    ]),
  )
}
