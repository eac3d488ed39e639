// Messages of a range -> units -> encoded blocks. Runs inside a worker thread; deterministic: the same messages, verdicts and
// classes give the same bytes, in every process that runs the same parsers.
import type { Frame } from '#proto/envelope.ts'
import { FrameEncoding, FrameKind, frameAt, frameFacts } from '#proto/envelope.ts'
import { FINGERPRINT_BYTES, fingerprint } from '#proto/ids.ts'
import { type Origin, Present } from '#proto/rows.ts'
import type { CallReport } from './calls.ts'
import type { SdkBodies } from './direct/bodies.ts'
import { type RowOrigin, writeEvent } from './direct/sdk-rows.ts'
import type { BlockEncoder, EncodedBlock } from './encoder.ts'
import { framesOf, type Parsers, parseFrame, textOfOrganizations } from './frames.ts'
import { inScope } from './lanes.ts'
import { type DeadLetter, letterOf, type Verdict, wholeLetter } from './letters.ts'
import { atHome, type Home } from './loose.ts'
import type { PackedUnits, Unit } from './outcome.ts'
import { UNPRICED_KEY } from './parsers/cost.ts'
import type { DeadFrame, OrdinalRun, Scope } from './protocol.ts'
import { type OrganizationReading, openReading, type ReadingSettings } from './readings.ts'
import type { Fingerprints } from './repeats.ts'
import { type PackedFrame, type PlacedUnit, Units } from './units.ts'

/** What goes to a worker; frames that are not of its scope are left out. */
export interface BlockInput {
  /** The messages' bytes one after the other. */
  readonly bytes: Uint8Array
  readonly sequences: Float64Array
  /** End of each message in `bytes`. */
  readonly ends: Float64Array
  readonly partition: number
  readonly generation: number
  /** Retention classes other than 0. */
  readonly classes: Readonly<Record<string, number>>
  readonly reading: ReadingSettings
  /** Verdicts from before: these frames are not parsed. */
  readonly dead: readonly DeadFrame[]
  readonly scope: Scope
  /** Only these frames ("sequence/frame") are parsed: to find a guilty one. */
  readonly frames?: readonly string[]
}

/** Units of a range, before it is known which of them are repeats. */
export interface Parsed {
  readonly units: Units
  /** Where the places of units that are no rows are kept. */
  readonly bodies: SdkBodies | undefined
  readonly prints: Fingerprints
  readonly dead: readonly DeadLetter[]
  readonly classes: Readonly<Record<string, number>>
  /** Hashes of what organizations said about reading, of those that said something. */
  readonly readings: Readonly<Record<string, string>>
  /** Events with tokens and without a price, by reason. */
  readonly unpriced: Readonly<Record<string, number>>
  /** Payloads that were made objects although others of their kind are read from bytes, by reason. */
  readonly fallbacks: Readonly<Record<string, number>>
  /** The first of the mistakes of packers, whose payloads were read as objects; '' = none. */
  readonly fault: string
  /** Events that have no conversation of their own yet. */
  readonly loose: number
}

/** Called before each frame, so that whoever watches knows which one a thread hangs on. */
export type Progress = (message: number, frame: number) => void

/**
 * Parses every frame of a range.
 * @throws NewerEnvelope when a message is of a version that this build cannot read.
 */
export function parseRange(input: BlockInput, parsers: Parsers, progress: Progress): Parsed {
  const parse = new RangeParse(input, parsers, progress)
  let start = 0
  for (const [message, end] of input.ends.entries()) {
    parse.message(message, start, end)
    start = end
  }
  return parse.finish()
}

/** Where a frame stands. */
interface FramePlace {
  readonly sequence: number
  readonly frame: number
  readonly organization: string
}

/** What has been parsed of a range so far. */
class RangeParse {
  readonly #input: BlockInput
  readonly #parsers: Parsers
  readonly #progress: Progress
  readonly #verdicts: ReadonlyMap<string, DeadFrame>
  readonly #chosen: ReadonlySet<string> | undefined
  readonly #organizationAt: (frame: number) => string
  readonly #readingOf: (organization: string) => OrganizationReading
  readonly #bodies: SdkBodies | undefined
  readonly #units = new Units()
  readonly #dead: DeadLetter[] = []
  readonly #classes: Record<string, number> = {}
  readonly #readings: Record<string, string> = {}
  readonly #unpriced: Record<string, number> = {}
  readonly #fallbacks: Record<string, number> = {}
  readonly #faults: string[] = []
  #loose = 0

  constructor(input: BlockInput, parsers: Parsers, progress: Progress) {
    this.#input = input
    this.#parsers = parsers
    this.#progress = progress
    this.#verdicts = new Map(input.dead.map(dead => [`${dead.sequence}/${dead.frame}`, dead]))
    this.#chosen = input.frames ? new Set(input.frames) : undefined
    this.#organizationAt = textOfOrganizations(input.bytes)
    this.#readingOf = openReading(input.reading)
    this.#bodies = parsers.openBodies?.(input.bytes)
  }

