// What was captured under the stand-in of a trace -> the conversation at which its spans are at home. Captures have no sign; one that
// stands twice says the same, so both steps may be repeated.
import type { Store } from '#store/client.ts'
import { BY_CONDITION, NAMING } from './engine-settings.ts'
import {
  homesTable,
  inOrganizations,
  type LinkedTrace,
  list,
  ofTraces,
  POSITION,
  RANK,
  type Slice,
  setOf,
} from './moves.ts'

/** Traces that one deletion of captures names: its text is kept with the table. */
const DROP_TRACES = 500

/** Of these traces the ones under whose stand-ins something was captured: few. @throws when the store is away. */
export async function capturedOf(store: Store, { partition, traces, settled }: Slice): Promise<readonly LinkedTrace[]> {
  const moved = traces.filter(one => one.provisional !== one.home)
  if (moved.length === 0) return []
  const rows = await store.read<{ id: string }>(
    `SELECT DISTINCT conversation_id AS id FROM sessions
      WHERE ${inOrganizations(moved)} AND conversation_id IN ${setOf(moved.map(one => one.provisional))} AND source = 'otlp'
        AND origin_partition = ${partition} AND ${settled}`,
    { settings: NAMING },
  )
  const captured = new Set(rows.map(({ id }) => id))
  return moved.filter(({ provisional }) => captured.has(provisional))
}

/**
 * Lets the conversations of traces know what was captured under their stand-ins: the user that a span names, and traits.
 * @throws when the outcome is unknown.
 */
export async function copyCaptures(store: Store, { partition, settled, traces }: Slice): Promise<void> {
  const captured = traces.filter(one => one.provisional !== one.home)
  if (captured.length === 0) return
  const organizations = inOrganizations(captured)
  const there = `SELECT organization, conversation_id, ${POSITION} FROM sessions
      WHERE ${organizations} AND conversation_id IN ${setOf(captured.map(one => one.home))} AND origin_partition = ${partition}`
  const sql = `
    INSERT INTO sessions
    SELECT * EXCEPT (home, home_session) REPLACE (home AS conversation_id, home_session AS session_id)
    FROM (
      SELECT captured.*, homes.home AS home, homes.home_session AS home_session
      FROM (SELECT * FROM sessions
        WHERE ${organizations} AND conversation_id IN ${setOf(captured.map(one => one.provisional))} AND source = 'otlp'
          AND origin_partition = ${partition} AND ${settled}) AS captured
      INNER JOIN ${homesTable(captured)} AS homes
        ON captured.organization = homes.of_organization AND captured.conversation_id = homes.stand_in
      WHERE (captured.organization, homes.home, ${POSITION}) NOT IN (${there}))`
  let told = false
  const onWritten = (): void => {
    told = true
  }
  await store.command(sql, { settings: BY_CONDITION, onWritten })
  if (!told) throw new Error('the engine does not say what became of captures')
}

/** Takes back what `copyCaptures` wrote for homes that are none any more; mostly nothing. @throws when the outcome is unknown. */
export async function dropCaptures(store: Store, { partition, traces }: Slice): Promise<void> {
  const several = traces.filter(({ home, provisional, linked }) => linked.some(id => id !== home && id !== provisional))
  for (let first = 0; first < several.length; first += DROP_TRACES) {
    await dropFormer(store, partition, several.slice(first, first + DROP_TRACES))
  }
}

/** Homes as links say them: the text of a deletion is kept, and no session of anybody may be kept with it. */
const homesSql = (traces: readonly LinkedTrace[]): string => `
    SELECT organization AS of_organization, trace_id AS of_trace, argMin(conversation_id, ${RANK}) AS home
    FROM links WHERE ${ofTraces(traces)}
    GROUP BY organization, trace_id`

async function dropFormer(store: Store, partition: number, several: readonly LinkedTrace[]): Promise<void> {
  const organizations = list(several.map(one => one.organization))
  const copied = `
    SELECT captured.organization, former.conversation_id, ${POSITION}
    FROM (SELECT organization, conversation_id, ${POSITION} FROM sessions
      WHERE organization IN (${organizations}) AND conversation_id IN (${list(several.map(one => one.provisional))})
        AND origin_partition = ${partition}) AS captured
    INNER JOIN (SELECT DISTINCT organization, trace_id, provisional_id, conversation_id FROM links WHERE ${ofTraces(several)}) AS former
      ON captured.organization = former.organization AND captured.conversation_id = former.provisional_id
    INNER JOIN (${homesSql(several)}) AS homes
      ON former.organization = homes.of_organization AND former.trace_id = homes.of_trace
    WHERE former.conversation_id != homes.home AND former.conversation_id != former.provisional_id`
  const where = `origin_partition = ${partition} AND source = 'otlp'
    AND organization IN (${organizations}) AND conversation_id IN (${list(several.flatMap(({ linked }) => linked))})
    AND (organization, conversation_id, ${POSITION}) IN (${copied})`
  const [row] = await store.read<{ n: string }>(`SELECT count() AS n FROM sessions WHERE ${where}`, {
    settings: NAMING,
  })
  if (Number(row?.n) === 0) return
  const settings = { ...NAMING, mutations_sync: '2' } as const
  await store.command(`ALTER TABLE sessions DELETE WHERE ${where}`, { settings })
}
