// Every position of the streams counts once: what doubled, torn or orphaned rows would do to every sum is found here, and it is
// looked for in settled positions only. What a correction is just doing is asked again until it has done it.
import type { Store } from '#store/client.ts'
import { GENTLE, isSettled, ofOrganization, ofScope, type VerifyScope } from './scope.ts'

/** A position that doesn't count once, or an event that stands at several. */
export interface PositionDifference {
  readonly check: 'position' | 'repeat' | 'capture'
  readonly organization: string
  /** partition-sequence-frame-index, or conversation/event of a repeat: conversations with a comma between them where there are several. */
  readonly at: string
  readonly sum: number
  readonly detail: string
}

/** What was counted. */
export interface PositionReport {
  readonly differences: readonly PositionDifference[]
  readonly rows: number
}

/** Rows that one question groups. */
const CHUNK_ROWS = 4_000_000
/** Differences that are named; more would tell nothing more. */
const NAMED_MAX = 1_000
/** Corrections insert their two sides with different statements: what is seen between them is gone at one of the next looks. */
const LOOKS = 4
const LOOK_PAUSE_MS = 1_500

/** Which rows of events are one row and its reversal. */
export const WRITING = 'origin_partition, origin_generation, origin_sequence, origin_frame, origin_index, version'
const PLACE = 'organization, origin_partition, origin_sequence, origin_frame, origin_index'

/** Up to where everything is settled, who hears of progress, and how long to wait before what differs is asked again. */
export interface CountOptions {
  readonly settled: ReadonlyMap<number, number>
  readonly tell?: ((line: string) => void) | undefined
  readonly lookPauseMs?: number | undefined
}

/** Counts every settled position of the scope. @throws when the store does not answer. */
export async function countPositions(
  store: Store,
  scope: VerifyScope,
  { settled, tell = () => {}, lookPauseMs = LOOK_PAUSE_MS }: CountOptions,
): Promise<PositionReport> {
  const lasting = (look: () => Promise<PositionDifference[]>): Promise<PositionDifference[]> =>
    askAgain(look, lookPauseMs)
  const where = `${ofScope(scope).sql} AND ${isSettled(settled)}`
  const { parameters } = ofScope(scope)
  const months = await store.read<{ month: string; rows: string }>(
    `SELECT toString(toYYYYMM(ts)) AS month, toString(count()) AS rows FROM events WHERE ${where} GROUP BY month ORDER BY month`,
    { parameters, settings: GENTLE },
  )
  const differences: PositionDifference[] = []
  let rows = 0
  for (const month of months) {
    rows += Number(month.rows)
    for (const chunk of chunkConditions(Number(month.rows), 'origin_sequence')) {
      differences.push(
        ...(await lasting(() =>
          oddPositions(store, `${where} AND toYYYYMM(ts) = ${month.month} AND ${chunk}`, parameters),
        )),
      )
    }
    tell(`events of ${month.month}: ${month.rows} rows, ${differences.length} differences so far`)
  }
  // Repeats may stand in other months: an event without a time of its own has that of its arrival.
  for (const chunk of chunkConditions(rows, 'event_id')) {
    differences.push(...(await lasting(() => repeats(store, `${where} AND ${chunk}`, parameters))))
  }
  differences.push(...(await captures(store, scope, settled, lasting)))
  tell(`positions: ${rows} rows, ${differences.length} differences`)
  return { differences: differences.slice(0, NAMED_MAX), rows }
}

function chunkConditions(rows: number, column: string): string[] {
  const chunks = Math.max(1, Math.ceil(rows / CHUNK_ROWS))
  return Array.from({ length: chunks }, (_, i) => (chunks === 1 ? '1' : `cityHash64(${column}) % ${chunks} = ${i}`))
}

/** Only what every look finds, unchanged. */
async function askAgain(look: () => Promise<PositionDifference[]>, pauseMs: number): Promise<PositionDifference[]> {
  let found = await look()
  for (let again = 1; again < LOOKS && found.length > 0; again++) {
    await new Promise(resolve => setTimeout(resolve, pauseMs))
    const now = new Set((await look()).map(textOf))
    found = found.filter(one => now.has(textOf(one)))
  }
  return found
}

