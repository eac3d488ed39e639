// Messages of a range -> units -> encoded blocks. Runs inside a worker thread; deterministic: the same messages, verdicts and
// classes give the same bytes, in every process that runs the same parsers.
import { gunzipSync } from 'node:zlib'
import type { Frame } from '#proto/envelope.ts'
import { FrameEncoding, FrameKind, frameAt, frameFacts, frameStarts, ORGANIZATION_AT } from '#proto/envelope.ts'
import { isParleyError } from '#proto/errors.ts'
import { FINGERPRINT_BYTES, fingerprint, NIL_UUID, uuidText } from '#proto/ids.ts'
import { type Origin, Present } from '#proto/rows.ts'
import type { CallReport } from './calls.ts'
import { sameBytes } from './columns/utf8.ts'
import type { SdkBodies } from './direct/bodies.ts'
import type { EventOwner } from './direct/sdk-events.ts'
import { type RowOrigin, writeEvent } from './direct/sdk-rows.ts'
import type { BlockEncoder, EncodedBlock } from './encoder.ts'
import { inScope } from './lanes.ts'
import { atHome, type Home } from './loose.ts'
import type { FramePacker, FrameParser, PackedUnits, ParseOutcome, Unit } from './outcome.ts'
import { UNPRICED_KEY } from './parsers/cost.ts'
import type { DeadCode, DeadFrame, OrdinalRun, Scope } from './protocol.ts'
import { type OrganizationReading, openReading, type ReadingSettings } from './readings.ts'
import type { Fingerprints } from './repeats.ts'
import { type PackedFrame, type PlacedUnit, Units } from './units.ts'

/** A parser for each kind of frame. `openBodies`: the readers that take most SDK bodies from their bytes, for one range. */
export type Parsers = Readonly<Record<keyof typeof FrameKind, FrameParser>> & {
  readonly openBodies?: (bytes: Uint8Array) => SdkBodies
  /** Writes traces without rows; absent: `otlp` reads them all. */
  readonly packTraces?: FramePacker
}

