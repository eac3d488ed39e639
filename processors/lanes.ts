// The lanes of a cursor, as pure functions: how a range of the stream is cut into lanes, who of them reads which frames, and what
// follows from that about what is stored.
//
// Every frame above the floor belongs to exactly one lane that is not a replay. Lanes that read everything of their ranges never
// overlap; a bulk lane reads only the frames of some organizations, and whatever other lane passes the same positions leaves them out.
import { ParleyError } from '#proto/errors.ts'
import { type Cursor, endOf, fold, intentsOf, type Lane, type LaneKind, laneOf, type Scope } from './protocol.ts'

/** Backlogs that may be read beside each other: each outage in the middle of a catch-up adds one. */
export const BACKLOGS_MAX = 3
/** Bulk lanes that may be read beside each other. */
export const BULKS_MAX = 4
/** Ranges that may be looked at by themselves at once. */
export const SUSPECTS_MAX = 4
/** Lanes altogether, those that only wait for their last inserts included. */
export const LANES_MAX = 16

/** True when an organization's frames belong to the scope. */
export function inScope({ only, without }: Scope, organization: string): boolean {
  return only ? only.includes(organization) : !without?.includes(organization)
}

/** Only the scope of something that has one. */
export const scopeOf = ({ only, without }: Scope): Scope => (only ? { only } : without ? { without } : {})

/** The lane that follows what arrives. */
export function liveOf(cursor: Cursor): Lane {
  const live = cursor.lanes.find(lane => lane.kind === 'live')
  if (!live) throw new ParleyError('BUG', 'a cursor without a live lane')
  return live
}

/** The last position that no lane needs any more: nothing above it may be purged. */
export function freeOf(cursor: Cursor): number {
  return Math.min(...cursor.lanes.map(lane => lane.floor))
}

// ---- what is stored ------------------------------------------------------------------------------------------------------

/** Positions after `after` up to `through`; of the organizations of the scope. */
export interface StoredRange extends Scope {
  readonly after: number
  readonly through: number
}

/**
 * The ranges whose rows are all in the store, in order. A replay changes none of this: what it takes back stands in its intents.
 */
export function storedRanges(cursor: Cursor): readonly StoredRange[] {
  const unread = cursor.lanes.filter(lane => lane.kind !== 'replay').flatMap(lane => unreadOf(cursor, lane))
  const bounds = [...new Set([0, ...unread.flatMap(({ after, through }) => [after, through])])].sort((a, b) => a - b)
  return bounds.slice(1).flatMap((through, i) => {
    const after = bounds[i] as number
    const scope = allBut(unread.filter(range => range.after <= after && range.through >= through))
    return scope ? [{ after, through, ...scope }] : []
  })
}

const holds = (range: StoredRange, sequence: number, organization: string): boolean =>
  sequence > range.after && sequence <= range.through && inScope(range, organization)

/** True when the frames of an organization at a position are stored. */
export function isStoredAt(cursor: Cursor, sequence: number, organization: string): boolean {
  return storedRanges(cursor).some(range => holds(range, sequence, organization))
}

/** The ranges of which somebody stores rows now, or is about to: also those of a replay, which are stored already. */
export function openRanges(cursor: Cursor): readonly StoredRange[] {
  return cursor.intents
    .filter(({ done }) => !done)
    .map(intent => ({ after: intent.from - 1, through: intent.to, ...scopeOf(intent) }))
}

/** True when what stands at a position is stored and nobody is about to count it, to take it back or to store it again. */
export function isSettledAt(cursor: Cursor, sequence: number, organization: string): boolean {
  return (
    isStoredAt(cursor, sequence, organization) &&
    !openRanges(cursor).some(range => holds(range, sequence, organization))
  )
}

