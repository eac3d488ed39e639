// Bodies of capture-event -> places in their bytes, and from there the columns of their rows. The rows are those that parsers/sdk.ts makes,
// byte for byte; bodies of a shape that is not read here are left to it, and counted by reason.
import type { Pricing } from '#pricing/quote.ts'
import { FRAME_HEADER_BYTES, MINTED_AT } from '#proto/envelope.ts'
import { conversationIdOf } from '#proto/ids.ts'
import { jsonText } from '#proto/json.ts'
import { JsonScanner, JsonType } from '#proto/scan/json.ts'
import { KeyTable } from '#proto/scan/keys.ts'
import { JSON_MAX_DEPTH } from '#proto/sdk/fields.ts'
import { CLAMP, clamp } from '#proto/time.ts'
import { nanosOfMs } from '../parsers/amounts.ts'
import { costingOf, costNote } from '../parsers/cost.ts'
import { instantOfMs, NAME_UNITS } from '../parsers/rows.ts'
import { checkpointsOf, MAX_ENTRIES } from '../parsers/sdk.ts'
import { usageOfMetadata } from '../parsers/sdk-usage.ts'
import { Entries, type Fallback, isPlainInteger } from './entries.ts'
import { isMintedAt, isNilAt, Prints, uuidAt } from './ids.ts'
import { At, Bit, type Extra, Kind, MCP, NUMBERS, nothing } from './sdk-places.ts'

const FIELDS = [
  ...['session_id', 'event_id', 'primitive_name', 'args', 'result', 'timestamp', 'parent_id', 'metadata'],
  ...['checkpoints', 'primitive_type', 'success', 'latency'],
] as const
const F = Object.fromEntries(FIELDS.map((name, i) => [name, i])) as Record<(typeof FIELDS)[number], number>
const keyTable = new KeyTable(FIELDS)
const scanner = new JsonScanner(JSON_MAX_DEPTH)

const primitiveTable = new KeyTable([' ', 'tool', 'resource', 'prompt'])

/** What was seen of each field of the last body: type, first byte, end, and whether a string has escapes. Type 0 = nothing. */
const types = new Uint8Array(FIELDS.length)
const starts = new Int32Array(FIELDS.length)
const ends = new Int32Array(FIELDS.length)
const escapes = new Uint8Array(FIELDS.length)

/** Whose an event is, and what its tokens cost there. */
export interface EventOwner {
  readonly organization: string
  readonly retention: number
  readonly pricing: Pricing | undefined
}

interface EventContext extends EventOwner {
  readonly receivedAtMs: number
}

/** Later times are left to the other way: there is none that parley was running at. */
const RECEIVED_MAX_MS = Date.UTC(2200, 0, 1)
const RECEIVED_MIN_MS = CLAMP.pastMs

/** The events of one range. `bytes` holds its messages. */
export class SdkEvents {
  readonly prints = new Prints()
  /** Why the last body was left to the other way. */
  fallback: Fallback = 'json'
  /** Why the last event has no price, as far as one is missed. */
  unpriced = ''
  readonly bytes: Buffer
  readonly entries = new Entries()
  /** Places of each event, see `At`; its duration in nanoseconds and the milliseconds of its time; what few have. */
  readonly at: number[] = []
  readonly durations: number[] = []
  readonly times: number[] = []
  readonly extras: Extra[] = []
  #extra: Extra | undefined

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** Takes the frame at `frame`; the number of its event, -1 when it must be read the other way. */
  take(frame: number, length: number, context: EventContext): number {
    this.#begin()
    const base = frame + FRAME_HEADER_BYTES
    const entriesFrom = this.entries.length
    const first = this.at.length
    const event = first / NUMBERS
    let taken = false
    try {
      taken = this.#scan(base, length) && this.#read(frame, base, entriesFrom, context)
    } finally {
      if (!taken) this.#rewind(event, entriesFrom)
    }
    return taken ? event : -1
  }

  /** Leaves a body to the other way. */
  leave(why: Fallback): -1 {
    this.fallback = why
    return -1
  }

