// The bytes of a capture-session or capture-event body -> may it be taken, under which ids? Nothing is built from the body: what is
// remembered is one state and one position per field. Promise: takes exactly the bodies that the schemas of proto/sdk/ take after
// JSON.parse, refuses the others with their sentences, and sees the same ids. One difference: nesting is counted as it is written, so
// a value that a later duplicate key replaces counts too.
import { isUuid, uuidBytes } from '#proto/ids.ts'
import type { EventShape } from '#proto/sdk/capture-event.ts'
import { primitiveTypes } from '#proto/sdk/capture-event.ts'
import { ID_MAX_LENGTH, type IdPolicy, isSeconds, JSON_MAX_DEPTH } from '#proto/sdk/fields.ts'
import { JsonFault, JsonScanner, JsonType, jsonFaultText } from './json.ts'
import { KeyTable } from './keys.ts'
import { isNil, ScannedId, uuidAt } from './scanned-id.ts'
import {
  CHECKPOINT_FIELDS,
  EVENT_FIELDS,
  expectedOf,
  type Field,
  Reading,
  SESSION_FIELDS,
  Seen,
  Sight,
} from './sdk-fields.ts'
import { EventWalk } from './sdk-walk.ts'

/** Why a body is refused. */
export interface ScanRefusal {
  readonly code: 'REQ_JSON_INVALID' | 'REQ_BODY_INVALID'
  /** In dot notation; '' = the body itself. */
  readonly field: string
  /** Names the field and the byte. */
  readonly detail: string
}

const PRIMITIVE_TYPES = new KeyTable(primitiveTypes)
const USER_DATA_KEYS = new KeyTable(['user_id'])
const EVENT_ID = EVENT_FIELDS.findIndex(of => of.name === 'event_id')
const PRIMITIVE_TYPE = EVENT_FIELDS.findIndex(of => of.name === 'primitive_type')
const USER_DATA = SESSION_FIELDS.findIndex(of => of.name === 'user_data')
const CLIENT_CONFIG = SESSION_FIELDS.findIndex(of => of.name === 'client_config')
/** A plain decimal of fewer characters is finite whatever its digits. */
const SURELY_FINITE = 300
/** An integer of at most so many characters is exact. */
const SURELY_EXACT = 15

/** Digits of a Unix time in seconds: see `isSeconds`. */
const SECONDS_DIGITS = 10

interface Plan {
  readonly keys: KeyTable
  readonly sight: Sight
}

/** A scanner of SDK bodies. Reused for any number of them; what it found is valid until the next. */
export class SdkScanner {
  readonly sessionId: ScannedId = new ScannedId()
  /** Valid after `scanEvent`, unless `mintsEventId`. */
  readonly eventId: ScannedId = new ScannedId()
  /** True when the event came without an id (missing, null or ""). */
  mintsEventId = false
  shape: EventShape = 'conversation'
  readonly #ids: IdPolicy
  readonly #scanner = new JsonScanner(JSON_MAX_DEPTH)
  readonly #otherId = new ScannedId()
  readonly #walk = new EventWalk(this.#scanner, JSON_MAX_DEPTH)
  readonly #event: Plan = planOf(EVENT_FIELDS)
  readonly #session: Plan = planOf(SESSION_FIELDS)
  readonly #checkpoint: Plan = planOf(CHECKPOINT_FIELDS)
  #userId: Seen = Seen.nothing
  #userIdAt = 0
  /** The first fault inside a list: the element and, for a checkpoint, the field; -1 = none, or the element itself. */
  #element = -1
  #elementField = -1
  #elementAt = 0
  #elementMisses = false
  #rootAt = 0
  #isSession = false

  /** `ids`: whether an id must be a uuid. */
  constructor(ids: IdPolicy) {
    this.#ids = ids
  }

  /** True when the body is a capture-session. */
  scanSession(body: Uint8Array): boolean {
    this.#isSession = true
    this.#userId = Seen.nothing
    const { sight } = this.#session
    return this.#body(body, this.#session) && sight.isRight('conversation') && this.#hasShape(sight)
  }

