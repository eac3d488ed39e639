// The store as dashboard reads see it: through the reader that the store itself narrows to one organization, where there is one.
import { isParleyError } from '#proto/errors.ts'
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { Store } from '#store/client.ts'
import { requireWall } from '#store/wall/raise.ts'

/** A look at the wall that is repeated until the store has answered it once. */
export interface WallCheck {
  /** @throws ParleyError RUN_WALL_OPEN, or why the store does not answer. */
  look(): Promise<void>
}

/** Makes the check of the readers of all shards; `walled` false says in the log and in a metric that there is nothing to check. */
export function createWallCheck(options: {
  readers: readonly Store[]
  walled: boolean
  metrics: Metrics
  log: Log
}): WallCheck {
  const { readers, walled } = options
  const gauge = options.metrics.gauge('query_walled', '1 when the store itself narrows reads to one organization')
  gauge.set(walled ? 1 : 0)
  if (!walled) options.log.warn('reads have no wall beneath them: PARLEY_READER_URL is not set')
  let looked = !walled
  return {
    look: async () => {
      if (looked) return
      for (const reader of readers) await requireWall(reader)
      looked = true
    },
  }
}

/** True for the one reason of a failed look that must end the process. */
export const isOpen = (error: unknown): boolean => isParleyError(error) && error.code === 'RUN_WALL_OPEN'
