// Parts that wait in vain for a merge to build their projections -> built where they lie, a partition at a time.
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'
import { buildProjections, strandedParts } from '#store/projections.ts'
import type { Shards } from '#store/shards.ts'

/** What it needs. */
export interface BuilderContext {
  readonly shards: Pick<Shards, 'all'>
  readonly metrics: Metrics
  readonly log: Log
  /** True while the disk has no room for work that can wait. */
  readonly isShort?: () => boolean
  /** How old a part is before it is taken for stranded, in seconds. */
  readonly waitsS?: number
}

/** Makes the work; it returns how many parts it built. What was cut short is found again. @throws when the store does not answer. */
export function createBuilder(context: BuilderContext): (signal: AbortSignal) => Promise<number> {
  const { shards, metrics, log } = context
  const parts = metrics.counter(
    'projections_built_parts_total',
    'parts whose projections were built because no merge takes them, by table',
    ['table'],
  )
  return async signal => {
    let built = 0
    for (const store of context.isShort?.() ? [] : shards.all) {
      for (const stranded of await strandedParts(store, context.waitsS)) {
        signal.throwIfAborted()
        const begun = performance.now()
        await buildProjections(store, stranded.table, stranded.partitionId)
        built += stranded.parts
        parts.inc({ table: stranded.table }, stranded.parts)
        const seconds = Math.round(performance.now() - begun) / 1000
        log.info({ ...stranded, seconds }, 'parts that no merge would take have their projections now')
      }
    }
    return built
  }
}