  /** A session has a user or, in the server-primitive shape, a label of its client. */
  #hasShape(sight: Sight): boolean {
    return sight.seen[CLIENT_CONFIG] === Seen.good || this.#userId === Seen.good
  }

  /** True when the body is a capture-event, in one of its two shapes. */
  scanEvent(body: Uint8Array): boolean {
    const shape = this.#walk.shapeOf(body, this.sessionId, this.eventId)
    if (shape !== null) {
      this.shape = shape
      this.mintsEventId = !this.#walk.hasEventId
      return true
    }
    this.#isSession = false
    if (!this.#body(body, this.#event)) return false
    const { seen } = this.#event.sight
    const type = seen[PRIMITIVE_TYPE]
    this.shape = type === Seen.good || type === Seen.word ? 'server-primitive' : 'conversation'
    this.mintsEventId = seen[EVENT_ID] !== Seen.good
    return this.#event.sight.isRight(this.shape)
  }

  /** The decoded text of an id; makes a string. */
  textOf(id: ScannedId): string {
    return this.#scanner.textOf(id.start, id.end)
  }

  /** Why the last body was refused. */
  refusal(): ScanRefusal {
    const { fault, faultAt } = this.#scanner
    if (fault !== JsonFault.none) {
      const code = fault === JsonFault.depth ? 'REQ_BODY_INVALID' : 'REQ_JSON_INVALID'
      return { code, field: '', detail: jsonFaultText(fault, faultAt, JSON_MAX_DEPTH) }
    }
    if (this.#rootAt >= 0) return refusal('', 'the body must be a JSON object', this.#rootAt)
    const plan = this.#isSession ? this.#session : this.#event
    if (!this.#isSession && plan.sight.seen[PRIMITIVE_TYPE] === Seen.word) {
      return this.#refuse(EVENT_FIELDS[PRIMITIVE_TYPE] as Field, plan.sight)
    }
    const wrong = plan.sight.firstWrong(this.#isSession ? 'conversation' : this.shape)
    return wrong === undefined ? this.#refuseUser() : this.#refuse(wrong, plan.sight)
  }

  #refuse(wrong: Field, sight: Sight): ScanRefusal {
    const index = sight.fields.indexOf(wrong)
    const { name } = wrong
    if (sight.seen[index] === Seen.nothing) return refusal(name, `${name} is required`, sight.end)
    if ((wrong.reading === Reading.checkpoints || wrong.reading === Reading.texts) && this.#element >= 0)
      return this.#refuseElement(name)
    return refusal(name, `${name} must be ${expectedOf(wrong, this.#ids)}`, sight.at[index] as number)
  }

  #refuseElement(list: string): ScanRefusal {
    const inner = CHECKPOINT_FIELDS[this.#elementField]
    const name = `${list}.${this.#element}${inner === undefined ? '' : `.${inner.name}`}`
    if (this.#elementMisses) return refusal(name, `${name} is required`, this.#elementAt)
    const expected = inner?.expected ?? (list === 'tools' ? 'a string' : 'an object')
    return refusal(name, `${name} must be ${expected}`, this.#elementAt)
  }

  #refuseUser(): ScanRefusal {
    const { seen, at, end } = this.#session.sight
    const hasData = seen[USER_DATA] === Seen.good
    const field = hasData ? 'user_data.user_id' : 'user_data'
    if (this.#userId === Seen.bad) return refusal(field, `${field} must be a string`, this.#userIdAt)
    const position = seen[USER_DATA] === Seen.nothing ? end : hasData ? this.#userIdAt : (at[USER_DATA] as number)
    return refusal(field, `${field} is required (or client_config, in the server-primitive shape)`, position)
  }

  /** Walks a whole body; false when it is no JSON object. */
  #body(body: Uint8Array, plan: Plan): boolean {
    const scanner = this.#scanner
    this.#rootAt = -1
    this.#element = -1
    plan.sight.clear()
    if (!scanner.begin(body)) return false
    const at = scanner.space(0)
    const isObject = scanner.typeAt(at) === JsonType.object
    const end = isObject ? this.#fields(at, plan) : scanner.skip(at)
    if (end < 0 || !scanner.finish(end)) return false
    if (!isObject) this.#rootAt = at
    return isObject
  }

  #fields(from: number, { keys, sight }: Plan): number {
    const scanner = this.#scanner
    let at = scanner.open(from)
    while (at >= 0 && scanner.bytes[at] !== 0x7d) {
      at = scanner.key(at)
      if (at < 0) return -1
      const index = keys.find(scanner, scanner.keyStart, scanner.keyEnd, scanner.escaped)
      at = index < 0 ? scanner.skip(at) : this.#field(at, sight, index)
      if (at < 0) return -1
      at = scanner.next(at, 0x7d)
    }
    if (at < 0) return -1
    sight.end = at
    return scanner.close(at)
  }

  /** Steps over the value of a known field and notes what it is; a later one replaces an earlier one. */
  #field(at: number, sight: Sight, index: number): number {
    const scanner = this.#scanner
    const type = scanner.typeAt(at)
    sight.at[index] = at
    if (type === JsonType.null) {
      this.#forget(sight, index)
      sight.seen[index] = Seen.null
      return scanner.skip(at)
    }
    const reading = sight.readings[index] as Reading
    if (reading === Reading.checkpoints || reading === Reading.texts) return this.#list(at, sight, index)
    if (reading === Reading.userData) return this.#userData(at, sight, index)
    const end = scanner.skip(at)
    if (end >= 0) sight.seen[index] = this.#judge(reading, type, at, end)
    return end
  }

  /** What an earlier value of a field left behind does not count any more. */
  #forget(sight: Sight, index: number): void {
    const reading = sight.readings[index]
    if (reading === Reading.checkpoints || reading === Reading.texts) this.#element = -1
    if (reading === Reading.userData) this.#userId = Seen.nothing
  }

  #judge(reading: Reading, type: JsonType, at: number, end: number): Seen {
    switch (reading) {
      case Reading.text:
        return type === JsonType.string ? Seen.good : Seen.bad
      case Reading.sessionId:
        return this.#ownId(type, at, end, this.sessionId)
      case Reading.eventId:
        return this.#ownId(type, at, end, this.eventId)
      case Reading.reference:
        return this.#id(type, at, end, this.#otherId)
      case Reading.map:
        return type === JsonType.object ? Seen.good : Seen.bad
      case Reading.flag:
        return type === JsonType.true || type === JsonType.false ? Seen.good : Seen.bad
      case Reading.primitiveType:
        return this.#primitiveType(type, at, end)
      default:
        return type === JsonType.number && this.#isInRange(reading, at, end) ? Seen.good : Seen.bad
    }
  }

  /** An id that names something: the nil uuid, which means "none" wherever ids are stored, is none. */
  #ownId(type: JsonType, at: number, end: number, id: ScannedId): Seen {
    const seen = this.#id(type, at, end, id)
    return seen === Seen.good && id.isUuid && isNil(id.bytes) ? Seen.bad : seen
  }

  #id(type: JsonType, at: number, end: number, id: ScannedId): Seen {
    if (type !== JsonType.string) return Seen.bad
    const scanner = this.#scanner
    id.start = at + 1
    id.end = end - 1
    const length = id.end - id.start
    if (length === 0) return Seen.empty
    id.isUuid = scanner.escaped ? this.#escapedUuid(id) : length === 36 && uuidAt(scanner.bytes, id.start, id.bytes)
    if (id.isUuid) return Seen.good
    if (this.#ids === 'strict') return Seen.bad
    return length <= ID_MAX_LENGTH || codePoints(this.textOf(id)) <= ID_MAX_LENGTH ? Seen.good : Seen.bad
  }

  #escapedUuid(id: ScannedId): boolean {
    const text = this.textOf(id)
    if (!isUuid(text)) return false
    id.bytes.set(uuidBytes(text))
    return true
  }

  #primitiveType(type: JsonType, at: number, end: number): Seen {
    if (type !== JsonType.string) return Seen.bad
    if (end - at === 2) return Seen.empty
    const scanner = this.#scanner
    return PRIMITIVE_TYPES.find(scanner, at + 1, end - 1, scanner.escaped) < 0 ? Seen.word : Seen.good
  }

  /** Judges a number by its characters; only unusual ones are converted. */
  #isInRange(reading: Reading, at: number, end: number): boolean {
    const { bytes } = this.#scanner
    let plain = true
    let whole = true
    for (let i = at; i < end; i++) {
      const c = bytes[i] as number
      if (c === 0x2e) whole = false
      else if (c > 0x39) plain = false
    }
    if (reading === Reading.time) {
      if (plain && whole && end - at <= SURELY_EXACT && end - at !== SECONDS_DIGITS) return true
      const value = this.#numberOf(at, end)
      return Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63 && !isSeconds(value)
    }
    const isPositive = bytes[at] !== 0x2d
    if (plain && end - at < SURELY_FINITE && (isPositive || reading === Reading.number)) return true
    const value = this.#numberOf(at, end)
    return Number.isFinite(value) && (value >= 0 || reading === Reading.number)
  }

  #numberOf(at: number, end: number): number {
    const { bytes } = this.#scanner
    return Number(Buffer.from(bytes.buffer, bytes.byteOffset + at, end - at).toString('latin1'))
  }

  #userData(from: number, sight: Sight, index: number): number {
    const scanner = this.#scanner
    this.#userId = Seen.nothing
    const isObject = scanner.typeAt(from) === JsonType.object
    sight.seen[index] = isObject ? Seen.good : Seen.bad
    if (!isObject) return scanner.skip(from)
    let at = scanner.open(from)
    while (at >= 0 && scanner.bytes[at] !== 0x7d) {
      at = scanner.key(at)
      if (at < 0) return -1
      if (USER_DATA_KEYS.find(scanner, scanner.keyStart, scanner.keyEnd, scanner.escaped) === 0) {
        const type = scanner.typeAt(at)
        this.#userIdAt = at
        this.#userId = type === JsonType.string ? Seen.good : type === JsonType.null ? Seen.null : Seen.bad
      }
      at = scanner.skip(at)
      if (at < 0) return -1
      at = scanner.next(at, 0x7d)
    }
    if (at < 0) return -1
    if (this.#userId === Seen.nothing) this.#userIdAt = at
    return scanner.close(at)
  }

  /** A list of texts or of checkpoints; the first wrong element is remembered. */
  #list(from: number, sight: Sight, index: number): number {
    const scanner = this.#scanner
    this.#element = -1
    if (scanner.typeAt(from) !== JsonType.array) {
      sight.seen[index] = Seen.bad
      return scanner.skip(from)
    }
    const ofTexts = sight.readings[index] === Reading.texts
    let at = scanner.open(from)
    for (let element = 0; at >= 0 && scanner.bytes[at] !== 0x5d; element++) {
      const type = scanner.typeAt(at)
      if (type === JsonType.object && !ofTexts) at = this.#checkpointAt(at, element)
      else {
        if (!ofTexts || type !== JsonType.string) this.#wrongElement(element, -1, at, false)
        at = scanner.skip(at)
      }
      if (at < 0) return -1
      at = scanner.next(at, 0x5d)
    }
    if (at < 0) return -1
    sight.seen[index] = this.#element < 0 ? Seen.good : Seen.bad
    return scanner.close(at)
  }

  #checkpointAt(from: number, element: number): number {
    const { sight } = this.#checkpoint
    sight.clear()
    const end = this.#fields(from, this.#checkpoint)
    if (end < 0 || this.#element >= 0 || sight.isRight('conversation')) return end
    const wrong = sight.firstWrong('conversation')
    if (wrong === undefined) return end
    const index = sight.fields.indexOf(wrong)
    const misses = sight.seen[index] === Seen.nothing
    this.#wrongElement(element, index, misses ? sight.end : (sight.at[index] as number), misses)
    return end
  }

  #wrongElement(element: number, field: number, at: number, misses: boolean): void {
    if (this.#element >= 0) return
    this.#element = element
    this.#elementField = field
    this.#elementAt = at
    this.#elementMisses = misses
  }
}

function planOf(fields: readonly Field[]): Plan {
  return { keys: new KeyTable(fields.map(of => of.name)), sight: new Sight(fields) }
}

function refusal(field: string, sentence: string, at: number): ScanRefusal {
  return { code: 'REQ_BODY_INVALID', field, detail: `${sentence}, at byte ${at}` }
}

/** Characters as JSON Schema counts them: a pair of surrogates is one, a lone surrogate is one. */
function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
