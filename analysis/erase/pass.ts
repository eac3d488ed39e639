// One pass of an erasure over the store: what belongs to the target is written down, deleted for good, and counted again until nothing is
// found. Every step looks at what is there, so a pass that was killed anywhere is begun again.
import { USER_HASH_SQL } from '#proto/erasure.ts'
import type { Store } from '#store/client.ts'
import { deleteRows } from '#store/deletions.ts'
import { sendersSql } from '#store/senders.ts'
import { type Doomed, doomedTables, GROUP, type Target } from './conditions.ts'

/** Tombstones are written for sure, however long that takes. */
const SETTINGS = { async_insert: 0, max_execution_time: 0 } as const
/** Rows may arrive while others are deleted: what is left after this many tries is found by the next sweep. */
const TRIES = 5

/** Who hears of progress, and what a pass is stopped by. */
export interface PassContext {
  readonly store: Store
  readonly signal: AbortSignal
  /** Called before and after each table. */
  readonly tell: (progress: PassProgress) => Promise<void>
  /** What an earlier pass had begun when it was cut short. */
  readonly begun?: PassProgress['deleting'] | undefined
}

/** How far a pass is. */
export interface PassProgress {
  readonly erased: Readonly<Record<string, number>>
  /** Begun and not counted yet. */
  readonly deleting?: { readonly table: string; readonly rows: number }
}

/** Writes the tombstones of a target. Safe to repeat. */
export async function bury(store: Store, target: Target): Promise<void> {
  const { organization, erasure, kind, user } = target
  if (kind === 'organization') {
    await store.command(
      `INSERT INTO erased SELECT {organization:UUID}, 'organization', toString({organization:UUID}), {erasure:UUID}, now64(3)`,
      { parameters: { organization, erasure }, settings: SETTINGS },
    )
    return
  }
  if (user !== undefined) {
    await store.command(
      `INSERT INTO erased SELECT organization, 'user', ${USER_HASH_SQL}, {erasure:UUID}, now64(3)
       FROM (SELECT {organization:UUID} AS organization, {user:String} AS user_id)
       WHERE ${USER_HASH_SQL} NOT IN (SELECT subject FROM erased WHERE ${OURS} AND kind = 'user' AND erasure = {erasure:UUID})
       UNION ALL SELECT {organization:UUID}, 'name', {user:String}, {erasure:UUID}, now64(3)`,
      { parameters: { organization, erasure, user }, settings: SETTINGS },
    )
    await buryConversations(store, { organization, erasure, user })
  }
  await store.command(
    `INSERT INTO erased SELECT DISTINCT organization, 'event', concat(toString(${GROUP}), '/', toString(event_id)), {erasure:UUID}, now64(3)
     FROM (SELECT organization, conversation_id, trace_id, event_id FROM events WHERE ${ITS(user)}
       UNION ALL SELECT organization, conversation_id, trace_id, event_id FROM corrections WHERE ${ITS(user)}${user === undefined ? '' : SENT})`,
    { parameters: { organization, erasure, ...(user === undefined ? {} : { user }) }, settings: SETTINGS },
  )
}

const OURS = 'organization = {organization:UUID}'
const TOMBS = `SELECT toUUID(subject) FROM erased WHERE ${OURS} AND kind = 'conversation' AND erasure = {erasure:UUID}`
const ITS = (user: string | undefined): string =>
  `${OURS} AND (conversation_id IN (${TOMBS})${user === undefined ? '' : ' OR user_id = {user:String}'})`

const CAPTURED = `SELECT conversation_id FROM sessions WHERE ${OURS} AND user_id = {user:String}`
/** Events of the user's in conversations that were captured for somebody else as well. */
const SENT = `
       UNION ALL SELECT organization, conversation_id, trace_id, event_id FROM (${sendersSql({
         captures: `${OURS} AND conversation_id IN (${CAPTURED})`,
         events: `${OURS} AND conversation_id IN (${CAPTURED})`,
       })}) WHERE sender = {user:String}`

/**
 * Whole conversations: those whose captures name the user last, and those without a captured user whose events name nobody else. Of
 * other conversations only what names the user goes.
 */
