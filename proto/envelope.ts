// The envelope: one stream message that carries many raw payloads. Writer for receivers, reader for processors.
//
//   envelope := magic(2) = 'PY'  version(1) = 1  flags(1) = 0  count(u32)  frame*count
//   frame    := kind(1)  encoding(1)  organization(16)  receivedAtMs(u64)  mintedId(16)  length(u32)  bytes(length)
//   kind     := 1 session | 2 event | 3 voice | 4 otlp
//   encoding := content + 16 * compression;  content := 0 json | 1 protobuf;  compression := 0 none | 1 gzip
//
// Integers are little-endian. mintedId is the event id that the receiver made when the client sent none, else zeros.
// A reader that meets another version must stop and say so: skipping would lose acknowledged payloads.
import { ParleyError } from '#proto/errors.ts'

/** Bytes before the first frame, and before each payload. */
export const ENVELOPE_HEADER_BYTES = 8
export const FRAME_HEADER_BYTES = 46
/** Where the parts of a frame's header stand, from its first byte. */
export const ORGANIZATION_AT = 2
export const RECEIVED_AT = 18
export const MINTED_AT = 26
const LENGTH_AT = 42
const VERSION = 1

/** What a frame's payload is. */
export const FrameKind = { session: 1, event: 2, voice: 3, otlp: 4 } as const
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind]

/** How a frame's payload is written. */
export const FrameEncoding = { json: 0, protobuf: 1, jsonGzip: 16, protobufGzip: 17 } as const
export type FrameEncoding = (typeof FrameEncoding)[keyof typeof FrameEncoding]

/** One payload of an envelope. `bytes` is a view into the message: copy it before the message goes. */
export interface Frame {
  readonly kind: number
  readonly encoding: number
  /** 16 bytes. */
  readonly organization: Uint8Array
  readonly receivedAtMs: number
  /** 16 bytes; zeros when the client sent an id or none is needed. */
  readonly mintedId: Uint8Array
  readonly bytes: Uint8Array
}

const NO_ID = new Uint8Array(16)

/** Grows by doubling up to `maxBytes`; `reset` makes it ready for the next envelope without a new buffer. */
export class EnvelopeWriter {
  readonly #maxBytes: number
  #buffer: Buffer
  #length = ENVELOPE_HEADER_BYTES
  #count = 0

  /** `maxBytes`: the largest message the stream takes. */
  constructor(maxBytes: number, initialBytes = 64 * 1024) {
    this.#maxBytes = maxBytes
    this.#buffer = Buffer.allocUnsafeSlow(Math.min(initialBytes, maxBytes))
  }

  /** Frames so far. */
  get count(): number {
    return this.#count
  }

  /** Bytes so far, header included. */
  get length(): number {
    return this.#length
  }

  /** True when a payload of `bytes` still fits. */
  fits(bytes: number): boolean {
    return this.#length + FRAME_HEADER_BYTES + bytes <= this.#maxBytes
  }

