// What a soak is told on the command line.
import { parseArgs } from 'node:util'

/** Settings of a run. */
export interface SoakOptions {
  readonly hours: number
  /** Events a second. */
  readonly rate: number
  /** Seconds between two samples. */
  readonly everyS: number
  /** Share of the time in which caches fill. */
  readonly warmUpS: number
  /** Data directory of an instance that runs; '' starts one. */
  readonly dataDir: string
  /** Folder of the CSV and the plot. */
  readonly out: string
  readonly seed: number
}

export const USAGE = `npm run soak -- [options]
  --hours H      how long, parts of an hour too (1)
  --rate R       events a second (300)
  --every S      seconds between two samples (10)
  --warm-up H    hours that are not judged (a quarter of the whole, half an hour at most)
  --data-dir D   take the instance that runs on this data directory; otherwise one is started, and thrown away
  --out DIR      where soak.csv and soak.svg go (soak-results)
  --seed N       the same payloads again`

const HOUR_S = 3_600
const WARM_UP_MAX_S = 1_800

/** Reads the arguments. @throws with the usage when they are not understood. */
export function readOptions(args: readonly string[]): SoakOptions {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ hours: text, rate: text, every: text, 'warm-up': text },
      ...{ 'data-dir': text, out: text, seed: text },
    },
  })
  const positive = (name: string, value: string | undefined, otherwise: number): number => {
    const n = value === undefined ? otherwise : Number(value)
    if (!(n > 0) || !Number.isFinite(n)) throw new Error(`--${name} must be a number above 0\n\n${USAGE}`)
    return n
  }
  const hours = positive('hours', values.hours, 1)
  const warmUp = values['warm-up'] === undefined ? undefined : positive('warm-up', values['warm-up'], 0) * HOUR_S
  return {
    hours,
    rate: positive('rate', values.rate, 300),
    everyS: positive('every', values.every, 10),
    warmUpS: warmUp ?? Math.min((hours * HOUR_S) / 4, WARM_UP_MAX_S),
    dataDir: values['data-dir'] ?? '',
    out: values.out ?? 'soak-results',
    seed: Math.floor(positive('seed', values.seed, 1 + Math.floor(Math.random() * 2 ** 30))),
  }
}
