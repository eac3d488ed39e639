// Every projection against the rows it was made of, part by part. A part never changes, and a projection lives and dies with its
// part: both answers speak of the same rows however much is inserted and merged meanwhile, so nobody has to be stopped.
import type { Store } from '#store/client.ts'
import { GENTLE, ofOrganization, type VerifyScope } from './scope.ts'

/** A projection that doesn't hold what its part says. */
export interface ProjectionDifference {
  readonly check: 'projection'
  readonly table: string
  readonly projection: string
  readonly part: string
  readonly partitionId: string
  readonly detail: string
}

/** What was compared. */
export interface ProjectionReport {
  readonly differences: readonly ProjectionDifference[]
  /** Parts times projections. */
  readonly compared: number
  /** Parts that have no such projection (yet): reads take their rows. */
  readonly unbuilt: number
  /** Merged away faster than they could be compared. */
  readonly missed: number
}

/** A projection as the engine describes it. */
export interface Projection {
  readonly table: string
  readonly name: string
  readonly type: 'Aggregate' | 'Normal'
  readonly query: string
}

interface Part {
  readonly name: string
  readonly partition_id: string
  readonly min_block: string
  readonly max_block: string
  readonly rows: string
  readonly projections: readonly string[]
}

/** Rows of one question: as many as its groups may take memory for. */
const CHUNK_ROWS = 4_000_000
/** A part that was merged away is looked for in the part that took it up, this often. */
const TRIES = 5
const SAMPLES = 3

/** Tables that hold projections over rows. */
export const TABLES = ['events', 'sessions'] as const

/** Compares all projections of all parts of the scope. `tell` hears of progress. @throws when the store does not answer. */
export async function compareProjections(
  store: Store,
  scope: VerifyScope,
  tell: (line: string) => void = () => {},
): Promise<ProjectionReport> {
  const differences: ProjectionDifference[] = []
  let [compared, unbuilt, missed] = [0, 0, 0]
  for (const table of scope.tables ?? TABLES) {
    for (const projection of await projectionsOf(store, table)) {
      const answers = await readingsOf(store, projection)
      let pending = await partsOf(store, table, scope)
      for (let attempt = 0; pending.length > 0; attempt++) {
        const built = pending.filter(part => part.projections.includes(projection.name))
        unbuilt += pending.length - built.length
        const gone: Part[] = []
        for (const parts of chunksOf(built)) {
          const outcome = await compareParts(store, answers, parts, scope)
          differences.push(...outcome.differences)
          compared += parts.length - outcome.gone.length
          gone.push(...outcome.gone)
        }
        if (gone.length > 0 && attempt === TRIES) missed += gone.length
        pending = attempt < TRIES ? await successorsOf(store, table, scope, gone) : []
      }
      tell(`${table}.${projection.name}: compared, ${differences.length} differences so far`)
    }
  }
  return { differences, compared, unbuilt, missed }
}

/** The projections of a table, as the engine describes them. */
export async function projectionsOf(store: Store, table: string): Promise<Projection[]> {
  return store.read<Projection>(
    `SELECT table, name, type, query FROM system.projections
     WHERE database = {database:String} AND table = {table:String} ORDER BY name`,
    { parameters: { database: store.database, table } },
  )
}

/** Two questions that have to be answered alike: what the rows of parts come to, and what the projection says. */
interface Readings {
  readonly projection: Projection
  readonly rows: (where: string) => string
  readonly held: (where: string) => string
}

/** Both questions about a projection. */
export async function readingsOf(store: Store, projection: Projection): Promise<Readings> {
  const { table, name, type, query } = projection
  const source = heldBy(store, projection)
  const list = /^SELECT (.*?) (?:GROUP|ORDER) BY (.*)$/s.exec(query)
  if (!list) throw new Error(`the projection ${table}.${name} reads ${query}`)
  const [, columns = '', keys = ''] = list
  if (type === 'Normal') {
    const select = (from: string) => (where: string) => `SELECT _part AS part, ${columns} FROM ${from} WHERE ${where}`
    return { projection, rows: select(table), held: select(source) }
  }
  const { outputs, groups } = await heldColumnsOf(store, projection)
  return {
    projection,
    rows: where => `SELECT _part AS part, ${columns} FROM ${table} WHERE ${where} GROUP BY part, ${keys}`,
    held: where =>
      `SELECT _part AS part, ${outputs.join(', ')} FROM ${source} WHERE ${where} GROUP BY ${['part', ...groups].join(', ')}`,
  }
}

/** The table function that reads a projection by itself. */
export const heldBy = ({ database }: Store, { table, name }: Pick<Projection, 'table' | 'name'>): string =>
  `mergeTreeProjection(${database}, ${table}, ${name})`

/** What of an aggregate projection is read, and by what its groups are told apart. @throws when the store does not answer. */
export async function heldColumnsOf(
  store: Store,
  projection: Pick<Projection, 'table' | 'name'>,
): Promise<{ readonly outputs: readonly string[]; readonly groups: readonly string[] }> {
  const held = await store.read<{ name: string; type: string }>(`DESCRIBE TABLE ${heldBy(store, projection)}`)
  return {
    outputs: held.map(column => mergedOf(column)),
    groups: held.filter(column => !isState(column)).map(({ name: key }) => quoted(key)),
  }
}

