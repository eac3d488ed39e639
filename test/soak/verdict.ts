// Samples over hours -> what grows. A line is laid through what remains after the warm-up, and only what its confidence leaves no way
// out of is called growth: samples of a process that collects garbage are saw teeth, and neighbours are alike.

/** Values of one thing over time. */
export interface Series {
  readonly name: string
  readonly unit: 'MiB' | 'handles' | 'parts' | 's' | 'ms'
  /** Growth over the whole observation that is let pass, beyond a tenth of the level. */
  readonly slack: number
  /** Level that may never be passed after the warm-up. */
  readonly most?: number
  readonly points: readonly (readonly [atS: number, value: number])[]
}

/** `undecided`: neither growth nor its absence is sure, mostly because the run was short. */
export type Judgement = 'flat' | 'grows' | 'too high' | 'undecided'

export interface Finding {
  readonly name: string
  readonly unit: Series['unit']
  readonly judgement: Judgement
  /** Median after the warm-up. */
  readonly level: number
  readonly highest: number
  /** What an hour adds, and between what and what that lies with 95 % confidence. */
  readonly perHour: number
  readonly low: number
  readonly high: number
  /** Growth over the observation from which on it is called so. */
  readonly allowed: number
}

/** Neighbouring samples are alike: their medians over so many stretches are taken for independent. */
const STRETCHES = 10
/** Student's t at 97.5 % with STRETCHES - 2 degrees of freedom. */
const T = 2.306
const RELATIVE_SLACK = 0.1
const HOUR_S = 3_600

/** In less time caches fill, and nobody can tell that from a leak. */
const LEAST_S = 1_200

/** Judges a series from `warmUpS` on. With fewer than two samples a stretch, or in a few minutes, nothing is decided. */
export function judge(series: Series, warmUpS: number): Finding {
  const points = series.points.filter(([at]) => at >= warmUpS)
  const values = points.map(([, value]) => value)
  const level = medianOf(values)
  const highest = values.length === 0 ? Number.NaN : values.reduce((most, value) => Math.max(most, value))
  const allowed = series.slack + RELATIVE_SLACK * (Number.isNaN(level) ? 0 : Math.abs(level))
  const { name, unit } = series
  const common = { name, unit, level, highest, allowed }
  const tooHigh = series.most !== undefined && highest > series.most
  const observedS = (points.at(-1)?.[0] ?? 0) - (points[0]?.[0] ?? 0)
  if (points.length < 2 * STRETCHES || observedS < LEAST_S) {
    const unknown = { perHour: Number.NaN, low: Number.NaN, high: Number.NaN }
    return { ...common, ...unknown, judgement: tooHigh ? 'too high' : 'undecided' }
  }
  const { slope, error } = lineThrough(stretchesOf(points))
  const [low, high] = [slope - T * error, slope + T * error]
  const judgement: Judgement = tooHigh
    ? 'too high'
    : low * observedS > allowed
      ? 'grows'
      : high * observedS > allowed
        ? 'undecided'
        : 'flat'
  return { ...common, judgement, perHour: slope * HOUR_S, low: low * HOUR_S, high: high * HOUR_S }
}

/** What a soak ends with: 0 all is flat, 1 something grows or is too high, 2 something is undecided. */
export function exitCodeOf(findings: readonly Finding[], restarts: number): 0 | 1 | 2 {
  if (restarts > 0 || findings.some(({ judgement }) => judgement === 'grows' || judgement === 'too high')) return 1
  return findings.some(({ judgement }) => judgement === 'undecided') ? 2 : 0
}

/** The median of each stretch, at the middle of its time. */
function stretchesOf(points: Series['points']): (readonly [number, number])[] {
  return Array.from({ length: STRETCHES }, (_, i) => {
    const from = Math.floor((i * points.length) / STRETCHES)
    const to = Math.floor(((i + 1) * points.length) / STRETCHES)
    const part = points.slice(from, to)
    return [medianOf(part.map(([at]) => at)), medianOf(part.map(([, value]) => value))]
  })
}

/** Least squares: slope and its standard error. */
function lineThrough(points: readonly (readonly [number, number])[]): { slope: number; error: number } {
  const n = points.length
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / n
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / n
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  const slope = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread
  const residuals = points.reduce((sum, [x, y]) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0)
  return { slope, error: Math.sqrt(residuals / (n - 2) / spread) }
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low, high] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]]
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2
}
