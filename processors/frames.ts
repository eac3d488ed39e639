// The bytes of a message -> its frames, and the bytes of a frame -> units, or why there are none. Nothing in them throws, but a message
// that a later build wrote.
import { gunzipSync } from 'node:zlib'
import { type Frame, FrameKind, frameStarts, ORGANIZATION_AT } from '#proto/envelope.ts'
import { isParleyError } from '#proto/errors.ts'
import { uuidText } from '#proto/ids.ts'
import { sameBytes } from './columns/utf8.ts'
import type { SdkBodies } from './direct/bodies.ts'
import { mintedIdOf, REASON_CHARS, type Verdict } from './letters.ts'
import type { FramePacker, FrameParser, PackedUnits, ParseOutcome } from './outcome.ts'
import type { OrganizationReading } from './readings.ts'

/** A parser for each kind of frame. `openBodies`: the readers that take most SDK bodies from their bytes, for one range. */
export type Parsers = Readonly<Record<keyof typeof FrameKind, FrameParser>> & {
  readonly openBodies?: (bytes: Uint8Array) => SdkBodies
  /** Writes traces without rows; absent: `otlp` reads them all. */
  readonly packTraces?: FramePacker
}

/** Whose frame it is, and what that means for its rows. */
export interface FrameOwner {
  readonly organization: string
  readonly retention: number
  readonly reading: OrganizationReading
}

/** A message of a later version: the range must not be passed by this build. */
export class NewerEnvelope extends Error {}

const PARSER_OF: ReadonlyMap<number, keyof typeof FrameKind> = new Map(
  (Object.keys(FrameKind) as (keyof typeof FrameKind)[]).map(name => [FrameKind[name], name]),
)
/** Receivers refuse more than a fraction of this; a payload beyond it was not checked by one. */
const INFLATED_MAX_BYTES = 256 * 1024 * 1024

/** Where each frame of a message begins. @throws NewerEnvelope */
export function framesOf(message: Uint8Array): number[] | Verdict {
  try {
    return frameStarts(message)
  } catch (error) {
    if (!isParleyError(error)) throw error
    if (error.code === 'DEAD_ENVELOPE_VERSION') throw new NewerEnvelope(error.message)
    return { code: 'DEAD_ENVELOPE_BROKEN', reason: error.message.slice(0, REASON_CHARS) }
  }
}

/** The text of the organization of the frame at a position: most frames of a range are of few. */
export function textOfOrganizations(bytes: Uint8Array): (frame: number) => string {
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

/** Units of a frame. `faults` hears of packers that threw: what they could not read is read as objects. */
export function parseFrame(
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