/** A state's function, and the parameters that it has, in parentheses. */
const STATE = /^(Simple)?AggregateFunction\((\w+)(\([^()]*\))?/
const isState = ({ type }: { type: string }): boolean => STATE.test(type)
const quoted = (name: string): string => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``

function mergedOf(column: { name: string; type: string }): string {
  const [, simple, name, parameters = ''] = STATE.exec(column.type) ?? []
  if (name === undefined) return quoted(column.name)
  return `${name}${simple === undefined ? 'Merge' : ''}${parameters}(${quoted(column.name)})`
}

async function partsOf(store: Store, table: string, scope: VerifyScope): Promise<Part[]> {
  const time = [
    ...(scope.fromMs === undefined || table === 'sessions'
      ? []
      : ['max_time >= fromUnixTimestamp64Milli({from:Int64})']),
    ...(scope.toMs === undefined || table === 'sessions' ? [] : ['min_time < fromUnixTimestamp64Milli({to:Int64})']),
    ...(scope.partitionIds === undefined ? [] : ['partition_id IN {partition_ids:Array(String)}']),
  ]
  return store.read<Part>(
    `SELECT name, partition_id, min_block_number AS min_block, max_block_number AS max_block, rows, projections
     FROM system.parts
     WHERE database = {database:String} AND table = {table:String} AND active AND rows > 0
       ${time.map(condition => `AND ${condition}`).join(' ')}
     ORDER BY partition_id, min_block_number`,
    {
      parameters: {
        database: store.database,
        table,
        ...(scope.fromMs === undefined ? {} : { from: scope.fromMs }),
        ...(scope.toMs === undefined ? {} : { to: scope.toMs }),
        ...(scope.partitionIds === undefined ? {} : { partition_ids: scope.partitionIds }),
      },
    },
  )
}

/** The parts that took up parts that are gone. */
async function successorsOf(store: Store, table: string, scope: VerifyScope, gone: readonly Part[]): Promise<Part[]> {
  if (gone.length === 0) return []
  const now = await partsOf(store, table, scope)
  return now.filter(part =>
    gone.some(
      old =>
        old.partition_id === part.partition_id &&
        Number(part.min_block) <= Number(old.min_block) &&
        Number(part.max_block) >= Number(old.max_block),
    ),
  )
}

function chunksOf(parts: readonly Part[]): Part[][] {
  const chunks: Part[][] = []
  let rows = 0
  for (const part of parts) {
    rows += Number(part.rows)
    if (chunks.length === 0 || rows > CHUNK_ROWS) {
      chunks.push([])
      rows = Number(part.rows)
    }
    chunks.at(-1)?.push(part)
  }
  return chunks
}

interface Digest {
  readonly part: string
  readonly groups: string
  readonly digest: string
}

async function compareParts(
  store: Store,
  readings: Readings,
  parts: readonly Part[],
  scope: VerifyScope,
): Promise<{ differences: ProjectionDifference[]; gone: Part[] }> {
  const ours = ofOrganization(scope)
  const parameters = { ...ours.parameters, parts: parts.map(part => part.name) }
  const where = `_part IN {parts:Array(String)} AND ${ours.sql}`
  const ask = (sql: string) =>
    store.read<Digest>(
      `SELECT part, toString(count()) AS groups, toString(sum(cityHash64(*))) AS digest FROM (${sql}) GROUP BY part`,
      { parameters, settings: GENTLE },
    )
  const fromRows = digestsOf(await ask(readings.rows(where)))
  const fromHeld = digestsOf(await ask(readings.held(where)))
  const suspects = parts.filter(part => fromRows.get(part.name) !== fromHeld.get(part.name))
  // A part that went away between the two questions is no difference: what is still there counts.
  const still = new Set(
    suspects.length === 0 ? [] : (await partsOf(store, readings.projection.table, scope)).map(p => p.name),
  )
  const differences: ProjectionDifference[] = []
  const gone: Part[] = []
  for (const part of suspects) {
    if (!still.has(part.name)) {
      gone.push(part)
      continue
    }
    const { table, name: projection } = readings.projection
    const detail = await detailOf(store, readings, part, scope)
    differences.push({
      check: 'projection',
      table,
      projection,
      part: part.name,
      partitionId: part.partition_id,
      detail,
    })
  }
  return { differences, gone }
}

const digestsOf = (rows: readonly Digest[]): Map<string, string> =>
  new Map(rows.map(({ part, groups, digest }) => [part, `${groups}/${digest}`]))

// With one snapshot for both, the engine takes the table for its projection and misses the table's columns.
const APART = { enable_shared_storage_snapshot_in_query: 0 } as const

/** Some groups that differ, in words. */
async function detailOf(store: Store, readings: Readings, part: Part, scope: VerifyScope): Promise<string> {
  const ours = ofOrganization(scope)
  const where = `_part = {part:String} AND ${ours.sql}`
  const [rows, held] = [readings.rows(where), readings.held(where)]
  const beyond = async (these: string, those: string): Promise<string[]> => {
    const found = await store.read<{ group: string }>(
      `SELECT toString(tuple(*)) AS group FROM (${these})
       WHERE cityHash64(*) NOT IN (SELECT cityHash64(*) FROM (${those})) LIMIT ${SAMPLES}`,
      { parameters: { ...ours.parameters, part: part.name }, settings: { ...GENTLE, ...APART } },
    )
    return found.map(row => row.group)
  }
  const missing = await beyond(rows, held)
  const wrong = await beyond(held, rows)
  return `rows say ${missing.join(' ') || 'nothing else'}; the projection says ${wrong.join(' ') || 'nothing else'}`
}
