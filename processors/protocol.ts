// The cursor of one partition and the settling of one block, as pure functions: no I/O, no clock. Whoever owns a partition does
// only what these return, so that the promises can be explored without engines (exploration/).
//
// A cursor holds lanes: ranges of the stream that are read beside each other, each with a floor of its own. An intent is recorded
// by compare-and-set before anything of its range is inserted and says how to reproduce it; a lane's floor is the end of its
// finished prefix, and a bounded lane is folded away when its floor reaches its end. Taking over writes the cursor too, so that
// whatever an earlier owner still tries to write fails.
import type { ErrorCode } from '#proto/errors.ts'
import { ParleyError } from '#proto/errors.ts'
import type { BlockTable } from '#proto/rows.ts'

/** Format of the record. A build that meets a later one must not guess. */
export const CURSOR_VERSION = 3
/** Intents that may stand in one lane at once. */
export const INTENTS_MAX = 16

export type DeadCode = Extract<ErrorCode, `DEAD_${string}`>

/** The verdict that a frame never becomes rows. `frame` -1 = the whole message. */
export interface DeadFrame {
  readonly sequence: number
  readonly frame: number
  readonly code: DeadCode
  readonly reason: string
}

/** First and last of a run of unit ordinals, both inclusive. Ordinals count the units of a range in stream order. */
export type OrdinalRun = readonly [first: number, last: number]

/** An earlier report of a call that gives way to a later one. Both positions are "sequence/frame". */
export interface Replaced {
  readonly at: string
  readonly by: string
}

/** One INSERT of a range: everything that goes to one part of one table. */
export interface BlockRecipe {
  readonly table: BlockTable
  readonly retention: number
  /** YYYYMM; 0 for tables that are not cut by month. */
  readonly month: number
  readonly rows: number
  /** Of the bytes sent; see checksum.ts. */
  readonly checksum: string
  /** Starts at 1; the next attempt inserts under a token of its own. */
  readonly attempt: number
}

/** Which organizations' frames: all, only these, or all but these. */
export interface Scope {
  readonly only?: readonly string[]
  readonly without?: readonly string[]
}

/** Which homes a recipe uses (placing.ts). */
export interface NamedHomes {
  readonly slot: number
  readonly hash: string
  /** All links whose record stands at most here in the stream of finished ranges were known. */
  readonly revision: number
  readonly rows: number
}

/** What names an intent. */
export interface IntentName {
  readonly lane: number
  readonly from: number
}

/** What will be, or has been, inserted for a range of the stream, and how to make the same again. Its scope is that of its lane. */
export interface Intent extends Scope, IntentName {
  readonly generation: number
  readonly to: number
  readonly parser: string
  readonly settings: string
  /** Retention classes other than 0 that were used, by organization. */
  readonly classes: Readonly<Record<string, number>>
  /** What organizations said about reading, by organization and hash, where they said something; absent: nobody did. */
  readonly readings?: Readonly<Record<string, string>>
  /** Verdicts that reading again would not reproduce by itself: threads that died, rows that the store refused. */
  readonly dead: readonly DeadFrame[]
  /** Frames that became dead letters, those of `dead` included. */
  readonly letters: number
  readonly repeats: readonly OrdinalRun[]
  /** Earlier reports of calls that are taken back once the blocks are there; absent: none. */
  readonly replaced?: readonly Replaced[]
  readonly units: number
  /** Events that have no conversation of their own yet; absent: none. */
  readonly loose?: number
  /** Events that are written at the home that a link of their trace says; absent: none. */
  readonly homes?: NamedHomes
  readonly blocks: readonly BlockRecipe[]
  /** 0, or the number of tries so far to take back what older generations stored of this range. */
  readonly clearing: number
  readonly done: boolean
}

/**
 * What a lane is for: what arrives now, what an outage left, the organizations that send more than their share, a range that keeps
 * its thread too long, or what is stored already and read again.
 */
export type LaneKind = 'live' | 'backlog' | 'bulk' | 'suspect' | 'replay'