/** What a lane still has to store: all behind its floor but the intents that are finished. */
function unreadOf(cursor: Cursor, lane: Lane): StoredRange[] {
  const ranges: StoredRange[] = []
  const scope = scopeOf(lane)
  let after = lane.floor
  for (const { from, to, done } of intentsOf(cursor, lane.id)) {
    if (!done) continue
    ranges.push({ after, through: from - 1, ...scope })
    after = to
  }
  ranges.push({ after, through: lane.end ?? Number.POSITIVE_INFINITY, ...scope })
  return ranges.filter(range => range.through > range.after)
}

/** The organizations that none of these lanes reads, null when there are none: at most one of them is no bulk lane. */
function allBut(lanes: readonly Scope[]): Scope | null {
  const bulk = lanes.flatMap(({ only = [] }) => only)
  const rest = lanes.find(({ only }) => !only)
  if (!rest) return bulk.length > 0 ? { without: bulk } : {}
  const only = (rest.without ?? []).filter(organization => !bulk.includes(organization))
  return only.length > 0 ? { only } : null
}

// ---- cutting -------------------------------------------------------------------------------------------------------------

/** True when the live lane may leave what it has not read up to `at` to a backlog. */
export function canSplit(cursor: Cursor, at: number): boolean {
  return at > endOf(cursor, liveOf(cursor).id) && waiting(cursor, 'backlog') < BACKLOGS_MAX && hasRoom(cursor)
}

/**
 * What is unread up to `at` becomes a backlog (the lane keeps its id, its floor and its intents); a new live lane begins behind
 * `at`. Precondition: `canSplit`.
 */
export function split(cursor: Cursor, at: number): Cursor {
  if (!canSplit(cursor, at)) throw new ParleyError('BUG', `the live lane cannot be split at ${at}`)
  return fold(cut(cursor, liveOf(cursor).id, { at }).cursor)
}

/** True when the lane may leave the frames of `organizations` behind `at` to a bulk lane. */
export function canDivide(cursor: Cursor, id: number, at: number, organizations: readonly string[]): boolean {
  const lane = laneOf(cursor, id)
  return (
    (lane?.kind === 'live' || lane?.kind === 'backlog') &&
    isWithin(cursor, lane, at) &&
    organizations.length > 0 &&
    organizations.every(organization => inScope(lane, organization)) &&
    cursor.lanes.filter(({ kind }) => kind === 'bulk').length < BULKS_MAX &&
    hasRoom(cursor)
  )
}

/**
 * Behind `at`, the frames of `organizations` are left to a bulk lane, and a new lane of the old one's kind reads the others. The
 * lane itself ends at `at`. Precondition: `canDivide`.
 */
export function divide(cursor: Cursor, id: number, at: number, organizations: readonly string[]): Cursor {
  if (!canDivide(cursor, id, at, organizations)) throw new ParleyError('BUG', `lane ${id} cannot be divided at ${at}`)
  const { cursor: next, rest } = cut(cursor, id, { at })
  const without = [...(rest.without ?? []), ...organizations]
  const bulk: Lane = { id: next.nextLane, kind: 'bulk', start: at, floor: at, end: rest.end, only: organizations }
  const lanes = next.lanes.map(lane => (lane === rest ? { ...lane, without } : lane))
  return fold({ ...next, nextLane: bulk.id + 1, lanes: [...lanes, bulk] })
}

/** True when the open bulk lane `id` may end at `at`, where the live lane takes its organizations over again. */
export function canJoin(cursor: Cursor, id: number, at: number): boolean {
  const bulk = laneOf(cursor, id)
  return (
    bulk?.kind === 'bulk' && bulk.end === null && isWithin(cursor, bulk, at) && isWithin(cursor, liveOf(cursor), at)
  )
}

/** Ends an open bulk lane at `at`: behind it a new live lane reads its organizations too. Precondition: `canJoin`. */
export function join(cursor: Cursor, id: number, at: number): Cursor {
  const bulk = laneOf(cursor, id)
  if (!bulk?.only || !canJoin(cursor, id, at)) throw new ParleyError('BUG', `lane ${id} cannot end at ${at}`)
  const ended = cursor.lanes.map(lane => (lane === bulk ? { ...lane, end: at } : lane))
  const { cursor: next, rest } = cut({ ...cursor, lanes: ended }, liveOf(cursor).id, { at })
  const left = (rest.without ?? []).filter(organization => !bulk.only?.includes(organization))
  const { without: _, ...all } = rest
  const lanes = next.lanes.map(lane =>
    lane === rest ? { ...all, ...(left.length > 0 ? { without: left } : {}) } : lane,
  )
  return fold({ ...next, lanes })
}

