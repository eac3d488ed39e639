// Following corrections, which owners of partitions make: ending a command ends nothing but the following.
import { setTimeout as delay } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import type { CorrectionRecord } from '#proto/correction.ts'
import type { Wrong } from '#store/verify/repair.ts'
import { getCorrection, isOpen, requestCorrection } from '#streams/corrections.ts'
import { UsageError } from './usage.ts'

const POLL_MS = 250

/** Asks the owners of the partitions to put right what counts wrong, and waits until they have. @throws UsageError when they are busy. */
export async function repairByOwners(
  cursors: KV,
  partitions: number,
  { positions, events }: Wrong,
  tell: (line: string) => void,
): Promise<void> {
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  const asked: CorrectionRecord[] = []
  for (const partition of all) {
    const own = positions.filter(at => Number(at.split('-')[0]) === partition)
    // An event may stand in several partitions: each owner reverses rows of its own.
    if (own.length + events.length === 0) continue
    asked[partition] = await request(cursors, partition, { kind: 'repair', positions: own, events })
  }
  const done = all.map(async partition => {
    const record = asked[partition]
    return record === undefined ? 0 : (await follow(cursors, partition, record, tell)).changed
  })
  const rows = (await Promise.all(done)).reduce((sum, n) => sum + n, 0)
  tell(`positions: ${rows} rows written against what counted wrong`)
}

/** Asks for a correction. @throws UsageError while another one is under way. */
export async function request(
  cursors: KV,
  partition: number,
  task: CorrectionRecord['task'],
): Promise<CorrectionRecord> {
  const { asked, record } = await requestCorrection(cursors, partition, task)
  if (!asked) {
    throw new UsageError(`partition ${partition}: a ${record.task.kind} is under way; ask again when it is done`)
  }
  return record
}

/** Waits for the end of a correction and tells of its progress. */
export async function follow(
  cursors: KV,
  partition: number,
  asked: CorrectionRecord,
  tell: (line: string) => void,
): Promise<CorrectionRecord> {
  let shown = ''
  for (;;) {
    const record = (await getCorrection(cursors, partition))?.record ?? asked
    if (record.id !== asked.id) throw new Error(`partition ${partition}: the record was replaced`)
    const line = `partition ${partition}: ${describe(record)}`
    if (line !== shown) tell(line)
    shown = line
    if (!isOpen(record)) return record
    await delay(POLL_MS)
  }
}

/** How far a correction is, in words. */
export function describe({ state, task, looked, changed, left, at, walks }: CorrectionRecord): string {
  const stays = Object.entries(left).map(([why, n]) => `${n} stay as they are (${why})`)
  const rows = [
    `${looked} rows looked at`,
    `${changed} ${task.kind === 'remap' && task.estimate ? 'would change' : 'changed'}`,
  ]
  const counts = [...rows, ...stays].join(', ')
  switch (state) {
    case 'requested':
      return `${task.kind} requested; waiting for the owner of the partition`
    case 'running': {
      const day = at === null ? '' : ` at ${new Date(Number(BigInt(at.ts) / 1_000_000n)).toISOString().slice(0, 13)}h`
      return `${task.kind}${walks > 0 ? ', looking again' : ''}${day}: ${counts}`
    }
    case 'done':
    case 'cancelled':
      return `${task.kind} ${state}: ${counts}`
    default:
      return String(state satisfies never)
  }
}