const textOf = ({ check, organization, at, sum }: PositionDifference): string => `${check} ${organization} ${at} ${sum}`

type Parameters = ReturnType<typeof ofScope>['parameters']

async function oddPositions(store: Store, where: string, parameters: Parameters): Promise<PositionDifference[]> {
  const found = await store.read<{ organization: string; at: string; sum: string; least: string; most: string }>(
    `SELECT organization, concat(toString(origin_partition), '-', toString(origin_sequence), '-', toString(origin_frame), '-',
        toString(origin_index)) AS at, sum(s) AS sum, min(s) AS least, max(s) AS most
     FROM (SELECT organization, ${WRITING}, sum(sign) AS s FROM events WHERE ${where} GROUP BY organization, ${WRITING})
     GROUP BY ${PLACE}
     HAVING sum > 1 OR least < 0 OR most > 1
     ORDER BY ${PLACE} LIMIT ${NAMED_MAX}`,
    { parameters, settings: GENTLE },
  )
  return found.map(({ organization, at, sum, least, most }) => ({
    check: 'position',
    organization,
    at,
    sum: Number(sum),
    detail: `counts ${sum} times; its writings count between ${least} and ${most} times`,
  }))
}

async function repeats(store: Store, where: string, parameters: Parameters): Promise<PositionDifference[]> {
  const found = await store.read<{ organization: string; at: string; sum: string; places: string }>(
    `SELECT organization, concat(arrayStringConcat(arraySort(groupUniqArray(toString(conversation_id))), ','), '/', toString(event_id)) AS at,
       sum(s) AS sum, count() AS places
     FROM (SELECT ${PLACE}, conversation_id, event_id, sum(sign) AS s FROM events WHERE ${where}
       GROUP BY ${PLACE}, conversation_id, event_id HAVING s > 0)
     GROUP BY organization, event_id
     HAVING places > 1
     ORDER BY organization, at LIMIT ${NAMED_MAX}`,
    { parameters, settings: GENTLE },
  )
  return found.map(({ organization, at, sum, places }) => ({
    check: 'repeat',
    organization,
    at,
    sum: Number(sum),
    detail: `stands at ${places} positions`,
  }))
}

/**
 * Captures and texts have no sign: the same position twice is told, though reads show the latest only. A capture may stand once more in
 * the conversation that its trace was linked to.
 */
async function captures(
  store: Store,
  scope: VerifyScope,
  settled: ReadonlyMap<number, number>,
  lasting: (look: () => Promise<PositionDifference[]>) => Promise<PositionDifference[]>,
): Promise<PositionDifference[]> {
  const differences: PositionDifference[] = []
  for (const table of ['sessions', 'texts'] as const) {
    // Captures are not cut by time.
    const { sql, parameters } = table === 'sessions' ? ofOrganization(scope) : ofScope(scope)
    const where = `${sql} AND ${isSettled(settled)}`
    const place = table === 'sessions' ? `${PLACE}, conversation_id` : PLACE
    const [total] = await store.read<{ rows: string }>(
      `SELECT toString(count()) AS rows FROM ${table} WHERE ${where}`,
      {
        parameters,
        settings: GENTLE,
      },
    )
    for (const chunk of chunkConditions(Number(total?.rows ?? 0), 'origin_sequence')) {
      const look = async (): Promise<PositionDifference[]> => {
        const found = await store.read<{ organization: string; at: string; n: string }>(
          `SELECT organization, concat(toString(origin_partition), '-', toString(origin_sequence), '-', toString(origin_frame),
              '-', toString(origin_index)) AS at, toString(count()) AS n
           FROM ${table} WHERE ${where} AND ${chunk} GROUP BY ${place} HAVING count() > 1
           ORDER BY ${PLACE} LIMIT ${NAMED_MAX}`,
          { parameters, settings: GENTLE },
        )
        return found.map(({ organization, at, n }) => ({
          check: 'capture',
          organization,
          at,
          sum: Number(n),
          detail: `stands ${n} times in ${table}`,
        }))
      }
      differences.push(...(await lasting(look)))
    }
  }
  return differences
}
