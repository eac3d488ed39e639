// Deletions that are waited for: an ALTER TABLE … DELETE comes in, its rows are gone from every part when it is answered. What the engine
// cut short in the middle is asked for again.
import { setTimeout as delay } from 'node:timers/promises'
import { ClickHouseError } from '@clickhouse/client'
import type { Parameter, Store } from './client.ts'
import { inPartition } from './partition.ts'

/** UNFINISHED: the rewriting of a part was cancelled, because the part was merged, dropped or held back meanwhile. */
const UNFINISHED = '341'
const TRIES = 5
const PAUSE_MS = 500
/** Conditions may ask other tables, and every part is waited for, however long that takes. */
const SETTINGS = { mutations_sync: '2', allow_nondeterministic_mutations: 1, max_execution_time: 0 } as const

/** What is deleted. */
export interface Deletion {
  readonly table: string
  /** The id of a partition; all of them without. */
  readonly partition?: string
  readonly where: string
  readonly parameters: Readonly<Record<string, Parameter>>
  readonly signal: AbortSignal
}

/**
 * Deletes the rows of a table, or of one partition of it, that meet `where`. The condition alone says what goes, so asking once more
 * deletes nothing else; the later statement waits for the earlier one, too.
 * @throws what the engine says, when it is anything else or comes again and again; on abort.
 */
export async function deleteRows(
  store: Store,
  { table, partition, where, parameters, signal }: Deletion,
): Promise<void> {
  const within = partition === undefined ? '' : `${inPartition(partition)} `
  const sql = `ALTER TABLE ${table} DELETE ${within}WHERE ${where}`
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted()
    try {
      await store.command(sql, { parameters, settings: SETTINGS })
      return
    } catch (error) {
      if (!(error instanceof ClickHouseError) || error.code !== UNFINISHED || attempt === TRIES) throw error
      await delay(attempt * PAUSE_MS, undefined, { signal })
    }
  }
}
