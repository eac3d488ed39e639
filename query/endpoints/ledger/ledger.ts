// GET /dashboard/api/ledger: what became of every payload that was received, by hour and surface.
import { readRecord } from '#control/lists.ts'
import { type LedgerCounts, LedgerRequest, LedgerResponse, type LedgerRow } from '#proto/dashboard/ledger.ts'
import { ParleyError } from '#proto/errors.ts'
import { LEDGER_KEY, type LedgerState, type RejectCounts, rejectCountsKeyOf, type Surface } from '#proto/ledger.ts'
import { sqlMillis } from '#proto/time.ts'
import type { WaitingPayloads } from '#streams/journal.ts'
import { readPartitions } from '#streams/settled.ts'
import { type Call, endpoint } from '../../endpoint.ts'
import { OURS } from '../../reads/sql.ts'
import { windowOf } from '../../window.ts'

const HOUR_MS = 3_600_000
const HOURS_MAX = 31 * 24

/** Finished payloads; `partition` and positions are those of a range that may not be settled, else 0. */
interface FinishedRow {
  readonly hour: number
  readonly surface: Surface
  readonly again: 0 | 1
  readonly partition: number
  readonly from_sequence: string
  readonly to_sequence: string
  readonly payloads: string
  readonly dead: string
  readonly repeats: string
  readonly items: string
  readonly repeated_items: string
}

// One statement, so that what it counts and what it says of positions belong together. Within one statement no fold comes between.
const FINISHED_SQL = `
  SELECT intDiv(toUnixTimestamp(hour), 3600) AS hour, toString(surface) AS surface, reading > 0 AS again,
    if(recent, partition, 0) AS partition, if(recent, from_sequence, 0) AS from_sequence, if(recent, to_sequence, 0) AS to_sequence,
    sum(payloads) AS payloads, sum(dead) AS dead, sum(repeats) AS repeats, sum(items) AS items, sum(repeated_items) AS repeated_items
  FROM (
    SELECT *, reading = 0 AND to_sequence > {through:Array(UInt64)}[partition + 1] AS recent
    FROM ledger FINAL
    WHERE ${OURS} AND hour >= {from_hour:DateTime('UTC')} AND hour < {to_hour:DateTime('UTC')})
  GROUP BY ALL`

type Counts = { -readonly [key in keyof LedgerCounts]: LedgerCounts[key] }

const noCounts = (): Counts => ({
  ...{ received: 0, stored: 0, repeats: 0, dead: 0, lag: 0, items: 0, repeated_items: 0, rejected: {}, read_again: 0 },
})

/** Hours since 1970 that are asked about: from the first, before the second. */
interface Hours {
  readonly from: number
  readonly to: number
}

export const ledger = endpoint({
  method: 'GET',
  path: '/dashboard/api/ledger',
  auth: 'any',
  about: 'What became of every payload that was received: stored, a repeat, dead or on its way, by hour and surface.',
  request: LedgerRequest,
  response: LedgerResponse,
  work: async (call, request) => {
    const hours = hoursOf(request, call.nowMs)
    const state = await readRecord<LedgerState>(call.cursors, LEDGER_KEY)
    const partitions = await readPartitions(call.records)
    const through = state?.through ?? {}
    // First what waits, then what is finished: what ends in between is found in both, and its range says so.
    const waiting = await call.journal.waiting(call.organization.id, through, partitions)
    const finished = await readFinished(call, hours, through, partitions)
    const counts = new Map<string, { hour: number; surface: Surface; counts: Counts }>()
    const at = (hour: number, surface: Surface): Counts => {
      const name = `${hour}.${surface}`
      const entry = counts.get(name) ?? { hour, surface, counts: noCounts() }
      counts.set(name, entry)
      return entry.counts
    }
    for (const row of finished) addFinished(at(row.hour, row.surface), row)
    const isFinished = coverOf(finished)
    for (const one of waiting.payloads) {
      if (one.hour >= hours.from && one.hour < hours.to && !isFinished(one))
        at(one.hour, one.surface).lag += one.payloads
    }
    const refused = (await readRecord<RejectCounts>(call.rejects, rejectCountsKeyOf(call.organization.id))) ?? {}
    addRejected(at, hours, refused)
    const reasons = reasonsOf(hours, state, waiting.complete)
    return answerOf(hours, reasons, [...counts.values()])
  },
})

