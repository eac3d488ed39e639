// What a storm is told on the command line.
import { parseArgs } from 'node:util'

/** Settings of a run. */
export interface StormOptions {
  readonly seed: number
  /** Events to be acknowledged. */
  readonly events: number
  readonly faults: number
  /** Events a second. */
  readonly rate: number
  /** Parts of names of kinds; none = all. */
  readonly kinds: readonly string[]
  readonly targets: readonly ('parley' | 'ordinary')[]
  /** Leave data and logs behind. */
  readonly keep: boolean
  readonly disks: boolean
  /** ClickHouse servers, each with an organization. */
  readonly shards: number
  /** Begins the ids of the run. */
  readonly tag: number
}

export const USAGE = `npm run storm -- [options]
  --events N     events to be acknowledged (100000)
  --faults N     faults, each kind once before any comes twice (40)
  --rate N       events a second at most (2000)
  --seed N       repeats a run: the same payloads, faults and victims in the same order
  --kinds A,B    only kinds whose names hold one of these words, e.g. --kinds kill,rolling
  --shards N     ClickHouse servers, each with the rows of an organization of its own (1)
  --target T     parley (default), ordinary, or both one after the other
  --keep         leaves data and logs where they are and says where; a run that finds something wrong does so by itself
  --no-disks     no small disks, so none is filled`

/** Each is a process with gigabytes of its own. */
const SHARDS_MAX = 8

/** Reads the arguments. @throws with the usage when they are not understood. */
export function readOptions(args: readonly string[]): StormOptions {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ seed: text, events: text, faults: text, rate: text, kinds: text, target: text },
      ...{ shards: text },
      ...{ keep: flag, 'no-disks': flag },
    },
  })
  const whole = (name: string, value: string | undefined, otherwise: number): number => {
    const n = value === undefined ? otherwise : Number(value)
    if (!Number.isSafeInteger(n) || n < 0) throw new Error(`--${name} must be a whole number\n\n${USAGE}`)
    return n
  }
  const { target = 'parley' } = values
  if (target !== 'parley' && target !== 'ordinary' && target !== 'both')
    throw new Error(`--target is unknown\n\n${USAGE}`)
  const shards = Math.max(1, whole('shards', values.shards, 1))
  if (shards > SHARDS_MAX) throw new Error(`--shards is ${SHARDS_MAX} at most\n\n${USAGE}`)
  if (shards > 1 && target !== 'parley') throw new Error(`--shards is for parley only\n\n${USAGE}`)
  const seed = whole('seed', values.seed, Math.floor(Math.random() * 2 ** 31))
  return {
    seed,
    events: Math.max(1, whole('events', values.events, 100_000)),
    faults: whole('faults', values.faults, 40),
    rate: Math.max(1, whole('rate', values.rate, 2_000)),
    kinds: (values.kinds ?? '').split(',').filter(kind => kind !== ''),
    targets: target === 'both' ? ['parley', 'ordinary'] : [target],
    keep: values.keep ?? false,
    disks: !values['no-disks'],
    shards,
    tag: seed >>> 0,
  }
}