  /** Appends a payload by one copy; returns its frame number. Precondition: `fits(bytes.length)`. */
  append(
    kind: FrameKind,
    encoding: FrameEncoding,
    organization: Uint8Array,
    receivedAtMs: number,
    mintedId: Uint8Array | null,
    bytes: Uint8Array,
  ): number {
    const end = this.#length + FRAME_HEADER_BYTES + bytes.length
    if (end > this.#maxBytes) throw new ParleyError('BUG', `a payload of ${bytes.length} bytes does not fit`)
    if (end > this.#buffer.length) this.#grow(end)
    const b = this.#buffer
    const at = this.#length
    b[at] = kind
    b[at + 1] = encoding
    const id = mintedId ?? NO_ID
    // Byte by byte: a call that copies or converts costs more than these few.
    for (let i = 0; i < 16; i++) {
      b[at + ORGANIZATION_AT + i] = organization[i] as number
      b[at + MINTED_AT + i] = id[i] as number
    }
    putUint32(b, at + RECEIVED_AT, receivedAtMs)
    putUint32(b, at + RECEIVED_AT + 4, Math.floor(receivedAtMs / 0x1_0000_0000))
    putUint32(b, at + LENGTH_AT, bytes.length)
    b.set(bytes, at + FRAME_HEADER_BYTES)
    this.#length = end
    return this.#count++
  }

  /** The finished envelope: a view of the inner buffer, valid until `reset`. */
  finish(): Uint8Array {
    const b = this.#buffer
    b[0] = 0x50
    b[1] = 0x59
    b[2] = VERSION
    b[3] = 0
    b.writeUInt32LE(this.#count, 4)
    return b.subarray(0, this.#length)
  }

  /** Empties the envelope and keeps its buffer. */
  reset(): void {
    this.#length = ENVELOPE_HEADER_BYTES
    this.#count = 0
  }

  #grow(atLeast: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.min(this.#maxBytes, Math.max(atLeast, this.#buffer.length * 2)))
    this.#buffer.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
  }
}

/** True for an envelope that only a newer build can read. */
export function isNewerEnvelope(message: Uint8Array): boolean {
  return message[0] === 0x50 && message[1] === 0x59 && (message[2] as number) > VERSION
}

/**
 * The frames of an envelope, in order, as views.
 * @throws ParleyError DEAD_ENVELOPE_VERSION for another version, DEAD_ENVELOPE_BROKEN for bytes that are no envelope.
 */
export function readEnvelope(message: Uint8Array): Frame[] {
  return frameStarts(message).map(at => frameAt(message, at))
}

/** The frame that begins at a position which `frameStarts` found. */
export function frameAt(message: Uint8Array, at: number): Frame {
  const b = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  const { length, receivedAtMs } = frameFacts(b, at)
  return {
    kind: b[at] as number,
    encoding: b[at + 1] as number,
    organization: b.subarray(at + ORGANIZATION_AT, at + ORGANIZATION_AT + 16),
    receivedAtMs,
    mintedId: b.subarray(at + MINTED_AT, at + MINTED_AT + 16),
    bytes: b.subarray(at + FRAME_HEADER_BYTES, at + FRAME_HEADER_BYTES + length),
  }
}

/** What stands in a frame besides bytes: the length of its payload, and when it was received. */
export function frameFacts(
  message: Uint8Array,
  at: number,
): { readonly length: number; readonly receivedAtMs: number } {
  return {
    length: uint32(message, at + LENGTH_AT),
    receivedAtMs: uint32(message, at + RECEIVED_AT) + uint32(message, at + RECEIVED_AT + 4) * 0x1_0000_0000,
  }
}

/** The low 32 bits of a whole number. */
function putUint32(b: Uint8Array, at: number, value: number): void {
  b[at] = value
  b[at + 1] = value >>> 8
  b[at + 2] = value >>> 16
  b[at + 3] = value >>> 24
}

function uint32(b: Uint8Array, at: number): number {
  const low = (b[at] as number) | ((b[at + 1] as number) << 8) | ((b[at + 2] as number) << 16)
  return (low | ((b[at + 3] as number) << 24)) >>> 0
}

/**
 * Where each frame of an envelope begins.
 * @throws ParleyError as `readEnvelope`.
 */
export function frameStarts(message: Uint8Array): number[] {
  const b = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  if (b.length < ENVELOPE_HEADER_BYTES || b[0] !== 0x50 || b[1] !== 0x59) {
    throw new ParleyError('DEAD_ENVELOPE_BROKEN', 'no envelope header')
  }
  if (b[2] !== VERSION) throw new ParleyError('DEAD_ENVELOPE_VERSION', `version ${b[2]}, this build reads ${VERSION}`)
  const count = b.readUInt32LE(4)
  // Checked before allocating: a broken count must not reserve memory for frames that cannot be there.
  if (count * FRAME_HEADER_BYTES > b.length) throw new ParleyError('DEAD_ENVELOPE_BROKEN', `${count} frames cannot fit`)
  const starts: number[] = []
  let at = ENVELOPE_HEADER_BYTES
  for (let i = 0; i < count; i++) {
    if (at + FRAME_HEADER_BYTES > b.length)
      throw new ParleyError('DEAD_ENVELOPE_BROKEN', `cut in the header of frame ${i}`)
    const end = at + FRAME_HEADER_BYTES + uint32(b, at + LENGTH_AT)
    if (end > b.length) throw new ParleyError('DEAD_ENVELOPE_BROKEN', `cut in the payload of frame ${i}`)
    starts.push(at)
    at = end
  }
  if (at !== b.length) throw new ParleyError('DEAD_ENVELOPE_BROKEN', `${b.length - at} bytes after the last frame`)
  return starts
}