/** A frame that has no rows, with everything the dead-letter stream keeps of it. */
export interface DeadLetter extends DeadFrame {
  readonly organization: string
  readonly kind: number
  readonly encoding: number
  readonly receivedAtMs: number
  /** The event id that the receiver minted; the nil uuid when it minted none. */
  readonly mintedId: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

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

/** A message of a later version: the range must not be passed by this build. */
export class NewerEnvelope extends Error {}

/** Called before each frame, so that whoever watches knows which one a thread hangs on. */
export type Progress = (message: number, frame: number) => void

const PARSER_OF: ReadonlyMap<number, keyof typeof FrameKind> = new Map(
  (Object.keys(FrameKind) as (keyof typeof FrameKind)[]).map(name => [FrameKind[name], name]),
)
const REASON_CHARS = 160
/** Receivers refuse more than a fraction of this; a payload beyond it was not checked by one. */
const INFLATED_MAX_BYTES = 256 * 1024 * 1024

/**
 * Parses every frame of a range.
 * @throws NewerEnvelope when a message is of a version that this build cannot read.
 */
export function parseRange(input: BlockInput, parsers: Parsers, progress: Progress): Parsed {
  const verdicts = new Map(input.dead.map(dead => [`${dead.sequence}/${dead.frame}`, dead]))
  const chosen = input.frames ? new Set(input.frames) : undefined
  const all = !input.scope.only && !input.scope.without
  const units = new Units()
  const bodies = parsers.openBodies?.(input.bytes)
  const dead: DeadLetter[] = []
  const classes: Record<string, number> = {}
  const readings: Record<string, string> = {}
  const unpriced: Record<string, number> = {}
  const fallbacks: Record<string, number> = {}
  const faults: string[] = []
  let looseSpans = 0
  const organizationAt = textOfOrganizations(input.bytes)
  const readingOf = openReading(input.reading)
  let start = 0
  for (const [m, sequence] of input.sequences.entries()) {
    const message = input.bytes.subarray(start, input.ends[m])
    const messageAt = start
    start = input.ends[m] as number
    const whole = verdicts.get(`${sequence}/-1`)
    const frames = whole ? whole : framesOf(message)
    if (!Array.isArray(frames)) {
      // It is no organization's.
      if (!input.scope.only) dead.push(wholeLetter(sequence, frames, message))
      continue
    }
    for (let f = 0; f < frames.length; f++) {
      const at = frames[f] as number
      const key = chosen || verdicts.size > 0 ? `${sequence}/${f}` : ''
      if (chosen && !chosen.has(key)) continue
      const organization = organizationAt(messageAt + at)
      if (!all && !inScope(input.scope, organization)) continue
      progress(m, f)
      const verdict = verdicts.get(key)
      const kind = message[at]
      if (bodies && !verdict && (kind === FrameKind.event || kind === FrameKind.session)) {
        const retention = input.classes[organization] ?? 0
        const reading = readingOf(organization)
        const reader = kind === FrameKind.event ? bodies.events : bodies.sessions
        const { pricing } = reading.context
        const unit = takeBody(reader, message, messageAt, at, { organization, retention, pricing })
        if (unit >= 0) {
          if (retention !== 0) classes[organization] = retention
          if (reading.hash !== '') readings[organization] = reading.hash
          if (kind === FrameKind.session) units.addSession(unit, sequence, f)
          else {
            const { unpriced: why } = bodies.events
            if (why !== '') unpriced[why] = (unpriced[why] ?? 0) + 1
            units.addEvent(unit, sequence, f)
          }
          continue
        }
        fallbacks[reader.fallback] = (fallbacks[reader.fallback] ?? 0) + 1
      }
      const frame = frameAt(message, at)
      const letter = verdict ? { code: verdict.code, reason: verdict.reason } : undefined
      if (letter) dead.push(letterOf(sequence, f, frame, letter))
      // A frame that only the store refused still counts its units: the ordinals of the others must not move.
      if (letter && letter.code !== 'DEAD_REFUSED') continue
      const retention = input.classes[organization] ?? 0
      if (retention !== 0) classes[organization] = retention
      const reading = readingOf(organization)
      if (reading.hash !== '') readings[organization] = reading.hash
      const outcome = parseFrame(frame, { organization, retention, reading }, parsers, faults)
      if ('dead' in outcome) {
        if (!letter) dead.push(letterOf(sequence, f, frame, { code: outcome.dead, reason: outcome.reason }))
        continue
      }
      const where = { organization, sequence, frame: f, refused: letter !== undefined }
      if ('count' in outcome) {
        for (const [why, n] of Object.entries(outcome.unpriced)) unpriced[why] = (unpriced[why] ?? 0) + n
        for (const [why, n] of Object.entries(outcome.objects)) fallbacks[why] = (fallbacks[why] ?? 0) + n
        looseSpans += outcome.loose
        units.addPacked({ units: outcome, ...where })
        continue
      }
      for (const why of outcome.units.flatMap(unpricedIn)) unpriced[why] = (unpriced[why] ?? 0) + 1
      if (parsers.packTraces && frame.kind === FrameKind.otlp)
        fallbacks['span body'] = (fallbacks['span body'] ?? 0) + outcome.units.length
      place(units, outcome.units, where)
    }
  }
  const loose = units.placed.reduce(
    (sum, { unit }) => sum + unit.events.filter(({ provisional }) => provisional === 1).length,
    looseSpans,
  )
  if (faults.length > 0) fallbacks['packer failed'] = faults.length
  const prints = printsOf(units, bodies)
  return { units, bodies, prints, dead, classes, readings, unpriced, fallbacks, fault: faults[0] ?? '', loose }
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
    if (placed.refused) continue
    const at = (index: number) => ({
      origin_partition: input.partition,
      origin_generation: input.generation,
      origin_sequence: placed.sequence,
      origin_frame: placed.frame,
      origin_index: index,
    })
    const { unit, first } = placed
    for (const [i, row] of unit.sessions.entries()) encoder.add('sessions', row, at(first.sessions + i))
    for (const [i, row] of unit.texts.entries()) encoder.add('texts', row, at(first.texts + i))
    for (const [i, row] of (unit.links ?? []).entries()) encoder.add('links', row, at(first.links + i))
    for (const [i, row] of unit.events.entries())
      encoder.add('events', atHome(row, homeAt(ordinal)), at(first.events + i))
  }
  return encoder.finish()
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

/** A body that is read from the bytes of its frame; -1 when it must be made an object. */
function takeBody(
  reader: SdkBodies['events' | 'sessions'],
  message: Uint8Array,
  messageAt: number,
  at: number,
  owner: EventOwner,
): number {
  if (message[at + 1] !== FrameEncoding.json) return reader.leave('compressed')
  const { length, receivedAtMs } = frameFacts(message, at)
  return reader.take(messageAt + at, length, { ...owner, receivedAtMs })
}

/** The text of the organization of the frame at a position: most frames of a range are of few. */
function textOfOrganizations(bytes: Uint8Array): (frame: number) => string {
  let last = -1
  let text = ''
  return frame => {
    const at = frame + ORGANIZATION_AT
    if (last < 0 || !sameBytes(bytes, last, last + 16, bytes, at)) {
      text = uuidText(bytes, at)
      last = at
    }
    return text
  }
}

/** Where each frame of a message begins. */
function framesOf(message: Uint8Array): number[] | { code: DeadCode; reason: string } {
  try {
    return frameStarts(message)
  } catch (error) {
    if (!isParleyError(error)) throw error
    if (error.code === 'DEAD_ENVELOPE_VERSION') throw new NewerEnvelope(error.message)
    return { code: 'DEAD_ENVELOPE_BROKEN', reason: error.message.slice(0, REASON_CHARS) }
  }
}

/** Whose frame it is, and what that means for its rows. */
interface FrameOwner {
  readonly organization: string
  readonly retention: number
  readonly reading: OrganizationReading
}

function parseFrame(
  frame: Frame,
  { organization, retention, reading }: FrameOwner,
  parsers: Parsers,
  faults: string[],
): ParseOutcome | PackedUnits {
  const name = PARSER_OF.get(frame.kind)
  if (!name) return { dead: 'DEAD_FRAME_KIND', reason: `kind ${frame.kind}` }
  const content = frame.encoding & 15
  const compression = frame.encoding >> 4
  if (content > 1 || compression > 1) return { dead: 'DEAD_PARSE', reason: `encoding ${frame.encoding}` }
  try {
    const body = compression === 1 ? gunzipSync(frame.bytes, { maxOutputLength: INFLATED_MAX_BYTES }) : frame.bytes
    const { receivedAtMs } = frame
    const context = { organization, receivedAtMs, mintedId: mintedIdOf(frame), retention, ...reading.context }
    const form = content === 0 ? 'json' : 'protobuf'
    if (frame.kind === FrameKind.otlp && parsers.packTraces) {
      try {
        const packed = parsers.packTraces(body, form, context)
        if (packed) return packed
      } catch (error) {
        // A packer that throws is a mistake in the packer, and no reason to lose what the parser can read.
        faults.push(String(error).slice(0, REASON_CHARS))
      }
    }
    return parsers[name](body, form, context)
  } catch (error) {
    // A parser that throws is a mistake in the parser; the payload is kept and can be read again once it is mended.
    return { dead: 'DEAD_PARSE', reason: String(error).slice(0, REASON_CHARS) }
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

function place(
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

/** NIL_UUID when the receiver minted none. */
function mintedIdOf({ mintedId }: Frame): string {
  return mintedId.every(byte => byte === 0) ? NIL_UUID : uuidText(mintedId)
}

function letterOf(
  sequence: number,
  frame: number,
  body: Frame,
  verdict: { code: DeadCode; reason: string },
): DeadLetter {
  const { kind, encoding, organization, receivedAtMs, bytes } = body
  return {
    sequence,
    frame,
    code: verdict.code,
    reason: verdict.reason.slice(0, REASON_CHARS),
    organization: uuidText(organization),
    kind,
    encoding,
    receivedAtMs,
    mintedId: mintedIdOf(body),
    bytes: new Uint8Array(bytes),
  }
}

function wholeLetter(sequence: number, verdict: { code: DeadCode; reason: string }, message: Uint8Array): DeadLetter {
  return {
    sequence,
    frame: -1,
    code: verdict.code,
    reason: verdict.reason,
    organization: NIL_UUID,
    kind: 0,
    encoding: 0,
    receivedAtMs: 0,
    mintedId: NIL_UUID,
    bytes: new Uint8Array(message),
  }
}
