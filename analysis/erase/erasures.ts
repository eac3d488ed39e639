// The erasures that were asked for, one after the other: deleted, waited for, certified. The record tells how far each is; whoever reads
// it goes on from there.
import { type ErasureRecord, erasureKeyOf } from '#proto/erasure.ts'
import { streamOf } from '#proto/streams.ts'
import type { Store } from '#store/client.ts'
import { type FoundErasure, listErasures } from '#streams/erasures.ts'
import { spanOf } from '#streams/replay.ts'
import { readSettled } from '#streams/settled.ts'
import { doomedTables, type Target } from './conditions.ts'
import { eraseLetters } from './letters.ts'
import { bury, erasePass, namesOf, type PassProgress, remaining } from './pass.ts'
import { eraseRecords, type NamingBuckets, rewriteBuckets } from './records.ts'
import type { SweepContext } from './sweep.ts'

/** What erasing needs. */
export interface EraserContext extends SweepContext, NamingBuckets {
  readonly clock?: () => number
  /** Called when nothing of an organization can come any more: what was kept to read it by goes too. */
  readonly forget?: (organization: string) => Promise<void>
  /** How many replaced parts from before the erasure are still on disk; asks the engine unless given. */
  readonly replacedParts?: () => Promise<number>
}

/** Takes every open erasure as far as it goes now; returns how many stay open. @throws when an engine does not answer, on abort. */
export async function continueErasures(context: EraserContext, signal: AbortSignal): Promise<number> {
  let open = 0
  const ended: Desk[] = []
  for (const found of await listErasures(context.cursors)) {
    signal.throwIfAborted()
    if (found.record.state === 'done') continue
    const desk = createDesk(context, found)
    if (await continueErasure(context, desk, signal)) ended.push(desk)
    else open++
  }
  if (ended.length > 0) await rewriteBuckets(context)
  for (const desk of ended) {
    await desk.write({ state: 'done', step: '', certified_at: now(context) })
    context.log.info({ erasure: desk.record.id, rows: desk.record.erased }, 'an erasure is certified')
  }
  return open
}

/** True when nothing is left but bytes in the files of buckets. */
async function continueErasure(context: EraserContext, desk: Desk, signal: AbortSignal): Promise<boolean> {
  if (desk.record.state === 'requested') {
    await desk.write({ state: 'erasing', through: await lastPositions(context) })
    context.log.info({ erasure: desk.record.id, kind: desk.record.kind }, 'an erasure begins')
  }
  if (desk.record.state === 'erasing') {
    await eraseNow(context, desk, signal)
    await desk.write({ state: 'sweeping', erased_at: now(context), step: '' })
    context.log.info(
      { erasure: desk.record.id, rows: desk.record.erased },
      'erased; payloads that streams hold are waited for',
    )
  }
  const held = await heldBack(context, desk.record)
  if (held !== null) {
    if (held !== desk.record.step) await desk.write({ step: held })
    return false
  }
  // Nothing that was sent before can come any more: once again, and it is certain.
  await eraseNow(context, desk, signal)
  const store = context.shards.of(desk.record.organization)
  const target = targetOf(desk.record)
  const left = await remaining(store, target)
  if (Object.keys(left).length > 0) return false
  if (desk.record.kind === 'organization') await context.forget?.(desk.record.organization)
  const tables = (await doomedTables(store, target)).map(({ table }) => table)
  // Who it was about is forgotten before files are written anew, so that they don't hold it.
  const { user: _forgotten, ...rest } = desk.record
  await desk.replace({ ...rest, step: 'writing the files of buckets anew', looked_at: [...tables, ...BEYOND_TABLES] })
  return true
}

/** Where else an erasure looks. */
const BEYOND_TABLES = [
  'dead_letters',
  'payloads',
  'views',
  'charts',
  'waiting_exports',
  'rejected_requests',
  'erasures',
]

