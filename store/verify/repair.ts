// Differences -> what puts them right. Projections are built again from their rows; positions that count too often or too seldom get
// reversing rows through `corrections`, each bound to what was counted when it was decided. Every look begins with what is there, so a
// repair that was cut short is repeated whole.
import { randomUUID } from 'node:crypto'
import { isUuid } from '#proto/ids.ts'
import type { Store } from '#store/client.ts'
import { alterDerived, clearDerived } from '../mutations.ts'
import { buildingOf } from '../projections.ts'
import { type PositionDifference, WRITING } from './positions.ts'
import type { ProjectionDifference } from './projections.ts'
import { GENTLE } from './scope.ts'

/** Positions that one statement names. */
const SLICE = 500
const PINNED = {
  async_insert: 0,
  insert_deduplicate: 0,
  max_threads: 1,
  max_execution_time: 30,
  wait_end_of_query: 1,
  // A slice names every writing of its positions.
  max_query_size: String(4 * 1024 * 1024),
} as const

/** Builds the projections that differ again, in the partitions in which they differ. Reads take the rows meanwhile. */
export async function rebuildProjections(
  store: Store,
  differences: readonly ProjectionDifference[],
  tell: (line: string) => void = () => {},
): Promise<number> {
  let built = 0
  for (const those of Map.groupBy(differences, one => `${one.table} ${one.partitionId}`).values()) {
    const { table, partitionId } = those[0] as ProjectionDifference
    const projections = [...new Set(those.map(({ projection }) => projection))]
    await rebuildIn(store, { table, partitionId, projections }, tell)
    for (const name of projections) tell(`${table}.${name}: built again in partition ${partitionId}`)
    built += projections.length
  }
  return built
}

/**
 * Builds projections of one partition from its rows, and what else its parts lack: parts with some of them would be merged with
 * neither those that have all nor those that have none. Safe to repeat. @throws when the store does not answer.
 */
export async function rebuildIn(
  store: Store,
  place: { table: string; partitionId: string; projections: readonly string[] },
  tell?: (line: string) => void,
): Promise<void> {
  // Materializing skips parts that have one: the old ones have to go first.
  await clearDerived(store, place, tell)
  await alterDerived(store, place.table, await buildingOf(store, place.table, place.partitionId), tell)
}

/** One writing of a position: what it counts. */
interface Writing {
  readonly place: string
  readonly writing: string
  readonly order: string
  readonly s: string
}

/** How many rows of which sign a writing needs, and what it counted when that was decided. */
interface Adjustment {
  readonly writing: string
  readonly sign: 1 | -1
  readonly times: number
  readonly seen: number
}

/** Whose rows may be touched, and until when. */
export interface Guard {
  /** Rows of this partition only: the caller is its owner, and nobody else reverses rows of it meanwhile. */
  readonly partition: number
  /** SQL condition on rows that nobody is about to store, to count or to take back. */
  readonly settled: string
  /** SQL condition that is false once somebody else may have taken the partition over. */
  readonly standing: string
  /** Under which the rows are copied. */
  readonly queryId?: string
}

/** Positions and events that are not right. An event stands there once for each conversation that has it. */
export interface Wrong {
  readonly positions: readonly string[]
  readonly events: readonly { readonly organization: string; readonly conversation: string; readonly event: string }[]
}

/** What of these differences can be corrected. */
export function wrongOf(differences: readonly PositionDifference[]): Wrong {
  return {
    positions: differences.flatMap(({ check, at }) => (check === 'position' ? [at] : [])),
    events: differences.flatMap(({ check, organization, at }) => {
      const [conversations = '', event = ''] = at.split('/')
      return check === 'repeat'
        ? conversations.split(',').map(conversation => ({ organization, conversation, event }))
        : []
    }),
  }
}

/**
 * Reverses what counts too often, returns what was reversed beyond its row; one writing of each position stays. Returns how many
 * rows were written. @throws when the outcome is unknown: whoever calls makes sure that nothing of it can arrive later.
 */