/** A range of the stream that is read in order, or the frames of some organizations in it. No two lanes read the same frame (lanes.ts). */
export interface Lane extends Scope {
  readonly id: number
  readonly kind: LaneKind
  /** The position before its first. */
  readonly start: number
  /** Everything of the lane up to here is stored. */
  readonly floor: number
  /** Its last position; null = open: the live one, and bulk lanes beside it. */
  readonly end: number | null
}

/** An intent that stores nothing: for a range that holds nothing, and to start from. */
export const emptyIntent = (range: IntentName & Scope & Pick<Intent, 'generation' | 'to'>): Intent => ({
  ...range,
  parser: '',
  settings: '',
  classes: {},
  dead: [],
  letters: 0,
  repeats: [],
  units: 0,
  blocks: [],
  clearing: 0,
  done: false,
})

/** The state of a partition. */
export interface Cursor {
  readonly version: typeof CURSOR_VERSION
  /** Counts takeovers: no two owners ever write the same epoch. */
  readonly epoch: number
  readonly owner: string
  /** The highest generation that any row may carry. */
  readonly generation: number
  /** Everything up to here was stored, whatever the lanes: the lowest floor of all but replays. */
  readonly floor: number
  readonly lanes: readonly Lane[]
  /** The id of the next lane: none is used twice. */
  readonly nextLane: number
  /** Of all lanes; in the order of their ranges within a lane. */
  readonly intents: readonly Intent[]
}

/** The cursor of a partition that nobody has read yet. */
export const freshCursor = (): Cursor => ({
  version: CURSOR_VERSION,
  epoch: 0,
  owner: '',
  generation: 1,
  floor: 0,
  lanes: [{ id: 1, kind: 'live', start: 0, floor: 0, end: null }],
  nextLane: 2,
  intents: [],
})

/** A stored record as a cursor of this version. @throws ParleyError RUN_CURSOR_NEWER for a later one. */
export function readCursor(record: unknown): Cursor {
  const found = record as { version: number }
  if (found.version === CURSOR_VERSION) return record as Cursor
  if (found.version === 2) {
    const old = record as Cursor
    return { ...old, version: CURSOR_VERSION, nextLane: Math.max(...old.lanes.map(lane => lane.id)) + 1 }
  }
  if (found.version !== 1) throw new ParleyError('RUN_CURSOR_NEWER', `version ${String(found.version)}`)
  const old = record as Omit<Cursor, 'version' | 'lanes' | 'nextLane' | 'intents'> & {
    intents: readonly Omit<Intent, 'lane' | 'letters'>[]
  }
  return {
    ...old,
    version: CURSOR_VERSION,
    lanes: [{ id: 1, kind: 'live', start: 0, floor: old.floor, end: null }],
    nextLane: 2,
    intents: old.intents.map(intent => ({ ...intent, lane: 1, letters: intent.dead.length })),
  }
}

/** The same state in the hands of `owner`. */
export function takeOver(cursor: Cursor, owner: string): Cursor {
  return { ...cursor, epoch: cursor.epoch + 1, owner }
}

/** The lane `id`, undefined when it was folded away. */
export function laneOf(cursor: Cursor, id: number): Lane | undefined {
  return cursor.lanes.find(lane => lane.id === id)
}

/** The intents of a lane, in order. */
export function intentsOf(cursor: Cursor, id: number): readonly Intent[] {
  return cursor.intents.filter(intent => intent.lane === id)
}

/** The last position of a lane that is stored or intended. */
export function endOf(cursor: Cursor, id: number): number {
  const lane = laneOf(cursor, id)
  if (!lane) throw new ParleyError('BUG', `there is no lane ${id}`)
  return intentsOf(cursor, id).at(-1)?.to ?? lane.floor
}