const now = (context: EraserContext): string => new Date((context.clock ?? Date.now)()).toISOString()

export const targetOf = ({ organization, id, kind, user }: ErasureRecord): Target => ({
  organization,
  erasure: id,
  kind,
  ...(user === undefined ? {} : { user }),
})

async function eraseNow(context: EraserContext, desk: Desk, signal: AbortSignal): Promise<void> {
  const { shards, nc } = context
  const target = targetOf(desk.record)
  const store = shards.of(target.organization)
  await bury(store, target)
  const before = desk.record.erased
  // Letters first: what they may name is still known.
  await desk.write({ step: 'looking into dead letters' })
  const names = await namesOf(store, target)
  const letters = await eraseLetters(nc, target, names, signal)
  const records = await eraseRecords(context, target.organization, names)
  const beside = { ...(letters > 0 ? { dead_letters: letters } : {}), ...records }
  const start = sum(before, beside)
  const { deleting: begun } = desk.record
  const tell = ({ erased, deleting }: PassProgress): Promise<void> => {
    const { deleting: _counted, ...rest } = desk.record
    const step = deleting ? `deleting ${deleting.rows} rows of ${deleting.table}` : ''
    return desk.replace({ ...rest, step, erased: sum(start, erased), ...(deleting ? { deleting } : {}) })
  }
  const erased = await erasePass({ store, signal, tell, begun }, target)
  context.erased(sum(erased, beside))
}

function sum(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> {
  const total: Record<string, number> = { ...a }
  for (const [table, rows] of Object.entries(b)) total[table] = (total[table] ?? 0) + rows
  return total
}

async function lastPositions({ jsm, partitions }: EraserContext): Promise<Record<string, number>> {
  const through: Record<string, number> = {}
  for (let partition = 0; partition < partitions; partition++) {
    through[partition] = (await spanOf(jsm, streamOf(partition))).last
  }
  return through
}

/** What still holds payloads from before the erasure, in words; null when nothing does. */
async function heldBack(
  context: EraserContext,
  { organization, through, erased_at }: ErasureRecord,
): Promise<string | null> {
  const settled = await readSettled(context.cursors, context.partitions)
  for (const [partition, last] of Object.entries(through)) {
    if ((settled.get(Number(partition)) ?? 0) < last)
      return `partition ${partition} has not stored everything up to ${last}`
    const { first } = await spanOf(context.jsm, streamOf(Number(partition)))
    if (first <= last) return `partition ${partition} holds payloads up to ${last} for the replay window`
  }
  const { replacedParts = () => partsBefore(context.shards.of(organization), erased_at ?? now(context)) } = context
  const parts = await replacedParts()
  return parts > 0 ? `${parts} replaced parts of tables are not yet removed from disk` : null
}

/** Parts that deletions have replaced, and that the engine keeps for some minutes. */
async function partsBefore(store: Store, at: string): Promise<number> {
  const [parts] = await store.read<{ n: string }>(
    `SELECT count() AS n FROM system.parts
     WHERE database = {database:String} AND NOT active AND remove_time <= parseDateTime64BestEffort({at:String}, 3, 'UTC')`,
    { parameters: { database: store.database, at } },
  )
  return Number(parts?.n ?? 0)
}

/** The record in the hands of who works on it. A write that somebody else overtook ends the work. */
interface Desk {
  readonly record: ErasureRecord
  write(change: Partial<ErasureRecord>): Promise<void>
  replace(record: ErasureRecord): Promise<void>
}

function createDesk({ cursors }: EraserContext, found: FoundErasure): Desk {
  let { record, revision } = found
  const replace = async (next: ErasureRecord): Promise<void> => {
    const key = erasureKeyOf(record.organization, record.subject)
    revision = await cursors.put(key, JSON.stringify(next), { previousSeq: revision })
    record = next
  }
  return {
    get record() {
      return record
    },
    replace,
    write: change => replace({ ...record, ...change }),
  }
}