export async function correctPositions(store: Store, { positions, events }: Wrong, guard: Guard): Promise<number> {
  let corrected = 0
  for (let first = 0; first < positions.length; first += SLICE) {
    const tuples = positions.slice(first, first + SLICE).map(tupleOf)
    corrected += await adjust(store, `(${AT}) IN (${tuples.join()})`, 'place', guard)
  }
  for (const some of slicesOf(events)) {
    const tuples = some.map(one => `(${[one.organization, one.conversation, one.event].map(uuidSql).join()})`)
    corrected += await adjust(store, `(organization, conversation_id, event_id) IN (${tuples.join()})`, 'event', guard)
  }
  return corrected
}

/** Events in slices, each with all of its conversations. */
export function slicesOf(events: Wrong['events']): Wrong['events'][] {
  const slices: Wrong['events'][number][][] = []
  for (const group of Map.groupBy(events, ({ organization, event }) => `${organization} ${event}`).values()) {
    if ((slices.at(-1)?.length ?? SLICE) >= SLICE) slices.push([])
    slices.at(-1)?.push(...group)
  }
  return slices
}

const AT = 'origin_partition, origin_sequence, origin_frame, origin_index'
const tupleOf = (at: string): string => `(${at.split('-').map(Number).join()})`

function uuidSql(id: string): string {
  if (!isUuid(id)) throw new Error('an id is no uuid')
  return `toUUID('${id}')`
}

/**
 * Which of the positions of an event stands, whoever looks and whenever: what was received first, in parts that know nothing of each other by
 * their names. Within a partition that is the order of the stream.
 */
export const FIRST_OF_EVENT = `received_at, ${AT}`

/** `of`: what may count once, a position or an event. */
async function adjust(store: Store, where: string, of: 'place' | 'event', guard: Guard): Promise<number> {
  const place = of === 'place' ? `(organization, ${AT})` : '(organization, event_id)'
  const order = of === 'place' ? 'origin_generation DESC, version DESC' : `${FIRST_OF_EVENT}, version DESC`
  // Which writing stays is decided among all; rows of other partitions, and of ranges under way, are left to themselves.
  const writings = await store.read<Writing & { mine: number }>(
    `SELECT toString(${place}) AS place, toString((${WRITING})) AS writing, toString(s) AS s, mine,
        toString(row_number() OVER (PARTITION BY place ORDER BY ${order})) AS order
     FROM (SELECT organization, conversation_id, event_id, received_at, ${WRITING}, sum(sign) AS s,
         origin_partition = ${guard.partition} AND ${guard.settled} AS mine
       FROM events WHERE ${where} GROUP BY organization, conversation_id, event_id, received_at, ${WRITING})
     ORDER BY place, toUInt64(order)`,
    { settings: { ...GENTLE, max_query_size: PINNED.max_query_size } },
  )
  const mine = new Set(writings.filter(one => one.mine === 1).map(({ writing }) => writing))
  const adjustments = adjustmentsOf(writings).filter(({ writing }) => mine.has(writing))
  if (adjustments.length === 0) return 0
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
  // Only what still counts as it did: a second copy of the same, or one that comes late, finds nothing to do.
  const seen = adjustments.map(one => `(${one.writing.slice(1, -1)}, ${one.seen})`)
  await store.command(
    `INSERT INTO events SELECT * FROM corrections WHERE move_id = toUUID('${move}') AND ${guard.standing} AND (${WRITING}) IN (
       SELECT ${WRITING} FROM events WHERE ${where} GROUP BY ${WRITING}
       HAVING (${WRITING}, toInt64(sum(sign))) IN (${seen.join()}))`,
    { settings: PINNED, ...(guard.queryId === undefined ? {} : { queryId: guard.queryId }) },
  )
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
      : [{ writing, sign: surplus > 0 ? (-1 as const) : (1 as const), times: Math.abs(surplus), seen: sum }]
  })
}