/** Appends an intent to its lane. Ranges follow each other without a hole, so that no floor passes an unread position. */
export function propose(cursor: Cursor, intent: Intent): Cursor {
  const end = endOf(cursor, intent.lane)
  const last = laneOf(cursor, intent.lane)?.end ?? Number.POSITIVE_INFINITY
  if (intent.from !== end + 1 || intent.to < intent.from || intent.to > last) {
    throw new ParleyError('BUG', `the range ${intent.from}-${intent.to} does not follow ${end}`)
  }
  const { only, without } = laneOf(cursor, intent.lane) as Lane
  if (String([intent.only, '', intent.without]) !== String([only, '', without])) {
    throw new ParleyError('BUG', 'an intent of another scope than its lane')
  }
  if (intentsOf(cursor, intent.lane).length >= INTENTS_MAX) throw new ParleyError('BUG', 'too many intents')
  return fold({
    ...cursor,
    generation: Math.max(cursor.generation, intent.generation),
    intents: [...cursor.intents, intent],
  })
}

/** Marks an intent as stored and moves its lane's floor over the finished prefix. */
export function finish(cursor: Cursor, name: IntentName): Cursor {
  return fold(change(cursor, name, intent => ({ ...intent, done: true })))
}

/**
 * Puts another recipe in the place of the one of its name, under a generation of its own: what the old recipe
 * stored is taken back (`clearing`) before the new one is inserted.
 */
export function supersede(cursor: Cursor, recipe: Intent): Cursor {
  const next = change(cursor, recipe, old => {
    if (recipe.generation <= old.generation) throw new ParleyError('BUG', 'a new recipe needs a new generation')
    if (recipe.to !== old.to) throw new ParleyError('BUG', 'a new recipe covers the same range')
    return { ...recipe, clearing: 1 }
  })
  return { ...next, generation: Math.max(cursor.generation, recipe.generation) }
}

/** Moves block `index` of an intent to its next attempt. */
export function raiseAttempt(cursor: Cursor, name: IntentName, index: number): Cursor {
  return change(cursor, name, intent => ({
    ...intent,
    blocks: intent.blocks.map((block, i) => (i === index ? { ...block, attempt: block.attempt + 1 } : block)),
  }))
}

/** Counts one more try to clear. */
export function raiseClearing(cursor: Cursor, name: IntentName): Cursor {
  return change(cursor, name, intent => ({ ...intent, clearing: intent.clearing + 1 }))
}

/** True when an intent is the one of this name. */
export const isNamed = (intent: Intent, { lane, from }: IntentName): boolean =>
  intent.lane === lane && intent.from === from

function change(cursor: Cursor, name: IntentName, edit: (intent: Intent) => Intent): Cursor {
  if (!cursor.intents.some(intent => isNamed(intent, name) && !intent.done)) {
    throw new ParleyError('BUG', `no open intent of lane ${name.lane} starts at ${name.from}`)
  }
  return { ...cursor, intents: cursor.intents.map(intent => (isNamed(intent, name) ? edit(intent) : intent)) }
}

/** Moves every lane's floor over its finished prefix, forgets lanes that are read to their end. */
export function fold(cursor: Cursor): Cursor {
  const passed = new Set<Intent>()
  const lanes = cursor.lanes.flatMap(lane => {
    let { floor } = lane
    for (const intent of intentsOf(cursor, lane.id)) {
      if (!intent.done) break
      floor = intent.to
      passed.add(intent)
    }
    return floor === lane.end ? [] : [floor === lane.floor ? lane : { ...lane, floor }]
  })
  if (passed.size === 0 && lanes.length === cursor.lanes.length) return cursor
  const floor = Math.min(...lanes.filter(lane => lane.kind !== 'replay').map(lane => lane.floor))
  return { ...cursor, floor, lanes, intents: cursor.intents.filter(intent => !passed.has(intent)) }
}

/** True when two recipes would store the same rows in the same parts. Attempts don't matter. */
export function sameBlocks(a: readonly BlockRecipe[], b: readonly BlockRecipe[]): boolean {
  const key = (r: BlockRecipe): string => `${r.table}/${r.retention}/${r.month}/${r.rows}/${r.checksum}`
  return a.length === b.length && a.every((recipe, i) => key(recipe) === key(b[i] as BlockRecipe))
}

/** Readable name of one attempt to store one block: deduplication token, and the end of its query id. */
export function tokenOf(partition: number, intent: Intent, block: BlockRecipe): string {
  return `${rangeTokenOf(partition, intent)}.${block.table}.r${block.retention}.m${block.month}.a${block.attempt}`
}

