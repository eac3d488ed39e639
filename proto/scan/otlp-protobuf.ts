// The bytes of an OTLP protobuf body -> the verdict of proto/otlp/check-protobuf.ts. The walk in protobuf.wat passes what real exporters
// send; what it does not pass (broken bytes, and what is good but unusual) it leaves to the check, so that every verdict is the same.
import { checkProtobuf } from '#proto/otlp/check-protobuf.ts'
import {
  ANY_VALUE,
  ARRAY_VALUE,
  EVENT,
  KEY_VALUE,
  KEY_VALUE_LIST,
  LINK,
  type MessageSpec,
  RESOURCE,
  RESOURCE_SPANS,
  SCOPE,
  SCOPE_SPANS,
  SPAN,
  STATUS,
  TRACES_DATA,
} from '#proto/otlp/fields.ts'
import { TRACE_ID_BYTES } from '#proto/otlp/span-ids.ts'
import { refusedSpans, type TracesVerdict } from '#proto/otlp/verdict.ts'
import { Wire } from '#proto/otlp/wire.ts'
import { protobufWasm } from './protobuf-wasm.ts'
import { compile, viewOf, type WasmMemory } from './wasm.ts'

/** Where the body begins in the memory of protobuf.wat, and how far that may read behind the end. */
const BODY_AT = 8192
const READ_BEHIND = 256
const TABLE_BYTES = 256
/** The field whose place in a table stands for all beyond it. */
const BEYOND = 31

/** What a table says of a field: 0 leave the body, 4 and 8 step over so many bytes, and these. */
const LEAVE = 0
const VARINT = 1
const BYTES = 12
/** Bytes whose place is noted. */
const SPAN_IDS: Readonly<Record<string, number>> = { traceId: 9, spanId: 10, parentSpanId: 11 }
/** A field that is a message has the number of its table. protobuf.wat knows those of the first three: 16, 17 and 18. */
const ROOT = 16
const MESSAGES: readonly MessageSpec[] = [
  ...[TRACES_DATA, SPAN, KEY_VALUE, ANY_VALUE, ARRAY_VALUE, KEY_VALUE_LIST, RESOURCE_SPANS, SCOPE_SPANS],
  ...[RESOURCE, SCOPE, EVENT, LINK, STATUS],
]

/** See protobuf.wat. */
interface WalkExports {
  readonly memory: WasmMemory
  readonly message: (table: number, at: number, end: number, depth: number) => number
}

const instantiate = compile<WalkExports>(protobufWasm)

/** A scanner of OTLP protobuf. Reused for any number of bodies; what it found is valid until the next. */
export class OtlpProtobufScanner {
  spans = 0
  rejected = 0
  /** Number of the first rejected span in order of the body, -1 = none. */
  firstRejected = -1
  /** Where the trace id stands of the first span that is not rejected, -1 = nowhere. */
  firstTraceAt = -1
  readonly #memory: WasmMemory
  readonly #message: WalkExports['message']
  #bytes: Uint8Array
  /** What the walk counts: the four fields above. */
  #tally: Int32Array

  constructor() {
    const { memory, message } = instantiate()
    for (const [i, spec] of MESSAGES.entries()) {
      new Uint8Array(memory.buffer).set(tableOf(spec), (ROOT + i) * TABLE_BYTES)
    }
    this.#memory = memory
    this.#message = message
    this.#bytes = viewOf(memory, BODY_AT, READ_BEHIND)
    this.#tally = new Int32Array(memory.buffer, 0, 4)
  }

  /** Judges a body; see `checkTraces`. */
  verdict(body: Uint8Array): TracesVerdict {
    if (!this.scan(body)) return checkProtobuf(body)
    const at = this.firstTraceAt
    return {
      ok: true,
      spans: this.spans,
      rejected: this.rejected,
      firstTraceId: at < 0 ? null : body.slice(at, at + TRACE_ID_BYTES),
      message: refusedSpans(this.rejected, this.firstRejected),
    }
  }

  /**
   * Scans a body. After true it is good and the fields hold what was found; after false the check must decide. Nothing is allocated,
   * unless the body is the largest so far: the memory grows to it and stays.
   */
  scan(body: Uint8Array): boolean {
    this.#reserve(body.length + READ_BEHIND)
    this.#bytes.set(body)
    const tally = this.#tally
    tally[0] = 0
    tally[1] = 0
    tally[2] = -1
    tally[3] = -1
    const end = this.#message(ROOT, 0, body.length, 0)
    this.spans = tally[0] as number
    this.rejected = tally[1] as number
    this.firstRejected = tally[2] as number
    this.firstTraceAt = tally[3] as number
    // When no span can be used, these may be the records of another signal.
    return end >= 0 && (this.rejected === 0 || this.rejected < this.spans)
  }

  #reserve(size: number): void {
    if (size <= this.#bytes.length) return
    this.#bytes = viewOf(this.#memory, BODY_AT, size)
    this.#tally = new Int32Array(this.#memory.buffer, 0, 4)
  }
}

/** What to do in a message, by tag. Field numbers from 32 on are looked up as 31: no message has either, but for one that the check refuses. */
function tableOf(spec: MessageSpec): Uint8Array {
  const table = new Uint8Array(TABLE_BYTES)
  for (let tag = 1 << 3; tag < TABLE_BYTES; tag++) {
    const field = spec.fields[tag >>> 3]
    if (field !== undefined && field.wire !== (tag & 7)) continue
    if (field?.message != null) table[tag] = ROOT + MESSAGES.indexOf(field.message)
    else if (spec === RESOURCE_SPANS && tag >>> 3 === BEYOND) table[tag] = LEAVE
    else table[tag] = (spec === SPAN && field && SPAN_IDS[field.name]) || stepOver(tag & 7)
  }
  return table
}

/** What steps over a value of a wire type; groups and what does not exist is left to the check. */
function stepOver(wire: number): number {
  if (wire === Wire.varint) return VARINT
  if (wire === Wire.bytes) return BYTES
  return wire === Wire.fixed64 ? 8 : wire === Wire.fixed32 ? 4 : 0
}