function hoursOf(request: LedgerRequest, nowMs: number): Hours {
  const window = windowOf({ time_range: '1d', ...request }, nowMs)
  const from = Math.floor(window.fromMs / HOUR_MS)
  // What a receiver's clock has put ahead of this one's is of now, too.
  const to =
    window.toMs === Number.POSITIVE_INFINITY ? Math.floor(nowMs / HOUR_MS) + 2 : Math.ceil(window.toMs / HOUR_MS)
  if (to - from > HOURS_MAX + 2) {
    throw new ParleyError('REQ_BODY_INVALID', 'to must not be later than 31 days after from', { field: 'to' })
  }
  return { from, to }
}

const isoHour = (hour: number): string => new Date(hour * HOUR_MS).toISOString()

function readFinished(
  { reader }: Call,
  { from, to }: Hours,
  through: LedgerState['through'],
  partitions: number,
): Promise<FinishedRow[]> {
  return reader.read<FinishedRow>('ledger', FINISHED_SQL, {
    from_hour: sqlMillis(from * HOUR_MS).slice(0, 19),
    to_hour: sqlMillis(to * HOUR_MS).slice(0, 19),
    through: Array.from({ length: partitions }, (_, partition) => through[String(partition)] ?? 0),
  })
}

function addFinished(counts: Counts, row: FinishedRow): void {
  const [payloads, dead, repeats] = [Number(row.payloads), Number(row.dead), Number(row.repeats)]
  if (row.again === 1) {
    counts.read_again += payloads
    return
  }
  counts.dead += dead
  counts.repeats += repeats
  counts.stored += payloads - dead - repeats
  counts.items += Number(row.items)
  counts.repeated_items += Number(row.repeated_items)
}

/** Says whether a payload that was found in a stream stands in one of the ranges that are finished. */
function coverOf(finished: readonly FinishedRow[]): (payload: WaitingPayloads) => boolean {
  const ranges = Map.groupBy(
    finished.filter(row => row.to_sequence !== '0'),
    row => `${row.partition}.${row.hour}.${row.surface}`,
  )
  return ({ partition, hour, surface, sequence }) =>
    ranges
      .get(`${partition}.${hour}.${surface}`)
      ?.some(row => Number(row.from_sequence) <= sequence && sequence <= Number(row.to_sequence)) ?? false
}

function addRejected(at: (hour: number, surface: Surface) => Counts, hours: Hours, refused: RejectCounts): void {
  for (const [name, count] of Object.entries(refused)) {
    const [hour, surface, code] = name.split('.') as [string, Surface, string]
    if (Number(hour) < hours.from || Number(hour) >= hours.to) continue
    const { rejected } = at(Number(hour), surface)
    rejected[code] = (rejected[code] ?? 0) + count
  }
}

function reasonsOf({ from }: Hours, state: LedgerState | undefined, complete: boolean): string[] {
  const reasons: string[] = []
  if (state === undefined) reasons.push('the ledger has not been begun: the analysis process does that')
  else if (from * HOUR_MS < state.sinceMs) {
    reasons.push(`records of what was received before ${new Date(state.sinceMs).toISOString()} are not complete`)
  }
  if (!complete)
    reasons.push('more waits in the streams than is counted for one question, or less than is not finished')
  return reasons
}

function answerOf(
  hours: Hours,
  reasons: string[],
  found: readonly { hour: number; surface: Surface; counts: Counts }[],
): LedgerResponse {
  const totals = noCounts()
  const rows = found
    .toSorted((a, b) => a.hour - b.hour || (a.surface < b.surface ? -1 : 1))
    .map(({ hour, surface, counts }): LedgerRow => {
      counts.received = counts.stored + counts.repeats + counts.dead + counts.lag
      for (const [code, count] of Object.entries(counts.rejected))
        totals.rejected[code] = (totals.rejected[code] ?? 0) + count
      for (const key of [
        'received',
        'stored',
        'repeats',
        'dead',
        'lag',
        'items',
        'repeated_items',
        'read_again',
      ] as const) {
        totals[key] += counts[key]
      }
      return { hour: isoHour(hour), surface, ...counts }
    })
  return { from: isoHour(hours.from), to: isoHour(hours.to), exact: reasons.length === 0, reasons, totals, hours: rows }
}