/** True when the next range of a lane, up to `to`, may be looked at by itself. */
export function canSetAside(cursor: Cursor, id: number, to: number): boolean {
  const lane = laneOf(cursor, id)
  return (
    lane !== undefined &&
    (lane.kind === 'live' || lane.kind === 'backlog' || lane.kind === 'bulk') &&
    to > endOf(cursor, id) &&
    to <= (lane.end ?? Number.POSITIVE_INFINITY) &&
    waiting(cursor, 'suspect') < SUSPECTS_MAX &&
    hasRoom(cursor)
  )
}

/**
 * The next range of a lane, up to `to`, becomes a lane of its own, and what stands behind it another one of the old lane's kind, so
 * that nothing waits for it. The lane itself ends before it. Precondition: `canSetAside`.
 */
export function setAside(cursor: Cursor, id: number, to: number): Cursor {
  if (!canSetAside(cursor, id, to)) throw new ParleyError('BUG', `nothing up to ${to} of lane ${id} can be set aside`)
  const before = cut(cursor, id, { at: endOf(cursor, id) })
  const { rest } = before
  if (rest.end !== to) return fold(cut(before.cursor, rest.id, { at: to, kind: 'suspect' }).cursor)
  const lanes = before.cursor.lanes.map(lane => (lane === rest ? { ...lane, kind: 'suspect' as const } : lane))
  return fold({ ...before.cursor, lanes })
}

/** Adds a lane that reads a stored range again, under a generation that outranks all rows that are there. */
export function replay(cursor: Cursor, { from, to }: { readonly from: number; readonly to: number }): Cursor {
  if (from < 1 || to < from || to > cursor.floor) {
    throw new ParleyError('BUG', `${from}-${to} is not stored up to its end`)
  }
  if (cursor.lanes.some(lane => lane.kind === 'replay')) throw new ParleyError('BUG', 'a replay is under way')
  const lane: Lane = { id: cursor.nextLane, kind: 'replay', start: from - 1, floor: from - 1, end: to }
  return { ...cursor, generation: cursor.generation + 1, nextLane: lane.id + 1, lanes: [...cursor.lanes, lane] }
}

/**
 * Ends a lane at `at`; `rest`, a lane of its kind and scope, begins there. What was live is a backlog from now on, or of `kind`. Lanes
 * that have nothing left are not folded away yet.
 */
function cut(
  cursor: Cursor,
  id: number,
  { at, kind }: { readonly at: number; readonly kind?: LaneKind },
): { readonly cursor: Cursor; readonly rest: Lane } {
  const lane = laneOf(cursor, id) as Lane
  const rest: Lane = { id: cursor.nextLane, kind: lane.kind, start: at, floor: at, end: lane.end, ...scopeOf(lane) }
  const ended: Lane = { ...lane, kind: kind ?? (lane.kind === 'live' ? 'backlog' : lane.kind), end: at }
  const lanes = [...cursor.lanes.map(one => (one === lane ? ended : one)), rest]
  return { cursor: { ...cursor, lanes, nextLane: rest.id + 1 }, rest }
}

const isWithin = (cursor: Cursor, lane: Lane, at: number): boolean =>
  at >= endOf(cursor, lane.id) && at < (lane.end ?? Number.POSITIVE_INFINITY)

/** Lanes of a kind that still have something to read. */
const waiting = (cursor: Cursor, kind: LaneKind): number =>
  cursor.lanes.filter(lane => lane.kind === kind && lane.end !== endOf(cursor, lane.id)).length

const hasRoom = (cursor: Cursor): boolean => cursor.lanes.length + 2 <= LANES_MAX
