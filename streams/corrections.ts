// Asking for corrections, following and cancelling them.
import { randomUUID } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import { type CorrectionRecord, correctionKeyOf } from '#proto/correction.ts'

/** A record and its revision. */
export interface FoundCorrection {
  readonly record: CorrectionRecord
  readonly revision: number
}

/** The last correction of a partition; null when there never was one. @throws when the server doesn't answer. */
export async function getCorrection(cursors: KV, partition: number): Promise<FoundCorrection | null> {
  const entry = await cursors.get(correctionKeyOf(partition))
  return entry?.operation === 'PUT' ? { record: entry.json<CorrectionRecord>(), revision: entry.revision } : null
}

/** True until a correction is done or cancelled. */
export const isOpen = ({ state }: CorrectionRecord): boolean => state === 'requested' || state === 'running'

/** Asks for a correction. Returns the one that is under way instead when there is one. @throws when the server doesn't answer. */
export async function requestCorrection(
  cursors: KV,
  partition: number,
  task: CorrectionRecord['task'],
): Promise<{ readonly asked: boolean; readonly record: CorrectionRecord }> {
  const last = await getCorrection(cursors, partition)
  if (last && isOpen(last.record)) return { asked: false, record: last.record }
  const record: CorrectionRecord = {
    id: randomUUID(),
    state: 'requested',
    task,
    looked: 0,
    changed: 0,
    left: {},
    walks: 0,
    at: null,
    requestedAt: new Date().toISOString(),
  }
  // Fails when somebody else asks at the same time: one of the two then finds the other's.
  await cursors.put(correctionKeyOf(partition), JSON.stringify(record), { previousSeq: last?.revision ?? 0 })
  return { asked: true, record }
}

/** Asks for the end of the correction that is under way; false when there is none. What it has done stays. */
export async function cancelCorrection(cursors: KV, partition: number): Promise<boolean> {
  for (;;) {
    const found = await getCorrection(cursors, partition)
    if (!found || !isOpen(found.record)) return false
    const record: CorrectionRecord = { ...found.record, cancel: true }
    const written = cursors.put(correctionKeyOf(partition), JSON.stringify(record), { previousSeq: found.revision })
    if (await written.catch(() => 0)) return true
    const now = await getCorrection(cursors, partition)
    if (now?.revision === found.revision) throw new Error('the record cannot be written')
  }
}
