// A range of messages -> an intent that can be recorded, with the bodies and dead letters that belong to it.
import type { TallyEntry } from '#proto/ledger.ts'
import type { RangeJudgement } from './calls.ts'
import { SETTINGS_HASH } from './insert.ts'
import { scopeOf } from './lanes.ts'
import type { DeadLetter } from './letters.ts'
import type { LooseUnits, Placement } from './loose.ts'
import { PARSER_VERSION } from './parser-version.ts'
import type { Placed } from './placing.ts'
import type { ParsePool } from './pool.ts'
import type { DeadCode, DeadFrame, Intent, OrdinalRun, Replaced, Scope } from './protocol.ts'
import type { StreamMessage } from './reader.ts'
import type { ReadingSettings } from './readings.ts'
import type { Fingerprints } from './repeats.ts'
import type { Judgement } from './verdicts.ts'

/** A message of a newer version stands in the way: the partition must wait for a newer build. */
export class Halted extends Error {}

/** Thrown only where it is asked for: a payload of the message at `sequence` keeps its thread for long. */
export class Slow extends Error {
  readonly sequence: number

  constructor(sequence: number) {
    super(`position ${sequence}`)
    this.sequence = sequence
  }
}

/** Everything about one range. */
export interface Prepared {
  readonly intent: Intent
  /** In the order of the intent's blocks. */
  readonly bodies: readonly Uint8Array[]
  readonly letters: readonly DeadLetter[]
  readonly messages: readonly StreamMessage[]
  /** What became of each payload. */
  readonly tally: readonly TallyEntry[]
  readonly workMs: number
  /** Events with tokens and without a price, by reason. */
  readonly unpriced: Readonly<Record<string, number>>
  /** Payloads that could not be read from their bytes, by reason. */
  readonly fallbacks: Readonly<Record<string, number>>
  /** The first mistake of a packer; '' = none. */
  readonly fault: string
  /** Garbage collection of the thread since it last said so. */
  readonly gcMs: number
}

/** How a range is to be read. `repeats` null = the judgement decides; else they are what an earlier recipe says. */
export interface Recipe extends Scope {
  readonly lane: number
  readonly from: number
  readonly generation: number
  readonly classes: Readonly<Record<string, number>>
  readonly reading: ReadingSettings
  readonly dead: readonly DeadFrame[]
  readonly repeats: readonly OrdinalRun[] | null
  /** See ParseRequest. */
  readonly slow?: 'name' | 'alone'
  /** With given `repeats`. */
  readonly replaced?: readonly Replaced[]
  /** Where spans without a session belong. */
  readonly place: (loose: LooseUnits) => Promise<Placed | null>
}

/** Verdicts that reading again would not reach by itself: they stand in the intent. */
const STICKY: ReadonlySet<DeadCode> = new Set<DeadCode>(['DEAD_CRASH', 'DEAD_TIMEOUT', 'DEAD_REFUSED'])

/** Judges nothing: for recipes whose repeats are known. */
export const knownRepeats: Judgement = { judge: () => [], undo: () => {} }

/** A judgement that decides nothing and keeps what it was asked about. */
export function listening(): Judgement & { heard(): Fingerprints } {
  let heard: Fingerprints = { list: new Uint8Array(), sequences: [] }
  return {
    judge: prints => {
      heard = prints
      return []
    },
    undo: () => {},
    heard: () => heard,
  }
}

/**
 * Parses a range. What the judgement added to the memory of identities stays until the caller undoes it.
 * @throws Halted for a message of a newer version; Slow; Stopped.
 */
export async function prepareRange(
  { pool, partition, signal }: { readonly pool: ParsePool; readonly partition: number; readonly signal: AbortSignal },
  judgement: RangeJudgement,
  messages: readonly StreamMessage[],
  recipe: Recipe,
): Promise<Prepared> {
  const { judge, undo } = judgement
  let placed: Placed | null = null
  const place = async (loose: LooseUnits): Promise<Placement | null> => {
    placed = await recipe.place(loose)
    return placed?.placement ?? null
  }
  const parsed = await pool.parse({ messages, partition, ...recipe, judge, undo, place, signal })
  if ('newer' in parsed) throw new Halted(parsed.newer)
  if ('suspect' in parsed) throw new Slow(parsed.suspect)
  const replaced = (recipe.repeats === null ? judgement.replaced?.() : recipe.replaced) ?? []
  const lost = new Set(parsed.dead.map(({ sequence, frame }) => `${sequence}/${frame}`))
  // Only what is stored takes the place of something.
  const standing = replaced.filter(({ by }) => !lost.has(by))
  const sticky = parsed.dead.filter(({ code }) => STICKY.has(code))
  const intent: Intent = {
    lane: recipe.lane,
    generation: recipe.generation,
    from: recipe.from,
    ...scopeOf(recipe),
    to: (messages.at(-1) as StreamMessage).sequence,
    parser: PARSER_VERSION,
    settings: SETTINGS_HASH,
    classes: parsed.classes,
    ...(Object.keys(parsed.readings).length > 0 ? { readings: parsed.readings } : {}),
    dead: sticky.map(({ sequence, frame, code, reason }) => ({ sequence, frame, code, reason })),
    letters: parsed.dead.length,
    repeats: parsed.repeats,
    ...(standing.length > 0 ? { replaced: standing } : {}),
    units: parsed.units,
    ...(parsed.loose > 0 ? { loose: parsed.loose } : {}),
    ...namedIn(placed),
    blocks: parsed.blocks.map(({ body: _body, ...block }) => block),
    clearing: 0,
    done: false,
  }
  return {
    intent,
    bodies: parsed.blocks.map(block => block.body),
    letters: parsed.dead,
    messages,
    tally: parsed.tally,
    workMs: parsed.workMs,
    unpriced: parsed.unpriced,
    fallbacks: parsed.fallbacks,
    fault: parsed.fault,
    gcMs: parsed.gcMs,
  }
}

const namedIn = (placed: Placed | null): Pick<Intent, 'homes'> => (placed === null ? {} : { homes: placed.named })
