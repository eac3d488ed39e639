// Parts whose projections no merge will build -> parts that have them. Inserts write rows alone; the first merge of a part builds its
// projections. But the engine merges only neighbours that have the same ones, so a part that merges on both sides passed by would stay
// as it is for ever, and keep its neighbours apart.
import type { Store } from './client.ts'
import { inPartition } from './partition.ts'
import { projectionsOf, TABLES } from './verify/projections.ts'

/** Some parts of a partition that wait in vain. */
export interface Stranded {
  readonly table: string
  readonly partitionId: string
  readonly parts: number
  readonly rows: number
}

/** Merges of what was just inserted begin within seconds, unless the machine is very busy. */
const WAITS_S = 600
/** A part of so many rows costs reads more while it waits for others than building what it lacks. */
const LARGE_ROWS = 100_000

interface Part {
  readonly table: string
  readonly partition_id: string
  readonly rows: string
  readonly old: number
  readonly held: readonly string[]
}

/**
 * What of the store waits in vain: parts that lack projections, are older than `waitsS` seconds, and are large, or lie between parts that
 * have others. The newest part of a partition is nobody's neighbour yet. @throws when the store does not answer.
 */
export async function strandedParts(store: Store, waitsS = WAITS_S): Promise<Stranded[]> {
  const wanted = new Map(
    await Promise.all(
      TABLES.map(async table => [table as string, (await projectionsOf(store, table)).length] as const),
    ),
  )
  const parts = await store.read<Part>(
    `SELECT table, partition_id, rows, modification_time <= now() - {waits:UInt32} AS old, arraySort(projections) AS held FROM system.parts
     WHERE database = {database:String} AND table IN {tables:Array(String)} AND active
     ORDER BY table, partition_id, min_block_number`,
    { parameters: { database: store.database, tables: [...TABLES], waits: waitsS } },
  )
  const places = Map.groupBy(parts, part => `${part.table} ${part.partition_id}`)
  return [...places.values()].flatMap(those => {
    const alike = (i: number, j: number): boolean => those[i]?.held.join() === those[j]?.held.join()
    const stranded = those.filter((part, i) => {
      if (part.old === 0 || part.held.length === wanted.get(part.table)) return false
      return Number(part.rows) >= LARGE_ROWS || (i < those.length - 1 && !alike(i, i + 1) && !alike(i, i - 1))
    })
    const { table, partition_id: partitionId } = those[0] as Part
    const rows = stranded.reduce((sum, part) => sum + Number(part.rows), 0)
    return stranded.length === 0 ? [] : [{ table, partitionId, parts: stranded.length, rows }]
  })
}

/**
 * Builds what the parts of a table lack, of one partition or of all, and waits for it. Parts that have everything are linked, not
 * written. Safe to repeat. @throws when the store does not answer.
 */
export async function buildProjections(store: Store, table: string, partitionId?: string): Promise<void> {
  await store.command(`ALTER TABLE ${table} ${await buildingOf(store, table, partitionId)}`, {
    settings: { mutations_sync: '2', max_execution_time: 0 },
  })
}

/** The commands of an ALTER that builds what parts lack. */
export async function buildingOf(store: Store, table: string, partitionId?: string): Promise<string> {
  const where = partitionId === undefined ? '' : ` ${inPartition(partitionId)}`
  return (await projectionsOf(store, table)).map(({ name }) => `MATERIALIZE PROJECTION ${name}${where}`).join(', ')
}