async function buryConversations(
  store: Store,
  parameters: { organization: string; erasure: string; user: string },
): Promise<void> {
  const seen = `SELECT conversation_id FROM events WHERE ${OURS} AND user_id = {user:String} GROUP BY conversation_id, user_id HAVING sum(sign) > 0`
  await store.command(
    `INSERT INTO erased SELECT {organization:UUID}, 'conversation', toString(conversation_id), {erasure:UUID}, now64(3) FROM (
       SELECT conversation_id, max(last) AS named, groupUniqArrayArray(users) AS others FROM (
         SELECT conversation_id,
           argMaxIf(user_id, (received_at, origin_sequence, origin_frame, origin_index, origin_partition), user_id != '') AS last,
           emptyArrayString() AS users
         FROM sessions WHERE ${OURS} AND conversation_id IN (${CAPTURED} UNION DISTINCT ${seen}) GROUP BY conversation_id
         UNION ALL
         SELECT conversation_id, '' AS last, groupUniqArray(user_id) AS users FROM (
           SELECT conversation_id, user_id FROM events WHERE ${OURS} AND user_id != '' AND conversation_id IN (${seen})
           GROUP BY conversation_id, user_id HAVING sum(sign) > 0)
         GROUP BY conversation_id)
       GROUP BY conversation_id
       HAVING named = {user:String} OR (named = '' AND others = [{user:String}]))
     WHERE toString(conversation_id) NOT IN (SELECT subject FROM erased
       WHERE ${OURS} AND kind = 'conversation' AND erasure = {erasure:UUID})`,
    { parameters, settings: SETTINGS },
  )
}

/** Session ids of the target as they were sent, and its conversations: what a payload may know it by. */
export async function namesOf(store: Store, target: Target): Promise<string[]> {
  if (target.kind === 'organization') return []
  const { organization, erasure, user } = target
  const rows = await store.read<{ name: string }>(
    `SELECT DISTINCT name FROM (
       SELECT subject AS name FROM erased WHERE ${OURS} AND kind = 'conversation' AND erasure = {erasure:UUID}
       UNION ALL SELECT session_id FROM sessions WHERE ${OURS} AND conversation_id IN (${TOMBS})
       UNION ALL SELECT session_id FROM events WHERE ${OURS} AND conversation_id IN (${TOMBS}))
     WHERE name != ''`,
    { parameters: { organization, erasure } },
  )
  return [...(user === undefined ? [] : [user]), ...rows.map(row => row.name)]
}

/** Deletes the rows of the target from every table; returns how many by table. @throws when the store does not answer. */
export async function erasePass(context: PassContext, target: Target): Promise<Record<string, number>> {
  const { store, signal, tell, begun } = context
  const erased: Record<string, number> = {}
  for (const doomed of await doomedTables(store, target)) {
    const { table } = doomed
    for (let attempt = 0; attempt < TRIES; attempt++) {
      signal.throwIfAborted()
      const rows = await count(store, doomed)
      if (attempt === 0 && begun?.table === table && begun.rows > rows) erased[table] = begun.rows - rows
      if (rows === 0) break
      await tell({ erased, deleting: { table, rows } })
      await deleteRows(store, { table, where: doomed.where, parameters: doomed.parameters, signal })
      erased[table] = (erased[table] ?? 0) + rows
    }
  }
  // They were needed to find the rest; what stays are tombstones.
  const { organization, erasure } = target
  await deleteRows(store, {
    table: 'erased',
    where: `${OURS} AND erasure = {erasure:UUID} AND kind IN ('event', 'name')`,
    parameters: { organization, erasure },
    signal,
  })
  await tell({ erased })
  return erased
}

/** Rows of a target that are there now, by table. Tombstones have to be written before. */
export async function remaining(store: Store, target: Target): Promise<Record<string, number>> {
  const left: Record<string, number> = {}
  for (const doomed of await doomedTables(store, target)) {
    const rows = await count(store, doomed)
    if (rows > 0) left[doomed.table] = rows
  }
  return left
}

async function count(store: Store, { table, where, parameters }: Doomed): Promise<number> {
  const [row] = await store.read<{ n: string }>(`SELECT count() AS n FROM ${table} WHERE ${where}`, { parameters })
  return Number(row?.n ?? 0)
}
