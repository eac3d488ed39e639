// Bodies of capture-event -> places in their bytes, and from there the columns of their rows. The rows are those that parsers/sdk.ts makes,
// byte for byte; bodies of a shape that is not read here are left to it, and counted by reason.
import type { Pricing } from '#pricing/quote.ts'
import { FRAME_HEADER_BYTES, MINTED_AT } from '#proto/envelope.ts'
import { conversationIdOf } from '#proto/ids.ts'
import { jsonText } from '#proto/json.ts'
import { JsonType } from '#proto/scan/json.ts'
import { KeyTable } from '#proto/scan/keys.ts'
import { FORM_NOTES, type SentSide, saidText } from '#proto/sdk/sent-text.ts'
import { nanosOfMs } from '../parsers/amounts.ts'
import { costingOf, costNote } from '../parsers/cost.ts'
import { NAME_UNITS } from '../parsers/rows.ts'
import { checkpointsOf, MAX_ENTRIES } from '../parsers/sdk.ts'
import { usageNames, usageOfMetadata } from '../parsers/sdk-usage.ts'
import { Entries, type Fallback } from './entries.ts'
import { BodyFields } from './fields.ts'
import { isMintedAt, isNilAt, Prints } from './ids.ts'
import { MetadataKeys } from './keys.ts'
import { At, Bit, type Extra, Kind, MCP, NUMBERS, nothing } from './sdk-places.ts'

const FIELDS = [
  ...['session_id', 'event_id', 'primitive_name', 'args', 'result', 'timestamp', 'parent_id', 'metadata'],
  ...['checkpoints', 'primitive_type', 'success', 'latency'],
] as const
/** Keys that an event is asked for, besides those of its usage. */
const asked = ['event_type', 'parent_id', 'error_type', 'error.type', 'error_message', 'error']
const keys = new MetadataKeys(asked, usageNames)
const F = Object.fromEntries(FIELDS.map((name, i) => [name, i])) as Record<(typeof FIELDS)[number], number>
const primitiveTable = new KeyTable([' ', 'tool', 'resource', 'prompt'])

const body = new BodyFields(FIELDS)
const { scanner, types, starts, ends, escapes } = body

/** Where a side stands among the places of an event, and its bits. */
const SIDES = {
  input: { place: At.input, said: Bit.input, escaped: Bit.escapedInput },
  output: { place: At.output, said: Bit.output, escaped: Bit.escapedOutput },
} as const

const [BACKSLASH, OPEN_OBJECT] = [0x5c, 0x7b]

/** False for a string that surely is no text in the form of JSON: a quote in a string is escaped, and so may be a brace. */
function mayBeWrapped(field: number, inObjects: boolean): boolean {
  const at = (starts[field] as number) + 1
  const first = scanner.bytes[at]
  return escapes[field] === 1 && (first === BACKSLASH || (inObjects && first === OPEN_OBJECT))
}

/** Whose an event is, and what its tokens cost there. */
export interface EventOwner {
  readonly organization: string
  readonly retention: number
  readonly pricing: Pricing | undefined
}

export interface EventContext extends EventOwner {
  readonly receivedAtMs: number
}

/** The events of one range. `bytes` holds its messages. */
export class SdkEvents {
  readonly prints = new Prints()
  /** Why the last body was left to the other way. */
  fallback: Fallback = 'json'
  /** Why the last event has no price, as far as one is missed. */
  unpriced = ''
  readonly bytes: Buffer
  readonly entries = new Entries(keys)
  /** Places of each event, see `At`; its duration in nanoseconds and the milliseconds of its time; what few have. */
  readonly at: number[] = []
  readonly durations: number[] = []
  readonly times: number[] = []
  readonly extras: Extra[] = []
  readonly #maps: readonly (Entries | undefined)[]
  #extra: Extra | undefined

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#maps = FIELDS.map(name => (name === 'metadata' ? this.entries : undefined))
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

