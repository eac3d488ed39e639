// What one statement may take from the store, by what it is asked for: the one table of these limits. Time, rows and memory as a whole
// are settings (PARLEY_QUERY_MAX_…); here stands which share of them, of the cores and of the others' patience a class has.

/** What a statement is asked for. */
export type QueryClass = 'lookUp' | 'page' | 'figures' | 'search' | 'export' | 'sql'

/** Limits of a class. */
export interface ClassLimits {
  /**
   * Cores that work on one statement at most: a store with many must not give all of them to one, and one with few has no use for more
   * threads than cores (see settingsOfClass).
   */
  readonly threads: number
  /**
   * Of these, how many fold signed rows (FINAL). With two the engine cuts what it reads into layers by key first, which costs more than to
   * fold some hundred rows.
   */
  readonly finalThreads: number
  /** Of the memory that one statement may take. */
  readonly memory: number
  /** 1 goes first. Of a later class each block waits while anything of an earlier one runs, but no longer than YIELD_MS. */
  readonly priority: number
  /** Of its threads, as Linux counts it: how far they step back where others want the core. Only where the server may say so. */
  readonly nice: number
}

/**
 * Somebody waits for the first four; an export is fetched in slices by a program. SQL of tenants is whatever they wrote: it makes room, so
 * that a statement that takes all it may is little noticed by the dashboards of others.
 */
export const CLASSES: Readonly<Record<QueryClass, ClassLimits>> = {
  lookUp: { threads: 2, finalThreads: 1, memory: 0.5, priority: 1, nice: 0 },
  page: { threads: 4, finalThreads: 4, memory: 1, priority: 1, nice: 0 },
  figures: { threads: 8, finalThreads: 8, memory: 1, priority: 1, nice: 0 },
  search: { threads: 4, finalThreads: 4, memory: 1, priority: 1, nice: 0 },
  export: { threads: 1, finalThreads: 1, memory: 1, priority: 1, nice: 5 },
  sql: { threads: 2, finalThreads: 2, memory: 1, priority: 2, nice: 10 },
}

/** How long a block of a later class waits at most; then it is computed, so that nothing stands still. Its blocks are small (wall/profiles.ts). */
export const YIELD_MS = 10

/** For a SELECT that folds few rows whatever its class has. */
export const FOLDED_BY_ONE = { max_final_threads: 1 } as const

/** For statements that nobody waits for yet, whatever their class has: one core, and that only while nobody else wants it. */
export const BESIDE = { max_threads: 1, max_final_threads: 1, os_thread_priority: '10' } as const

/** A class as settings of a statement. */
export type ClassSettings = {
  readonly max_threads: number
  readonly max_final_threads: number
  readonly priority: string
  /** Left out where threads step back for nobody. Its old name, which every server knows. */
  readonly os_thread_priority?: string
}

/** Cores and patience of a class as settings of a statement, on a server with so many cores. */
export function settingsOfClass(of: QueryClass, cores = Number.POSITIVE_INFINITY): ClassSettings {
  const { threads, finalThreads, priority, nice } = CLASSES[of]
  return {
    max_threads: Math.min(threads, cores),
    max_final_threads: Math.min(finalThreads, cores),
    priority: String(priority),
    ...(nice === 0 ? {} : { os_thread_priority: String(nice) }),
  }
}
