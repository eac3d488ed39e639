// Differences -> what puts them right. Projections are built again from their rows; positions that count too often or too seldom get
// reversing rows through `corrections`. Every statement looks at what is there, so a repair that was cut short is repeated whole.
import { randomUUID } from 'node:crypto'
import type { Store } from '#store/client.ts'
import { type PositionDifference, WRITING } from './positions.ts'
import type { ProjectionDifference } from './projections.ts'
import { GENTLE } from './scope.ts'

/** Positions that one statement names. */
const SLICE = 500
const PINNED = { async_insert: 0, insert_deduplicate: 0, max_threads: 1 } as const

/** Builds the projections that differ again, in the partitions in which they differ. Reads take the rows meanwhile. */
export async function rebuildProjections(
  store: Store,
  differences: readonly ProjectionDifference[],
  tell: (line: string) => void = () => {},
): Promise<number> {
  const places = new Map(differences.map(one => [`${one.table} ${one.projection} ${one.partitionId}`, one] as const))
  for (const { table, projection, partitionId } of places.values()) {
    await rebuildProjection(store, { table, projection, partitionId })
    tell(`${table}.${projection}: built again in partition ${partitionId}`)
  }
  return places.size
}

/** Builds one projection of one partition from its rows. Safe to repeat. @throws when the store does not answer. */
export async function rebuildProjection(
  store: Store,
  { table, projection, partitionId }: { table: string; projection: string; partitionId: string },
): Promise<void> {
  const settings = { mutations_sync: '2' } as const
  const where = `IN PARTITION ID '${partitionId.replaceAll("'", '')}'`
  // Materializing skips parts that have one: the old ones have to go first.
  await store.command(`ALTER TABLE ${table} CLEAR PROJECTION ${projection} ${where}`, { settings })
  await store.command(`ALTER TABLE ${table} MATERIALIZE PROJECTION ${projection} ${where}`, { settings })
}

/** One writing of a position: what it counts. */
interface Writing {
  readonly place: string
  readonly writing: string
  readonly order: string
  readonly s: string
}

/** How many rows of which sign a writing needs. */
interface Adjustment {
  readonly writing: string
  readonly sign: 1 | -1
  readonly times: number
}

/** Reverses what counts too often, returns what was reversed beyond its row; one writing of each position stays. */
export async function correctPositions(
  store: Store,
  differences: readonly PositionDifference[],
  tell: (line: string) => void = () => {},
): Promise<number> {
  const odd = differences.filter(({ check }) => check === 'position').map(({ at }) => at)
  const repeated = differences.filter(({ check }) => check === 'repeat')
  let corrected = 0
  for (let first = 0; first < odd.length; first += SLICE) {
    corrected += await adjust(
      store,
      `(${AT}) IN (${odd
        .slice(first, first + SLICE)
        .map(tupleOf)
        .join()})`,
      'place',
    )
  }
  for (let first = 0; first < repeated.length; first += SLICE) {
    const events = repeated.slice(first, first + SLICE).map(({ organization, at }) => {
      const [conversation, event] = at.split('/')
      return `(toUUID('${organization}'), toUUID('${conversation}'), toUUID('${event}'))`
    })
    corrected += await adjust(store, `(organization, conversation_id, event_id) IN (${events.join()})`, 'event')
  }
  if (corrected > 0) tell(`positions: ${corrected} rows written against what counted wrong`)
  return corrected
}

const AT = 'origin_partition, origin_sequence, origin_frame, origin_index'
const tupleOf = (at: string): string => `(${at.split('-').map(Number).join()})`

/** `of`: what may count once, a position or an event. */
async function adjust(store: Store, where: string, of: 'place' | 'event'): Promise<number> {
  const place = of === 'place' ? `(organization, ${AT})` : '(organization, conversation_id, event_id)'
  const writings = await store.read<Writing>(
    `SELECT toString(${place}) AS place, toString((${WRITING})) AS writing, toString(s) AS s,
        toString(row_number() OVER (PARTITION BY place ORDER BY ${of === 'place' ? 'origin_generation DESC, version DESC' : `${AT}, version DESC`})) AS order
     FROM (SELECT organization, conversation_id, event_id, ${WRITING}, sum(sign) AS s FROM events WHERE ${where}
       GROUP BY organization, conversation_id, event_id, ${WRITING})
     ORDER BY place, toUInt64(order)`,
    { settings: GENTLE },
  )
  const adjustments = adjustmentsOf(writings)
  const move = randomUUID()
  for (const [key, group] of Map.groupBy(adjustments, ({ sign, times }) => `${sign}/${times}`)) {
    const [sign = 0, times = 0] = key.split('/').map(Number)
    for (let first = 0; first < group.length; first += SLICE) {
      const these = group.slice(first, first + SLICE).map(({ writing }) => writing)
      await store.command(
        `INSERT INTO corrections SELECT * EXCEPT copy REPLACE (toInt8(${sign}) AS sign, toUUID('${move}') AS move_id) FROM
           (SELECT *, arrayJoin(range(${times})) AS copy FROM
             (SELECT * FROM events WHERE ${where} AND (${WRITING}) IN (${these.join()}) LIMIT 1 BY ${WRITING}))`,
        { settings: PINNED },
      )
    }
  }
  if (adjustments.length > 0) {
    await store.command(`INSERT INTO events SELECT * FROM corrections WHERE move_id = toUUID('${move}')`, {
      settings: PINNED,
    })
  }
  return adjustments.reduce((sum, { times }) => sum + times, 0)
}

/** The first writing of each place that counts keeps counting once; everything else comes to nothing. */
export function adjustmentsOf(writings: readonly Writing[]): Adjustment[] {
  const kept = new Set<string>()
  return writings.flatMap(({ place, writing, s }) => {
    const sum = Number(s)
    const keeps = sum > 0 && !kept.has(place)
    if (keeps) kept.add(place)
    const surplus = sum - (keeps ? 1 : 0)
    return surplus === 0
      ? []
      : [{ writing, sign: surplus > 0 ? (-1 as const) : (1 as const), times: Math.abs(surplus) }]
  })
}