  #scan(base: number, length: number): boolean {
    const view = new Uint8Array(this.bytes.buffer, this.bytes.byteOffset + base, length)
    if (body.scan(view, base, this.#maps)) return true
    return this.#refuse(body.fallback)
  }

  #read(frame: number, base: number, entriesFrom: number, context: EventContext): boolean {
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

  #ids(first: number, base: number, context: EventContext): boolean {
    const { session_id, parent_id } = F
    const numbers = this.at
    if (types[session_id] !== JsonType.string || body.isEmpty(session_id)) return this.#refuse('id')
    numbers[first + At.session] = base + (starts[session_id] as number) + 1
    numbers[first + At.sessionEnd] = base + (ends[session_id] as number) - 1
    const session = body.uuid(session_id)
    if (session === 1) numbers[first + At.bits] = Bit.upperSession
    if (session < 0) {
      numbers[first + At.bits] = Bit.foreignSession
      const extra = this.#more()
      extra.sessionId = body.textOf(session_id)
      extra.conversationId = conversationIdOf(context.organization, extra.sessionId)
    }
    if (!this.#eventId(first, base, context)) return false
    if (body.isEmpty(parent_id)) {
      numbers[first + At.parent] = -1
      const parent = this.entries.asked.get('parent_id')
      if (parent) this.#more().parentId = this.#mapped(context, parent, 'parent_id')
      return true
    }
    if (types[parent_id] !== JsonType.string) return this.#refuse('type')
    numbers[first + At.parent] = base + (starts[parent_id] as number) + 1
    if (body.uuid(parent_id) < 0) this.#more().parentId = this.#mapped(context, body.textOf(parent_id), 'parent_id')
    return true
  }

  #eventId(first: number, base: number, context: EventContext): boolean {
    const { event_id } = F
    const numbers = this.at
    let at = -1
    if (!body.isEmpty(event_id)) {
      if (types[event_id] !== JsonType.string) return this.#refuse('type')
      if (body.uuid(event_id) < 0) {
        const extra = this.#more()
        extra.eventId = this.#mapped(context, body.textOf(event_id), 'event_id')
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
    if (body.isEmpty(primitive_type))
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

  #instant(first: number, { receivedAtMs }: EventContext): boolean {
    const at = body.instantOf(F.timestamp, receivedAtMs)
    if (at === null) return this.#refuse('time')
    this.durations.push(nanosOfMs(body.numberOf(F.latency)) ?? -1)
    this.times.push(at.ms)
    this.at[first + At.ns] = at.ns
    return true
  }

  #texts(first: number, base: number): boolean {
    const { primitive_name, args, result } = F
    if (body.isScalar(primitive_name)) return this.#refuse('type')
    if (types[primitive_name] === JsonType.string) {
      if (body.sizeOf(primitive_name) > NAME_UNITS) return this.#refuse('name')
      this.#place(first + At.name, primitive_name, base)
      if (escapes[primitive_name] === 1) {
        this.#flag(first, Bit.escapedName)
        this.#more().name = body.textOf(primitive_name).toWellFormed()
      }
    }
    this.#captured(first, base, args, 'input')
    this.#captured(first, base, result, 'output')
    return true
  }

  /** Where the text of a field stands. */
  #place(into: number, field: number, base: number): void {
    this.at[into] = base + (starts[field] as number) + 1
    this.at[into + 1] = base + (ends[field] as number) - 1
  }

  #captured(first: number, base: number, field: number, side: SentSide): void {
    const type = types[field]
    if (type === JsonType.none || type === JsonType.null) return
    const { place, said, escaped } = SIDES[side]
    const inObjects = (this.at[first + At.kind] as number) < MCP
    if (type === JsonType.string && !mayBeWrapped(field, inObjects)) {
      this.#flag(first, said)
      this.#place(first + place, field, base)
      if (escapes[field] === 1) this.#flag(first, escaped)
      return
    }
    const sent = type === JsonType.string ? body.textOf(field) : jsonText(body.valueOf(field))
    const { text, form } = saidText(sent.toWellFormed(), side, inObjects)
    if (form !== 'plain') this.#more().notes.push([FORM_NOTES[side], form])
    this.#flag(first, said)
    if (text !== '') this.#more()[side] = text
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
    const list = body.valueOf(checkpoints) as unknown[]
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
