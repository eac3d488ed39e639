// One run of all checks: what differs, and what was done about it.
import type { Store } from '#store/client.ts'
import type { Shards } from '#store/shards.ts'
import { countPositions, type PositionDifference, type PositionReport } from './positions.ts'
import { compareProjections, type ProjectionDifference, type ProjectionReport } from './projections.ts'
import { rebuildProjections, type Wrong, wrongOf } from './repair.ts'
import type { VerifyScope } from './scope.ts'

export type Difference = ProjectionDifference | PositionDifference

/** What a run found. */
export interface VerifyReport {
  /** Of the last look: after a repair, what it left. */
  readonly differences: readonly Difference[]
  /** Before a repair. */
  readonly found: number
  readonly rows: number
  readonly compared: number
  readonly unbuilt: number
  readonly missed: number
  readonly seconds: number
}

/** How to run. */
export interface VerifyOptions extends VerifyScope {
  /** Where everything is settled, asked before each look. */
  readonly settled: () => Promise<ReadonlyMap<number, number>>
  /** Puts positions right that count wrong; absent: nothing is repaired, projections neither. Only owners may reverse rows. */
  readonly repair?: (wrong: Wrong, tell: (line: string) => void) => Promise<void>
  readonly tell?: (line: string) => void
  /** Pause before what differs is asked again. */
  readonly lookPauseMs?: number
}

/** Runs every check once; with `repair` also puts right what it can and looks again. @throws when the store does not answer. */
export async function verify(store: Store, options: VerifyOptions): Promise<VerifyReport> {
  const { tell = () => {} } = options
  const begun = performance.now()
  let [projections, positions] = await look(store, options)
  const found = projections.differences.length + positions.differences.length
  if (options.repair && found > 0) {
    await rebuildProjections(store, projections.differences, tell)
    const wrong = wrongOf(positions.differences)
    if (wrong.positions.length + wrong.events.length > 0) await options.repair(wrong, tell)
    ;[projections, positions] = await look(store, options)
  }
  return {
    differences: [...projections.differences, ...positions.differences],
    found,
    rows: positions.rows,
    compared: projections.compared,
    unbuilt: projections.unbuilt,
    missed: projections.missed,
    seconds: Math.round((performance.now() - begun) / 100) / 10,
  }
}

/** The same of every shard, one after the other; what is found in any of them is found. */
export async function verifyShards({ all }: Shards, options: VerifyOptions): Promise<VerifyReport> {
  const reports: VerifyReport[] = []
  for (const store of all) reports.push(await verify(store, options))
  const sum = (of: (report: VerifyReport) => number): number => reports.reduce((total, one) => total + of(one), 0)
  return {
    differences: reports.flatMap(({ differences }) => differences),
    found: sum(({ found }) => found),
    rows: sum(({ rows }) => rows),
    compared: sum(({ compared }) => compared),
    unbuilt: sum(({ unbuilt }) => unbuilt),
    missed: sum(({ missed }) => missed),
    seconds: Math.round(sum(({ seconds }) => seconds) * 10) / 10,
  }
}

async function look(store: Store, options: VerifyOptions): Promise<[ProjectionReport, PositionReport]> {
  const projections = await compareProjections(store, options, options.tell)
  return [projections, await countPositions(store, options, { ...options, settled: await options.settled() })]
}
