// What payloads become in a world: recipes of ranges, the rows that they promise, and the memory of identities that follows from rows.
import { createHash } from 'node:crypto'
import { FINGERPRINT_BYTES } from '#proto/ids.ts'
import { inScope, type StoredRange, scopeOf } from '../lanes.ts'
import { emptyIntent, type Intent, type Lane, type OrdinalRun, type Scope } from '../protocol.ts'
import { type Fingerprints, type RepeatWindow, runsOf } from '../repeats.ts'
import { type Row, TABLES, type World } from './world.ts'

/** Positions, both ends inclusive, of the organizations of a scope. */
export interface WorldRange extends Scope {
  readonly from: number
  readonly to: number
}

const prints = new Map<string, Buffer>()

function printOf(id: string): Buffer {
  let print = prints.get(id)
  if (!print) {
    print = createHash('sha1').update(id).digest().subarray(0, FINGERPRINT_BYTES)
    prints.set(id, print)
  }
  return print
}

/** The positions of a range whose payloads are of its scope. */
export function positionsOf(world: World, range: WorldRange): number[] {
  const all = Array.from({ length: range.to - range.from + 1 }, (_, i) => range.from + i)
  return all.filter(sequence => inScope(range, world.organizationAt(sequence)))
}

/** The fingerprints of a range. */
export function printsOf(world: World, range: WorldRange): Fingerprints {
  const sequences = positionsOf(world, range)
  return { list: Buffer.concat(sequences.map(at => printOf(world.ids[at - 1] as string))), sequences }
}

/** Adds the identities that are stored in some ranges to a window. */
export function remember(world: World, window: RepeatWindow, ranges: readonly StoredRange[]): void {
  for (const { after, through, ...scope } of ranges) {
    for (const sequence of positionsOf(world, { from: after + 1, to: through, ...scope })) {
      const counted = world.mode.broken === 'moved rows not remembered' ? ({ moved }: Row) => !moved : undefined
      if (world.sum('events', sequence, counted) <= 0) continue
      const list = printOf(world.ids[sequence - 1] as string)
      runsOf({ list, sequences: [sequence] }, (words, at) => !window.add(words, at))
    }
  }
}

/** The recipe of a range of a lane, as `build` reads it. */
export function recipeOf(
  world: World,
  { id, ...lane }: Lane,
  range: { readonly from: number; readonly to: number; readonly generation: number; readonly build: number },
  homes: Homes,
  repeatsOf: (prints: Fingerprints) => readonly OrdinalRun[],
): Intent {
  const { build, ...named } = range
  const { from, to } = range
  const scope = scopeOf(lane)
  const units = positionsOf(world, { from, to, ...scope }).length
  const repeats = repeatsOf(printsOf(world, { from, to, ...scope }))
  const rows = units - repeats.reduce((sum, [first, last]) => sum + last - first + 1, 0)
  const checksum = `${build}/${from}-${to}/${JSON.stringify([repeats, ...homes])}`
  const blocks = TABLES.map(table => ({ table, retention: 0, month: 202601, rows, checksum, attempt: 1 }))
  return { ...emptyIntent({ lane: id, ...named, ...scope }), repeats, units, blocks: rows === 0 ? [] : blocks }
}

/** The positions that a recipe leaves out as repeats. */
export function droppedBy(world: World, { repeats, ...range }: Intent): ReadonlySet<number> {
  const isRepeat = (ordinal: number): boolean => repeats.some(([first, last]) => first <= ordinal && ordinal <= last)
  return new Set(positionsOf(world, range).filter((_, ordinal) => isRepeat(ordinal)))
}

/** Homes by position, of rows that are written there at once. */
export type Homes = ReadonlyMap<number, string>

/** The rows that a recipe promises of a table. */
export function rowsOf(
  world: World,
  intent: Intent,
  homes: Homes,
  { table, part }: Pick<Row, 'table' | 'part'>,
): Row[] {
  const { generation } = intent
  const dropped = droppedBy(world, intent)
  return positionsOf(world, intent)
    .filter(sequence => !dropped.has(sequence))
    .map(sequence => {
      const id = world.ids[sequence - 1] as string
      const home = homes.get(sequence) ?? ''
      return { table, generation, sequence, id, sign: 1, version: home === '' ? 0 : 1, home, moved: false, part }
    })
}
