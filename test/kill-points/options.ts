// How much of the kill points a run does: a seeded choice by default, all of them when asked.
import { parseArgs } from 'node:util'
import { randomOf } from '#runtime/seeded.ts'

/** What the command line says: `node test/kill-points.test.ts --all`, `--seed 7 --points 40`, `--only 'events rename'`. */
export interface KillOptions {
  readonly all: boolean
  readonly seed: number
  /** Points of the engine, and of the processor, beside those that are always done. */
  readonly points: number
  /** Only points whose name matches, all of those. */
  readonly only: RegExp | undefined
}

/** Reads the arguments; a random seed unless given. */
export function killOptions(defaults: { readonly points: number }): KillOptions {
  const { values } = parseArgs({
    options: {
      all: { type: 'boolean' },
      seed: { type: 'string' },
      points: { type: 'string' },
      only: { type: 'string' },
    },
    // The runner passes arguments of its own.
    strict: false,
  })
  return {
    all: values.all === true,
    seed: Number(values.seed ?? Math.floor(Math.random() * 2 ** 31)),
    points: Number(values.points ?? defaults.points),
    only: typeof values.only === 'string' ? new RegExp(values.only) : undefined,
  }
}

/** What a run does: `must` whatever it takes, `may` while there is time. */
export interface Chosen<T> {
  readonly must: readonly T[]
  readonly may: readonly T[]
}

/**
 * The points of this run: all, those that `only` names, or `always` and then up to `points` others, which are spread evenly over
 * `everything` and come in an order that the seed decides.
 */
export function chosen<T>(
  everything: readonly T[],
  options: KillOptions,
  { always, name }: { readonly always: (item: T) => boolean; readonly name: (item: T) => string },
): Chosen<T> {
  const { all, only, points, seed } = options
  if (all) return { must: everything, may: [] }
  if (only) return { must: everything.filter(item => only.test(name(item))), may: [] }
  const others = everything.filter(item => !always(item))
  const random = randomOf(seed)
  const every = Math.max(1, others.length / points)
  const spread: T[] = []
  for (let at = (random(1_000) / 1_000) * every; at < others.length; at += every)
    spread.push(others[Math.floor(at)] as T)
  const may: T[] = []
  while (spread.length > 0) may.push(...spread.splice(random(spread.length), 1))
  return { must: everything.filter(always), may }
}

/** The chosen points one after the other; those that may be left out end with `budgetMs`. */
export function* whileTimeLasts<T>({ must, may }: Chosen<T>, budgetMs: number): Generator<T> {
  const startedAt = performance.now()
  yield* must
  for (const item of may) {
    if (performance.now() - startedAt > budgetMs) return
    yield item
  }
}