/** The beginning that all tokens of one recipe share. */
export function rangeTokenOf(
  partition: number,
  intent: IntentName & Scope & { to: number; generation: number },
): string {
  return `${rangeNameOf(partition, intent)}.g${intent.generation}`
}

/** The beginning that all tokens of one range share, whatever the recipe. Bulk lanes pass the positions of others. */
export function rangeNameOf(partition: number, { lane, from, to, only }: IntentName & Scope & { to: number }): string {
  return `p${partition}${only ? `.l${lane}` : ''}.s${from}-${to}`
}

// ---- settling one block --------------------------------------------------------------------------------------------------
//
// An attempt may be used for one insert, and for taking back what was seen of a block. Statements that were sent and never
// answered may arrive late; they do no harm, because the same attempt is sent again (under its token it happens once) until it is
// answered, and because taking back is bound to the parts in which the rows were seen.

/** What the store holds of a block. `total` = signed rows, `exact` = positions that are there exactly once. */
export interface Counted {
  readonly total: number
  readonly exact: number
}

/** Where the settling of a block stands. */
export interface BlockState {
  /** Rows the block must have. */
  readonly rows: number
  /** An answer is missing somewhere: nothing but a count says "stored" any more. */
  readonly doubt: boolean
  /** This attempt's insert, or its taking back, was answered: its token is used up. */
  readonly inserted: boolean
  readonly reduced: boolean
  /** The store answered an insert with success, and a count found nothing of it. */
  readonly lied: boolean
  /** What a raised attempt is for. */
  readonly next: 'insert' | 'reduce'
}

/** What to do next. `insert` and `reduce` carry the block's present attempt in their token. */
export type BlockCommand = 'insert' | 'settle' | 'count' | 'raise' | 'reduce' | 'done' | 'refused'

/** What happened. `settled`: the store answers and no insert of the block is running there any more. */
export type BlockEvent =
  | { readonly is: 'inserted' | 'unknown' | 'refused' | 'settled' | 'raised' | 'reduced' }
  | { readonly is: 'counted'; readonly counted: Counted }

/** The first step. `found`: the intent was found in the cursor, so somebody may have inserted under it. */
export function beginBlock(rows: number, found: boolean): readonly [BlockState, BlockCommand] {
  const state: BlockState = { rows, doubt: found, inserted: false, reduced: false, lied: false, next: 'insert' }
  return [state, found ? 'settle' : 'insert']
}

/** The next step after an event. */
export function stepBlock(state: BlockState, event: BlockEvent): readonly [BlockState, BlockCommand] {
  switch (event.is) {
    case 'inserted':
      // The only way to "done" without a count: a first attempt that was answered cleanly.
      return state.doubt ? [{ ...state, inserted: true }, 'count'] : [state, 'done']
    case 'reduced':
      return [{ ...state, reduced: true }, 'count']
    case 'unknown':
      return [{ ...state, doubt: true }, 'settle']
    case 'refused':
      return [state, 'refused']
    case 'settled':
      return [state, 'count']
    case 'raised':
      return [{ ...state, inserted: false, reduced: false }, state.next]
    case 'counted':
      return afterCount({ ...state, doubt: true }, event.counted)
    default:
      throw new ParleyError('BUG', `event ${JSON.stringify(event satisfies never)}`)
  }
}

function afterCount(state: BlockState, { total, exact }: Counted): readonly [BlockState, BlockCommand] {
  if (total === state.rows && exact === state.rows) return [state, 'done']
  // Nothing there: insert, under a new attempt when this one's token was answered (26.7 may burn it) or used to take back.
  // Part of it, or more than it: take back what is there first.
  const next = total === 0 && exact === 0 ? 'insert' : 'reduce'
  const used = next === 'insert' ? state.inserted || state.reduced : state.reduced
  const lied = state.lied || (state.inserted && next === 'insert')
  return used ? [{ ...state, lied, next }, 'raise'] : [{ ...state, lied, next }, next]
}
