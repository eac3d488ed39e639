// An ALTER that clears or builds what is derived comes in; when it is answered it has been carried out. The engine refuses to clear what an
// earlier ALTER is still building, gives up to wait for one that is cut short, and goes on with what a killed caller has asked for.
import { setTimeout as delay } from 'node:timers/promises'
import { ClickHouseError } from '@clickhouse/client'
import type { Store } from './client.ts'
import { inPartition } from './partition.ts'

/** What the engine says of a projection or index that an unfinished mutation affects, and of much else. */
const BAD_ARGUMENTS = '36'
/** The rewriting of a part was cut short, because it was merged, dropped or held back meanwhile; the engine does it again. */
const UNFINISHED = '341'
const TRIES = 5
const FIRST_PAUSE_MS = 50
/** Building a month takes minutes to hours. */
const LONGEST_PAUSE_MS = 5_000

/** What is cleared: parts of one partition lose what they hold of it, and reads take the rows. */
export interface Clearing {
  readonly table: string
  readonly partitionId: string
  readonly projections?: readonly string[]
  readonly indexes?: readonly string[]
}

/** Clears projections and indexes of a partition, by one ALTER, as `alterDerived` does. */
export function clearDerived(
  store: Store,
  { table, partitionId, projections = [], indexes = [] }: Clearing,
  tell?: (line: string) => void,
): Promise<void> {
  const where = inPartition(partitionId)
  const cleared = [...projections.map(name => `PROJECTION ${name}`), ...indexes.map(name => `INDEX ${name}`)]
  return alterDerived(store, table, cleared.map(what => `CLEAR ${what} ${where}`).join(', '), tell)
}

/**
 * Clears or builds what is derived, after what else is under way at the table where that stands in the way, and waits for it. Precondition:
 * asking twice does what asking once does. `tell` hears what is waited for.
 * @throws when the store does not answer, knows no such thing, or cuts it short again and again.
 */
export async function alterDerived(
  store: Store,
  table: string,
  commands: string,
  tell: (line: string) => void = () => {},
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await store.command(`ALTER TABLE ${table} ${commands}`, {
        settings: { mutations_sync: '2', max_execution_time: 0 },
      })
      return
    } catch (error) {
      const passes = error instanceof ClickHouseError && (error.code === BAD_ARGUMENTS || error.code === UNFINISHED)
      if (!passes || attempt === TRIES) throw error
    }
    await mutationsEnd(store, table, tell)
  }
}

/** Waits for the mutations of a table that are under way. One that fails is tried by the engine again and again: its reason is told. */
async function mutationsEnd(store: Store, table: string, tell: (line: string) => void): Promise<void> {
  const told = new Set<string>()
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const unfinished = await store.read<{ id: string; reason: string }>(
      `SELECT mutation_id AS id, any(latest_fail_reason) AS reason FROM system.mutations
       WHERE database = {database:String} AND table = {table:String} AND NOT is_done GROUP BY id ORDER BY id`,
      { parameters: { database: store.database, table } },
    )
    if (unfinished.length === 0) return
    for (const { id, reason } of unfinished) {
      const line = `waits for ${id} of ${table}${reason === '' ? '' : `, which fails: ${reason}`}`
      if (!told.has(line)) tell(line)
      told.add(line)
    }
    await delay(pauseMs)
  }
}