  /** Takes the message whose bytes are those between two places. @throws NewerEnvelope */
  message(index: number, start: number, end: number): void {
    const { bytes, sequences, scope } = this.#input
    const sequence = sequences[index] as number
    const message = bytes.subarray(start, end)
    const frames = this.#verdicts.get(`${sequence}/-1`) ?? framesOf(message)
    if (!Array.isArray(frames)) {
      // It is no organization's.
      if (!scope.only) this.#dead.push(wholeLetter(sequence, frames as Verdict, message))
      return
    }
    const all = !scope.only && !scope.without
    const named = this.#chosen !== undefined || this.#verdicts.size > 0
    for (let frame = 0; frame < frames.length; frame++) {
      const at = frames[frame] as number
      const key = named ? `${sequence}/${frame}` : ''
      if (this.#chosen && !this.#chosen.has(key)) continue
      const organization = this.#organizationAt(start + at)
      if (!all && !inScope(scope, organization)) continue
      this.#progress(index, frame)
      const verdict = this.#verdicts.get(key)
      const place = { sequence, frame, organization }
      if (!verdict && this.#fromBytes(message, start, at, place)) continue
      this.#asObjects(frameAt(message, at), place, verdict)
    }
  }

  /** What stands in the range. */
  finish(): Parsed {
    const [units, bodies, faults] = [this.#units, this.#bodies, this.#faults]
    const loose = units.placed.reduce(
      (sum, { unit }) => sum + unit.events.filter(({ provisional }) => provisional === 1).length,
      this.#loose,
    )
    if (faults.length > 0) this.#fallbacks['packer failed'] = faults.length
    const told = { unpriced: this.#unpriced, fallbacks: this.#fallbacks, fault: faults[0] ?? '', loose }
    const owners = { classes: this.#classes, readings: this.#readings }
    return { units, bodies, prints: printsOf(units, bodies), dead: this.#dead, ...owners, ...told }
  }

  /** Reads a body from the bytes of its frame; false when it must be made an object. */
  #fromBytes(message: Uint8Array, start: number, at: number, { sequence, frame, organization }: FramePlace): boolean {
    const kind = message[at]
    const bodies = this.#bodies
    if (!bodies || (kind !== FrameKind.event && kind !== FrameKind.session)) return false
    const reader = kind === FrameKind.event ? bodies.events : bodies.sessions
    const retention = this.#input.classes[organization] ?? 0
    const reading = this.#readingOf(organization)
    let unit = -1
    if (message[at + 1] === FrameEncoding.json) {
      const { length, receivedAtMs } = frameFacts(message, at)
      unit = reader.take(start + at, length, {
        organization,
        retention,
        pricing: reading.context.pricing,
        receivedAtMs,
      })
    } else unit = reader.leave('compressed')
    if (unit < 0) {
      count(this.#fallbacks, reader.fallback)
      return false
    }
    this.#owned(organization, retention, reading)
    if (kind === FrameKind.session) this.#units.addSession(unit, sequence, frame)
    else {
      if (bodies.events.unpriced !== '') count(this.#unpriced, bodies.events.unpriced)
      this.#units.addEvent(unit, sequence, frame)
    }
    return true
  }

  #asObjects(frame: Frame, place: FramePlace, letter: Verdict | undefined): void {
    const dead = (verdict: Verdict): void => {
      this.#dead.push(letterOf(place.sequence, place.frame, frame, verdict))
    }
    if (letter) dead(letter)
    // A frame that only the store refused still counts its units: the ordinals of the others must not move.
    if (letter && letter.code !== 'DEAD_REFUSED') return
    const { organization } = place
    const retention = this.#input.classes[organization] ?? 0
    const reading = this.#readingOf(organization)
    this.#owned(organization, retention, reading)
    const outcome = parseFrame(frame, { organization, retention, reading }, this.#parsers, this.#faults)
    if ('dead' in outcome) {
      if (!letter) dead({ code: outcome.dead, reason: outcome.reason })
      return
    }
    const where = { ...place, refused: letter !== undefined }
    if ('count' in outcome) return this.#packed(outcome, where)
    for (const why of outcome.units.flatMap(unpricedIn)) count(this.#unpriced, why)
    if (this.#parsers.packTraces && frame.kind === FrameKind.otlp)
      count(this.#fallbacks, 'span body', outcome.units.length)
    placeRows(this.#units, outcome.units, where)
  }

  #packed(units: PackedUnits, where: FramePlace & { readonly refused: boolean }): void {
    for (const [why, n] of Object.entries(units.unpriced)) count(this.#unpriced, why, n)
    for (const [why, n] of Object.entries(units.objects)) count(this.#fallbacks, why, n)
    this.#loose += units.loose
    this.#units.addPacked({ units, ...where })
  }

  /** The range has a frame of this organization, which may have said something about it. */
  #owned(organization: string, retention: number, reading: OrganizationReading): void {
    if (retention !== 0) this.#classes[organization] = retention
    if (reading.hash !== '') this.#readings[organization] = reading.hash
  }
}

function count(into: Record<string, number>, why: string, n = 1): void {
  into[why] = (into[why] ?? 0) + n
}

const nowhere = (): undefined => undefined

/** Encodes the units that are no repeats; `homeAt`: where one belongs that does not say it itself. */
export function encodeRange(
  parsed: Parsed,
  input: Pick<BlockInput, 'partition' | 'generation'>,
  repeats: readonly OrdinalRun[],
  encoder: BlockEncoder,
  homeAt: (ordinal: number) => Home | undefined = nowhere,
): EncodedBlock[] {
  let run = 0
  const { units, bodies } = parsed
  const origin: RowOrigin = { partition: input.partition, generation: input.generation, sequence: 0, frame: 0 }
  let last: PackedFrame | undefined
  let packedOrigin = originOf(input, { sequence: 0, frame: 0 })
  for (let ordinal = 0; ordinal < units.length; ordinal++) {
    while (run < repeats.length && (repeats[run] as OrdinalRun)[1] < ordinal) run++
    const range = repeats[run]
    if (range && range[0] <= ordinal) continue
    const packed = units.packedAt(ordinal)
    if (packed !== undefined) {
      if (packed.refused) continue
      if (packed !== last) packedOrigin = originOf(input, packed)
      last = packed
      packed.units.write(ordinal - packed.first, encoder, packedOrigin, homeAt(ordinal))
      continue
    }
    const placed = units.rowsAt(ordinal)
    if (placed === undefined) {
      origin.sequence = units.sequences[ordinal] as number
      origin.frame = units.frames[ordinal] as number
      const { events, sessions } = bodies as SdkBodies
      const event = units.eventAt(ordinal)
      if (event >= 0) writeEvent(events, event, origin, encoder)
      else sessions.write(units.sessionAt(ordinal), origin, encoder)
      continue
    }
    if (!placed.refused) encodeRows(placed, originOf(input, placed), encoder, homeAt(ordinal))
  }
  return encoder.finish()
}

function encodeRows({ unit, first }: PlacedUnit, origin: Origin, encoder: BlockEncoder, home: Home | undefined): void {
  const at = (index: number): Origin => ({ ...origin, origin_index: index })
  for (const [i, row] of unit.sessions.entries()) encoder.add('sessions', row, at(first.sessions + i))
  for (const [i, row] of unit.texts.entries()) encoder.add('texts', row, at(first.texts + i))
  for (const [i, row] of (unit.links ?? []).entries()) encoder.add('links', row, at(first.links + i))
  for (const [i, row] of unit.events.entries()) encoder.add('events', atHome(row, home), at(first.events + i))
}

function originOf(
  { partition, generation }: Pick<BlockInput, 'partition' | 'generation'>,
  { sequence, frame }: Pick<PlacedUnit, 'sequence' | 'frame'>,
): Origin {
  return {
    ...{ origin_partition: partition, origin_generation: generation, origin_sequence: sequence, origin_frame: frame },
    origin_index: 0,
  }
}

/** Reasons why events of a unit have no price. */
function unpricedIn({ events }: Unit): string[] {
  return events.flatMap(({ present, metadata }) => {
    if ((present & Present.pricingInvalid) > 0) return ['invalid']
    const why = metadata[UNPRICED_KEY]
    return why === undefined ? [] : [why]
  })
}

function placeRows(
  into: Units,
  units: readonly Unit[],
  where: Pick<PlacedUnit, 'organization' | 'sequence' | 'frame' | 'refused'>,
): void {
  const next = { sessions: 0, texts: 0, links: 0, events: 0 }
  for (const unit of units) {
    into.addRows({ unit, ...where, first: { ...next } })
    next.sessions += unit.sessions.length
    next.texts += unit.texts.length
    next.links += unit.links?.length ?? 0
    next.events += unit.events.length
  }
}

function printsOf(units: Units, bodies: SdkBodies | undefined): Fingerprints {
  const list = new Uint8Array(units.length * FINGERPRINT_BYTES)
  const calls: CallReport[] = []
  for (let ordinal = 0; ordinal < units.length; ordinal++) {
    const packed = units.packedAt(ordinal)
    if (packed !== undefined) {
      packed.units.print(ordinal - packed.first, list, ordinal * FINGERPRINT_BYTES)
      continue
    }
    const placed = units.rowsAt(ordinal)
    if (placed === undefined) {
      // A session has no identity.
      const event = units.eventAt(ordinal)
      if (event >= 0) bodies?.events.prints.copy(event, list, ordinal * FINGERPRINT_BYTES)
      continue
    }
    const { unit, organization, sequence, frame, refused } = placed
    if (!unit.identity) continue
    const { kind, id } = unit.identity
    const report = unit.sessions[0]?.report ?? ''
    if (kind !== 'call') list.set(fingerprint(kind, organization, id), ordinal * FINGERPRINT_BYTES)
    // A report that is never stored replaces nothing.
    else if (!refused) calls.push({ ordinal, organization, conversation: id, sequence, frame, report })
  }
  return { list, sequences: Float64Array.from(units.sequences), calls }
}
