// A parsed range and its repeats -> what became of each payload, by organization, hour of receipt and surface: the ledger's entries.
// Nothing here is parsed again: a frame's header says whose it is and when it came.
import { FRAME_HEADER_BYTES, frameFacts, frameStarts, ORGANIZATION_AT } from '#proto/envelope.ts'
import { uuidText } from '#proto/ids.ts'
import { type Surface, surfaceOfKind, type TallyEntry } from '#proto/ledger.ts'
import type { BlockInput, Parsed } from './block.ts'
import { sameBytes } from './columns/utf8.ts'
import { inScope } from './lanes.ts'
import type { OrdinalRun } from './protocol.ts'

const HOUR_MS = 3_600_000

type Entry = { -readonly [key in keyof TallyEntry]: TallyEntry[key] }

/** Tells how many units of a frame there are, and how many of them are repeats. To be asked in the order of frames. */
function unitCounter(
  { units }: Pick<Parsed, 'units'>,
  repeats: readonly OrdinalRun[],
): (sequence: number, frame: number) => { readonly units: number; readonly repeats: number } {
  let [ordinal, run] = [0, 0]
  const isRepeat = (at: number): boolean => {
    while (run < repeats.length && (repeats[run] as OrdinalRun)[1] < at) run++
    const range = repeats[run]
    return range !== undefined && range[0] <= at
  }
  return (sequence, frame) => {
    const counted = { units: 0, repeats: 0 }
    for (; units.sequences[ordinal] === sequence && units.frames[ordinal] === frame; ordinal++) {
      counted.units++
      if (isRepeat(ordinal)) counted.repeats++
    }
    return counted
  }
}

/** Finds the entry of a frame: frames beside each other are mostly of the same one. Null: not of this range's scope. */
function entryFinder(
  { bytes, scope }: Pick<BlockInput, 'bytes' | 'scope'>,
  into: Map<string, Entry>,
): (frameAt: number) => Entry | null {
  const all = !scope.only && !scope.without
  let last: { readonly at: number; readonly entry: Entry | null } | undefined
  let [hour, surface]: [number, Surface] = [0, 'sdk']
  return at => {
    const frame = bytes.subarray(at, at + FRAME_HEADER_BYTES)
    const itsHour = Math.floor(frameFacts(frame, 0).receivedAtMs / HOUR_MS)
    // A kind that nobody knows becomes a dead letter of whoever sent it.
    const its = surfaceOfKind(frame[0]) ?? 'sdk'
    const here = at + ORGANIZATION_AT
    if (last && itsHour === hour && its === surface && sameBytes(bytes, last.at, last.at + 16, bytes, here)) {
      return last.entry
    }
    ;[hour, surface] = [itsHour, its]
    const organization = uuidText(bytes, here)
    const name = `${organization}.${hour}.${surface}`
    let entry = into.get(name) ?? null
    if (entry === null && (all || inScope(scope, organization))) {
      entry = { organization, hour, surface, payloads: 0, dead: 0, repeats: 0, items: 0, repeatedItems: 0 }
      into.set(name, entry)
    }
    last = { at: here, entry }
    return entry
  }
}

/** Counts a range. Messages that are no envelopes are nobody's and not counted. */
export function tallyOf(input: BlockInput, parsed: Parsed, repeats: readonly OrdinalRun[]): TallyEntry[] {
  const entries = new Map<string, Entry>()
  const dead = new Set(parsed.dead.map(({ sequence, frame }) => `${sequence}/${frame}`))
  const entryOf = entryFinder(input, entries)
  const unitsOf = unitCounter(parsed, repeats)
  let messageAt = 0
  for (const [m, sequence] of input.sequences.entries()) {
    const start = messageAt
    messageAt = input.ends[m] as number
    if (dead.size > 0 && dead.has(`${sequence}/-1`)) continue
    // A message that is no envelope and not of this scope has no letter here.
    const starts = startsOf(input.bytes.subarray(start, messageAt))
    for (const [f, at] of starts.entries()) {
      const entry = entryOf(start + at)
      if (entry === null) continue
      const { units, repeats: repeated } = unitsOf(sequence, f)
      entry.payloads++
      if (dead.size > 0 && dead.has(`${sequence}/${f}`)) {
        entry.dead++
        continue
      }
      entry.items += units
      entry.repeatedItems += repeated
      if (units > 0 && repeated === units) entry.repeats++
    }
  }
  return [...entries.values()]
}

function startsOf(message: Uint8Array): number[] {
  try {
    return frameStarts(message)
  } catch {
    return []
  }
}
