// GET /dashboard/api/receipts/{receipt}: what became of the request that was answered with this receipt.
import { ReceiptRequest, ReceiptResponse } from '#proto/dashboard/ledger.ts'
import { FrameKind } from '#proto/envelope.ts'
import { ParleyError } from '#proto/errors.ts'
import { uuidText } from '#proto/ids.ts'
import type { PayloadPosition } from '#streams/payloads.ts'
import { readPartitions, readSettled } from '#streams/settled.ts'
import { isoTime } from '../../answers.ts'
import { type Call, endpoint } from '../../endpoint.ts'
import { OURS } from '../../reads/sql.ts'

/** `<partition>-<sequence>-<frame>` */
const RECEIPT = /^(0|[1-9]\d{0,5})-([1-9]\d{0,14})-(0|[1-9]\d{0,8})$/
/** Whoever waits is woken when the range of the payload is finished. What of it becomes known otherwise is looked for this often. */
const LOOK_MS = 500
/** Clocks of receivers and of the stream may differ by this. */
const SKEW_MS = 60_000

interface FoundRow {
  readonly events: string
  readonly texts: string
  readonly sessions: string
  readonly replaced: string
  readonly moved: string
  readonly received_at: string
}

const HERE = `${OURS} AND origin_partition = {partition:UInt32} AND origin_sequence = {sequence:UInt64}
      AND origin_frame = {frame:UInt32}`
// Rows that a replay has stored again stand under a later generation, beside what was taken back of the earlier one.
const ROWS_SQL = `
  SELECT sumIf(n, of = 'events') AS events, sumIf(n, of = 'texts') AS texts, sumIf(n, of = 'sessions') AS sessions,
    sumIf(n, of = 'replaced') AS replaced, sumIf(n, of = 'moved') AS moved, max(at) AS received_at
  FROM (
    SELECT 'events' AS of, greatest(sum(sign), 0) AS n, max(received_at) AS at FROM events WHERE ${HERE}
    UNION ALL SELECT 'moved', greatest(sum(sign), 0), toDateTime64(0, 3, 'UTC') FROM events WHERE ${HERE}
      AND mapContains(metadata, 'parley.sent_timestamp')
    UNION ALL SELECT 'texts', toInt64(uniqExact(origin_index)), toDateTime64(0, 3, 'UTC') FROM texts WHERE ${HERE}
    UNION ALL SELECT 'sessions', toInt64(uniqExact(origin_index)), max(received_at) FROM sessions WHERE ${HERE}
    UNION ALL SELECT 'replaced', toInt64(count()), toDateTime64(0, 3, 'UTC') FROM replaced_reports WHERE ${HERE})`

type Known = Pick<ReceiptResponse, 'state'> & Partial<ReceiptResponse>

export const receipt = endpoint({
  method: 'GET',
  path: '/dashboard/api/receipts/{receipt}',
  auth: 'any',
  about:
    'What became of a request, by the X-Parley-Receipt of its answer: on its way, stored as how many rows, a repeat, or dead. `wait=5s` answers once it is no longer on its way.',
  request: ReceiptRequest,
  response: ReceiptResponse,
  errors: ['QRY_NOT_FOUND', 'REQ_BODY_INVALID'],
  work: async (call, { wait = '0s' }) => {
    const position = await positionOf(call)
    const waitMs = Number(wait.slice(0, -1)) * 1000
    const untilMs = performance.now() + waitMs
    let known = await lookAt(call, position)
    for (let leftMs = waitMs; known.state === 'waiting' && leftMs > 0; leftMs = untilMs - performance.now()) {
      await call.stored.changed(call.signal, Math.min(leftMs, LOOK_MS), position)
      // The node stops: whoever asks again finds another one.
      if (call.signal.aborted) return known
      known = await lookAt(call, position)
    }
    // Whoever was ready to wait for it is shown it by the next question, also where it was stored already.
    if (waitMs > 0) call.kept.endLoans(call.organization.id)
    return known
  },
})

async function lookAt(call: Call, position: PayloadPosition): Promise<ReceiptResponse> {
  const organization = call.organization.id
  // First how far the owners are: whatever is settled then has its rows, or will never have any.
  const settled = await readSettled(call.cursors, await readPartitions(call.records))
  const frame = await call.payloads(position)
  if (frame !== null && uuidText(frame.organization) !== organization) throw notFound()
  const rows = await readRows(call, position)
  const receivedAtMs = frame?.receivedAtMs ?? (rows.receivedAtMs === 0 ? undefined : rows.receivedAtMs)
  const sinceMs = receivedAtMs === undefined ? 0 : receivedAtMs - SKEW_MS
  const isSettled = position.sequence <= (settled.get(position.partition) ?? 0)
  // A text stands beside its event: one that was taken back leaves its text, which nothing reads.
  const stands = rows.events + rows.sessions > 0
  const answer = (known: Known): ReceiptResponse => ({
    receipt: call.params.receipt ?? '',
    ...{ received_at: receivedAtMs === undefined ? null : new Date(receivedAtMs).toISOString(), stored_at: null },
    ...{
      rows: { events: rows.events, texts: stands ? rows.texts : 0, sessions: rows.sessions },
      moved_times: rows.moved,
      code: null,
      reason: null,
    },
    ...known,
  })
  if (!stands) {
    const letter = await call.journal.letterAt(position, sinceMs)
    if (letter !== null && letter.organization === organization) {
      const { code, reason, diedAt, receivedAtMs: ms } = letter
      return answer({ state: 'dead', received_at: new Date(ms).toISOString(), stored_at: diedAt, code, reason })
    }
    if (frame === null && rows.texts === 0) throw notFound()
    if (!isSettled) return answer({ state: 'waiting' })
  }
  const record = sinceMs > 0 ? await call.journal.recordAt(position, organization, sinceMs) : null
  const stored_at = record?.at ?? null
  if (rows.replaced > 0) return answer({ state: 'replaced', stored_at })
  if (stands) return answer({ state: 'stored', stored_at })
  // A capture has no identity that it could repeat.
  return answer({ state: frame?.kind === FrameKind.session ? 'gone' : 'repeat', stored_at })
}

const notFound = (): ParleyError => new ParleyError('QRY_NOT_FOUND', 'no such receipt', { field: 'receipt' })

async function positionOf({ params, records }: Call): Promise<PayloadPosition> {
  const parts = RECEIPT.exec(params.receipt ?? '')
  if (parts === null) {
    throw new ParleyError('REQ_BODY_INVALID', 'receipt must be <partition>-<sequence>-<frame>', { field: 'receipt' })
  }
  const [partition, sequence, frame] = parts.slice(1).map(Number) as [number, number, number]
  if (partition >= (await readPartitions(records))) throw notFound()
  return { partition, sequence, frame }
}

async function readRows(
  { reader }: Call,
  { partition, sequence, frame }: PayloadPosition,
): Promise<{ events: number; texts: number; sessions: number; replaced: number; moved: number; receivedAtMs: number }> {
  const [row] = await reader.read<FoundRow>('receipt', ROWS_SQL, { partition, sequence, frame })
  const { events = 0, texts = 0, sessions = 0, replaced = 0, moved = 0, received_at = '' } = row ?? {}
  return {
    ...{ events: Number(events), texts: Number(texts), sessions: Number(sessions), replaced: Number(replaced) },
    moved: Number(moved),
    receivedAtMs: received_at === '' ? 0 : Date.parse(isoTime(received_at)),
  }
}
