// The bytes of an event -> its shape and ids, by one call into scan.wat, or "walk it step by step": what is unusual in it, and whatever
// is wrong with it, is left to sdk.ts. Here are the tables by which that call knows the fields of sdk-fields.ts, and what it found.
import type { EventShape } from '#proto/sdk/capture-event.ts'
import { primitiveTypes } from '#proto/sdk/capture-event.ts'
import type { JsonScanner } from './json.ts'
import type { ScannedId } from './scanned-id.ts'
import type { Field } from './sdk-fields.ts'
import { EVENT_FIELDS, Reading } from './sdk-fields.ts'

/** A slot holds the name of a field, with zeros behind it. */
const SLOT_BYTES = 16
const SLOT_BITS = 4
const SLOTS = 1 << SLOT_BITS
/** Where things are in the memory of scan.wat: names by slot from 0 on; ids that were found, and their positions, by their reading. */
const IDS_AT = 768
const MULTIPLIER_AT = 816
const STARTS_AT = 820
const READINGS_AT = 832
/** Sixteen bytes of ones, then sixteen of zeros. */
const MASK_AT = 848
/** The values of primitive_type, like names. */
const TYPES_AT = 880
const END = 1024
const WORD_BYTES = 4
const UUID_WORDS = 4
const UUID_CHARS = 36
/** No byte of UTF-8: the name in a slot without a field. */
const NO_NAME = 0xff
/** What multipliers are tried from and for how long: a few hundred are, as a rule. */
const FIRST_MULTIPLIER = 0x9e3779b1
const MULTIPLIERS = 100_000

/** The quick walk over the events of one scanner. */
export class EventWalk {
  /** Whether the last event that was known brought an id of its own. */
  hasEventId = false
  readonly #scanner: JsonScanner
  readonly #deepest: number
  /** Bits of fields. */
  readonly #eventId: number
  readonly #primitiveType: number
  readonly #required: { readonly [shape in EventShape]: number }
  /** The memory below the body, and the view of the body beside which it was made: when memory grows there are new ones. */
  #memory = new Int32Array(0)
  #bytes: Uint8Array | null = null

  /** `deepest`: arrays and objects around the innermost value, at most. */
  constructor(scanner: JsonScanner, deepest: number) {
    this.#scanner = scanner
    this.#deepest = deepest
    const multiplier = multiplierOf(EVENT_FIELDS)
    const memory = new Uint8Array(this.#view().buffer, 0, END)
    memory.fill(NO_NAME, 0, SLOTS * SLOT_BYTES)
    for (const { name, reading } of EVENT_FIELDS) {
      const slot = slotOf(name, multiplier)
      put(memory, slot * SLOT_BYTES, name)
      memory[READINGS_AT + slot] = reading
    }
    new DataView(memory.buffer).setUint32(MULTIPLIER_AT, multiplier, true)
    memory.fill(0xff, MASK_AT, MASK_AT + SLOT_BYTES)
    for (const [at, text] of primitiveTypes.entries()) put(memory, TYPES_AT + at * SLOT_BYTES, text)
    const bits = (are: (field: Field) => boolean): number =>
      EVENT_FIELDS.filter(are).reduce((all, { name }) => all | (1 << slotOf(name, multiplier)), 0)
    this.#eventId = bits(field => field.reading === Reading.eventId)
    this.#primitiveType = bits(field => field.reading === Reading.primitiveType)
    const required = (shape: EventShape): number =>
      bits(field => field.required === 'always' || field.required === shape)
    this.#required = { conversation: required('conversation'), 'server-primitive': required('server-primitive') }
  }

  /** The shape of an event that may be taken, with its ids; null for a body of which that is not known yet. */
  shapeOf(body: Uint8Array, sessionId: ScannedId, eventId: ScannedId): EventShape | null {
    const scanner = this.#scanner
    scanner.place(body)
    const there = scanner.wasm.event(body.length, this.#deepest)
    if (there < 0) return null
    const shape = (there & this.#primitiveType) === 0 ? 'conversation' : 'server-primitive'
    const required = this.#required[shape]
    if ((there & required) !== required) return null
    const memory = this.#view()
    read(memory, Reading.sessionId, sessionId)
    this.hasEventId = (there & this.#eventId) !== 0
    if (this.hasEventId) read(memory, Reading.eventId, eventId)
    return shape
  }

  #view(): Int32Array {
    const { bytes, wasm } = this.#scanner
    if (bytes !== this.#bytes) {
      this.#bytes = bytes
      this.#memory = new Int32Array(wasm.memory.buffer, 0, END / WORD_BYTES)
    }
    return this.#memory
  }
}

/** Takes over a uuid that was found. */
function read(memory: Int32Array, reading: number, id: ScannedId): void {
  const from = IDS_AT / WORD_BYTES + reading * UUID_WORDS
  for (let i = 0; i < UUID_WORDS; i++) id.words[i] = memory[from + i] as number
  id.start = memory[STARTS_AT / WORD_BYTES + reading] as number
  id.end = id.start + UUID_CHARS
  id.isUuid = true
}

/** A name in a slot, or a text of a list. Precondition: ASCII, four characters or more. */
function put(memory: Uint8Array, at: number, text: string): void {
  if (text.length > SLOT_BYTES) throw new RangeError(`${text} is too long for a slot`)
  memory.fill(0, at, at + SLOT_BYTES)
  memory.set(Buffer.from(text, 'latin1'), at)
}

/** The slot of a name: its first and its last four characters, multiplied; scan.wat does the same. */
function slotOf(name: string, multiplier: number): number {
  const bytes = Buffer.from(name, 'latin1')
  const mixed = bytes.readInt32LE(0) ^ bytes.readInt32LE(bytes.length - 4)
  return Math.imul(mixed, multiplier) >>> (32 - SLOT_BITS)
}

/** A multiplier that gives each field a slot of its own. */
function multiplierOf(fields: readonly Field[]): number {
  let multiplier = FIRST_MULTIPLIER
  for (let tried = 0; tried < MULTIPLIERS; tried++) {
    if (new Set(fields.map(({ name }) => slotOf(name, multiplier))).size === fields.length) return multiplier
    multiplier = (Math.imul(multiplier, 0x915f77f5) + 1) >>> 0
  }
  throw new RangeError('no multiplier gives each field a slot of its own')
}