  #begin(): void {
    this.#extra = undefined
    this.unpriced = ''
    this.entries.begin()
  }

  #rewind(event: number, entriesFrom: number): void {
    this.at.length = event * NUMBERS
    this.durations.length = event
    this.times.length = event
    this.entries.rewind(entriesFrom)
  }

  #refuse(why: Fallback): false {
    this.fallback = why
    return false
  }

  /** Notes where each field stands; the last one of a name counts. */
  #scan(base: number, length: number): boolean {
    types.fill(JsonType.none)
    this.fallback = 'json'
    if (!scanner.begin(new Uint8Array(this.bytes.buffer, this.bytes.byteOffset + base, length))) return false
    let at = scanner.space(0)
    if (scanner.typeAt(at) !== JsonType.object) return false
    at = scanner.open(at)
    const { bytes } = scanner
    while (at >= 0 && bytes[at] !== 0x7d) {
      at = scanner.key(at)
      if (at < 0) return false
      const field = keyTable.find(scanner, scanner.keyStart, scanner.keyEnd, scanner.escaped)
      if (field === F.metadata && scanner.typeAt(at) === JsonType.object) {
        // A second object would have to take the first one's place.
        if (types[field] !== JsonType.none) return this.#refuse('key')
        types[field] = JsonType.object
        at = this.entries.read(scanner, at, base)
        if (at < 0) return this.#refuse(this.entries.fallback)
      } else {
        if (field >= 0) {
          if (field === F.metadata && types[field] !== JsonType.none) return this.#refuse('key')
          types[field] = scanner.typeAt(at)
          starts[field] = at
        }
        at = scanner.skip(at)
        if (at < 0) return false
        if (field >= 0) {
          ends[field] = at
          escapes[field] = scanner.escaped ? 1 : 0
        }
      }
      at = scanner.next(at, 0x7d)
    }
    return at >= 0 && scanner.finish(scanner.close(at))
  }

  #read(frame: number, base: number, entriesFrom: number, context: EventContext): boolean {
    const { metadata } = F
    const { receivedAtMs } = context
    if (!(receivedAtMs >= RECEIVED_MIN_MS && receivedAtMs < RECEIVED_MAX_MS)) return this.#refuse('time')
    const metadataType = types[metadata]
    if (metadataType !== JsonType.none && metadataType !== JsonType.object && metadataType !== JsonType.null)
      return this.#refuse('type')
    const numbers = this.at
    const first = numbers.length
    for (let i = 0; i < NUMBERS; i++) numbers.push(0)
    numbers[first + At.frame] = frame
    numbers[first + At.retention] = context.retention
    numbers[first + At.extra] = -1
    numbers[first + At.entries] = entriesFrom
    numbers[first + At.entriesEnd] = this.entries.length
    const done =
      this.#ids(first, base, context) &&
      this.#kind(first) &&
      this.#instant(first, context) &&
      this.#texts(first, base) &&
      this.#usage(first, context) &&
      this.#checkpoints()
    if (!done) return false
    this.#print(first, context)
    if (this.#extra) {
      numbers[first + At.extra] = this.extras.length
      this.extras.push(this.#extra)
    }
    return true
  }

  #more(): Extra {
    this.#extra ??= { ...nothing, notes: [] }
    return this.#extra
  }

  #textOf(field: number): string {
    return scanner.textOf((starts[field] as number) + 1, (ends[field] as number) - 1)
  }

  /** True when the field says nothing: it is not there, null or "". */
  #isEmpty(field: number): boolean {
    const type = types[field]
    if (type === JsonType.none || type === JsonType.null) return true
    return type === JsonType.string && (ends[field] as number) - (starts[field] as number) === 2
  }

  /** -1 when the field is no plain uuid of characters, 1 when it has capital letters, else 0. */
  #uuid(field: number): number {
    if (escapes[field] === 1) return -1
    return uuidAt(scanner.bytes, (starts[field] as number) + 1, (ends[field] as number) - 1)
  }

  #ids(first: number, base: number, context: EventContext): boolean {
    const { session_id, parent_id } = F
    const numbers = this.at
    if (types[session_id] !== JsonType.string || this.#isEmpty(session_id)) return this.#refuse('id')
    numbers[first + At.session] = base + (starts[session_id] as number) + 1
    numbers[first + At.sessionEnd] = base + (ends[session_id] as number) - 1
    const session = this.#uuid(session_id)
    if (session === 1) numbers[first + At.bits] = Bit.upperSession
    if (session < 0) {
      numbers[first + At.bits] = Bit.foreignSession
      const extra = this.#more()
      extra.sessionId = this.#textOf(session_id)
      extra.conversationId = conversationIdOf(context.organization, extra.sessionId)
    }
    if (!this.#eventId(first, base, context)) return false
    if (this.#isEmpty(parent_id)) {
      numbers[first + At.parent] = -1
      const parent = this.entries.asked.get('parent_id')
      if (parent) this.#more().parentId = this.#mapped(context, parent, 'parent_id')
      return true
    }
    if (types[parent_id] !== JsonType.string) return this.#refuse('type')
    numbers[first + At.parent] = base + (starts[parent_id] as number) + 1
    if (this.#uuid(parent_id) < 0) this.#more().parentId = this.#mapped(context, this.#textOf(parent_id), 'parent_id')
    return true
  }

  #eventId(first: number, base: number, context: EventContext): boolean {
    const { event_id } = F
    const numbers = this.at
    let at = -1
    if (!this.#isEmpty(event_id)) {
      if (types[event_id] !== JsonType.string) return this.#refuse('type')
      if (this.#uuid(event_id) < 0) {
        const extra = this.#more()
        extra.eventId = this.#mapped(context, this.#textOf(event_id), 'event_id')
        // A uuid that is written with escapes; it may be the nil one.
        if (extra.notes.length === 0) return this.#refuse('id')
      } else if (!isNilAt(scanner.bytes, (starts[event_id] as number) + 1)) at = base + (starts[event_id] as number) + 1
    }
    numbers[first + At.event] = at
    const minted = at < 0 && (this.#extra?.eventId ?? '') === ''
    return !minted || isMintedAt(this.bytes, numbers[first + At.frame] as number) || this.#refuse('id')
  }

  /** The uuid of an id; one that is mapped is noted as it was sent. */
  #mapped(context: EventContext, sent: string, field: string): string {
    const uuid = conversationIdOf(context.organization, sent)
    if (uuid !== sent.toLowerCase()) this.#more().notes.push([`sent_${field}`, sent])
    return uuid
  }

  #kind(first: number): boolean {
    const { primitive_type, success } = F
    if (types[success] === JsonType.false) this.#flag(first, Bit.failed)
    let kind = -1
    if (this.#isEmpty(primitive_type))
      kind = this.entries.asked.get('event_type') === 'tool_call' ? Kind.tool : Kind.agent
    else if (types[primitive_type] === JsonType.string && escapes[primitive_type] === 0) {
      kind = primitiveTable.find(
        scanner,
        (starts[primitive_type] as number) + 1,
        (ends[primitive_type] as number) - 1,
        false,
      )
      if (kind >= 0) kind += MCP
    }
    this.at[first + At.kind] = kind
    return kind >= 0 || this.#refuse('type')
  }

  #flag(first: number, bit: number): void {
    this.at[first + At.bits] = (this.at[first + At.bits] as number) | bit
  }

  /** A number, also from text; what is none is left to `read`. */
  #numberOf(field: number): number | string | null {
    const [from, to] = [starts[field] as number, ends[field] as number]
    if (types[field] === JsonType.string) return this.#textOf(field)
    if (types[field] !== JsonType.number) return null
    const { bytes } = scanner
    if (!isPlainInteger(bytes, from, to))
      return Number(Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1'))
    let value = 0
    for (let i = from; i < to; i++) value = value * 10 + (bytes[i] as number) - 0x30
    return value
  }

  #instant(first: number, { receivedAtMs }: EventContext): boolean {
    this.durations.push(nanosOfMs(this.#numberOf(F.latency)) ?? -1)
    const sent = finiteOf(this.#numberOf(F.timestamp))
    const at = sent === null ? { ms: receivedAtMs, ns: 0 } : instantOfMs(sent)
    this.times.push(at.ms)
    this.at[first + At.ns] = at.ns
    return clamp(at, receivedAtMs) === at || this.#refuse('time')
  }

  #texts(first: number, base: number): boolean {
    const { primitive_name, args, result } = F
    const type = types[primitive_name]
    if (type === JsonType.number || type === JsonType.true || type === JsonType.false) return this.#refuse('type')
    if (type === JsonType.string) {
      if ((ends[primitive_name] as number) - (starts[primitive_name] as number) - 2 > NAME_UNITS)
        return this.#refuse('name')
      this.#place(first + At.name, primitive_name, base)
      if (escapes[primitive_name] === 1) {
        this.#flag(first, Bit.escapedName)
        this.#more().name = this.#textOf(primitive_name).toWellFormed()
      }
    }
    this.#captured(first, base, args, At.input, Bit.input, Bit.escapedInput)
    this.#captured(first, base, result, At.output, Bit.output, Bit.escapedOutput)
    return true
  }

  /** Where the text of a field stands. */
  #place(into: number, field: number, base: number): void {
    this.at[into] = base + (starts[field] as number) + 1
    this.at[into + 1] = base + (ends[field] as number) - 1
  }

  #captured(first: number, base: number, field: number, into: number, bit: number, escapedBit: number): void {
    const type = types[field]
    if (type === JsonType.none || type === JsonType.null) return
    this.#flag(first, bit)
    if (type === JsonType.string) {
      this.#place(first + into, field, base)
      if (escapes[field] === 1) this.#flag(first, escapedBit)
      return
    }
    const text = jsonText(this.#valueOf(field)).toWellFormed()
    if (into === At.input) this.#more().input = text
    else this.#more().output = text
  }

  #valueOf(field: number): unknown {
    const { bytes } = scanner
    const [from, to] = [starts[field] as number, ends[field] as number]
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('utf8'))
  }

  #usage(first: number, context: EventContext): boolean {
    const { asked, hasUsage } = this.entries
    const get = (name: string): string => asked.get(name) ?? ''
    if (((this.at[first + At.bits] as number) & Bit.failed) !== 0 && asked.size > 0) {
      const extra = this.#more()
      extra.errorType = get('error_type') || get('error.type')
      extra.errorMessage = get('error_message') || get('error')
      if (extra.errorType.length > NAME_UNITS) return this.#refuse('name')
    }
    if (!hasUsage) return true
    const call = usageOfMetadata({ get })
    if (call.model.length > NAME_UNITS || call.provider.length > NAME_UNITS) return this.#refuse('name')
    const extra = this.#more()
    extra.model = call.model
    extra.provider = call.provider
    extra.usage = call.usage
    const costing = costingOf(call, context.pricing)
    extra.costing = costing
    const note = costNote(costing)
    if (note) extra.notes.push([...note])
    if (costing.is === 'invalid') this.unpriced = 'invalid'
    else if (costing.is === 'unpriced') this.unpriced = costing.why
    return true
  }

  #checkpoints(): boolean {
    const { checkpoints } = F
    if (types[checkpoints] !== JsonType.array) return true
    const list = this.#valueOf(checkpoints) as unknown[]
    if (list.length > MAX_ENTRIES) return this.#refuse('list')
    if (list.length > 0) this.#more().checkpoints = checkpointsOf(list).toWellFormed()
    return true
  }

  /** The identity of what was taken last. */
  #print(first: number, { organization }: EventContext): void {
    const at = this.at[first + At.event] as number
    const eventId = this.#extra?.eventId ?? ''
    if (eventId !== '') this.prints.ofText(organization, eventId)
    else if (at >= 0) this.prints.ofCharacters(organization, this.bytes, at)
    else this.prints.ofBytes(organization, this.bytes, (this.at[first + At.frame] as number) + MINTED_AT)
  }
}

function finiteOf(value: number | string | null): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}
