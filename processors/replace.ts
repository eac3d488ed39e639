// Takes back the events of end-of-call reports that gave way to a later one. Runs when the later report's rows are proven to be
// there and before its range is finished.
//
// Each step looks at what is there and does what is missing, so it may be repeated from anywhere, by anybody, after any crash:
//   1. the positions are listed in `replaced_reports`, so that reads leave out what those reports captured of the conversation;
//   2. a reversing copy of every event that still counts stands in `corrections`;
//   3. what of it still counts in `events` is copied there.
// Done is when the signed sum of every position is zero in `events`: a merge may fold a reversal with its row at any moment, which
// changes every count of rows, but never that sum.
import { uuidV5 } from '#proto/ids.ts'
import { sequenceOf } from './calls.ts'
import type { PartitionContext } from './context.ts'
import { insist } from './context.ts'
import { Stopped } from './cursor.ts'
import { ROWS } from './engine-settings.ts'
import { queryIdOf, settle } from './insert.ts'
import { Backoff } from './pause.ts'
import { type Intent, type IntentName, rangeNameOf, type Scope } from './protocol.ts'

/** Namespace of the move ids. */
const MOVES = '5f0c1f0e-6f6b-4c8e-9d2b-6a1d5b7f3c21'
/** Positions of one statement. */
const SLICE = 500
const LOOK_MS = 20
/** An attempt that the server gives up by itself before the client stops waiting. */
const SETTINGS = { ...ROWS, async_insert: 0, insert_deduplicate: 0, max_threads: 1, max_execution_time: 30 } as const

/** The same for every owner that settles the range, however often. Bulk lanes pass the positions of others. */
export function moveIdOf(partition: number, { lane, from, only }: IntentName & Scope): string {
  return uuidV5(MOVES, `${partition}/${from}${only ? `/${lane}` : ''}`)
}

/** Resolves when nothing counts any more of what `intent` replaces. @throws Lost, Stopped. */
export async function takeReplaced(context: PartitionContext, intent: Intent): Promise<void> {
  const positions = [...new Set(intent.replaced?.map(({ at }) => at))]
  if (positions.length === 0) return
  await untilFinished(context, positions)
  const { reversing, signal } = { ...context.settling, signal: context.signal }
  const release = await reversing.take(1, { urgent: false, entitled: false, signal })
  try {
    for (let first = 0; first < positions.length; first += SLICE) {
      await reverse(context, intent, positions.slice(first, first + SLICE), first / SLICE)
    }
  } finally {
    release()
  }
  context.shared.metrics.replaced.inc(new Set(intent.replaced?.map(({ by }) => by)).size)
}

/**
 * What gives way may still be on its way to the store, in another range. It has to be finished in the cursor: an owner that finds its
 * intent there would count its rows, miss them, and write them again.
 */
async function untilFinished({ calls, tell, signal }: PartitionContext, positions: readonly string[]): Promise<void> {
  const underWay = (): boolean => positions.some(at => calls.isUnderWay(sequenceOf(at)))
  while (underWay()) {
    await tell()
    if (!underWay()) return
    await new Promise(resolve => setTimeout(resolve, LOOK_MS))
    if (signal.aborted) throw new Stopped()
  }
}

async function reverse(
  context: PartitionContext,
  intent: Intent,
  positions: readonly string[],
  slice: number,
): Promise<void> {
  const { partition, signal, log } = context
  const { store, lease, outage, inserts } = context.settling
  const prefix = rangeNameOf(partition, intent)
  const statements = statementsOf(partition, moveIdOf(partition, intent), positions)
  const backoff = new Backoff()
  for (;;) {
    // Nobody's earlier try may still be running: two at once would not see what the other one writes.
    await insist(outage, signal, () => settle(store, prefix))
    const left = await insist(outage, signal, () => store.read<{ step: Step }>(statements.left, { settings: ROWS }))
    const missing = new Set(left.map(({ step }) => step))
    const step = STEPS.find(one => missing.has(one))
    if (step === undefined) return
    log.debug({ from: intent.from, step, reports: positions.length }, 'a report gives way to a later one')
    await lease.fresh(signal)
    if (signal.aborted) throw new Stopped()
    try {
      const queryId = queryIdOf(store, `${prefix}.${step}${slice}`)
      await store.command(statements[step], { queryId, settings: SETTINGS })
      inserts.over()
    } catch (error) {
      inserts.failed(error)
      await backoff.pause(signal)
    }
  }
}

const STEPS = ['list', 'stage', 'copy'] as const
type Step = (typeof STEPS)[number]

/** One statement a step, and `left`: which steps have something to do. Positions are numbers of our own, so they stand in the text. */
function statementsOf(partition: number, move: string, positions: readonly string[]): Record<Step | 'left', string> {
  const pairs = positions.map(at => `(${at.replace('/', ', ')})`)
  const sequences = [...new Set(positions.map(sequenceOf))]
  // The first two narrow what is read, by partition and index; the third says what is meant.
  const there = `origin_partition = ${partition} AND origin_sequence IN (${sequences.join()})
      AND (origin_sequence, origin_frame) IN (${pairs.join()})`
  const row = 'origin_generation, origin_sequence, origin_frame, origin_index, version'
  const counting = `SELECT ${row} FROM events WHERE ${there} AND source = 'voice' GROUP BY ${row} HAVING sum(sign) > 0`
  const staged = `SELECT ${row} FROM corrections WHERE move_id = '${move}' AND ${there}`
  const report = 'organization, conversation_id, origin_partition, origin_sequence, origin_frame'
  const unlisted = `SELECT DISTINCT ${report} FROM sessions WHERE ${there} AND source = 'voice'
      AND (${report}) NOT IN (SELECT ${report} FROM replaced_reports WHERE ${there})`
  return {
    list: `INSERT INTO replaced_reports ${unlisted}`,
    stage: `INSERT INTO corrections SELECT * REPLACE (-1 AS sign, toUUID('${move}') AS move_id) FROM
      (SELECT * FROM events WHERE ${there} AND source = 'voice' AND sign = 1
        AND (${row}) IN (${counting}) AND (${row}) NOT IN (${staged}) LIMIT 1 BY ${row})`,
    copy: `INSERT INTO events SELECT * FROM corrections WHERE move_id = '${move}' AND ${there}
        AND (${row}) IN (${counting}) LIMIT 1 BY ${row}`,
    left: `SELECT 'list' AS step FROM (${unlisted} LIMIT 1)
      UNION ALL SELECT 'stage' FROM (SELECT 1 FROM (${counting}) WHERE (${row}) NOT IN (${staged}) LIMIT 1)
      UNION ALL SELECT 'copy' FROM (SELECT 1 FROM (${counting}) LIMIT 1)`,
  }
}
