// The spans of one body, read, settled and finished: units that write themselves.
import { conversationIdOf, NIL_UUID } from '#proto/ids.ts'
import { type LinkRow, type Origin, Present, type SessionRow } from '#proto/rows.ts'
import type { BlockEncoder } from '../encoder.ts'
import { atHome, type Home, hourAt, hourIn } from '../loose.ts'
import type { FrameContext, PackedUnits } from '../outcome.ts'
import { UNPRICED_KEY } from '../parsers/cost.ts'
import { settleFamilies } from '../parsers/otlp/batch.ts'
import type { Neighbour, SpanReading } from '../parsers/otlp/reading.ts'
import { familiesByParents } from '../parsers/otlp/tree.ts'
import { readSpan, rowsOf, type SpanRows } from '../parsers/otlp/unit.ts'
import { writeCapture } from './capture.ts'
import { finish } from './finish.ts'
import { askEventId, askPrint, flushIds, flushPrints, setOrganization } from './hashes.ts'
import { putUuid, sessionConversationWords, setNamespace, traceConversationWords } from './ids.ts'
import { hashOf, sameBytes } from './interned.ts'
import { KeptReadings } from './kept.ts'
import { planFor, type Reason, recordsAt, spanAt } from './likeness.ts'
import { SpanLinks } from './links.ts'
import type { Capture, Variant } from './metadata.ts'
import type { Plan } from './plan.ts'
import { ByteReading } from './reading.ts'
import { Revelations } from './reveal.ts'
import { A, ATTRIBUTE_INTS, S, SPAN_INTS, type SpanNumbers } from './spans.ts'
import { msAt, placeOfTime } from './times.ts'
import { Flag, hasTexts, type Shared, SPAN_WORDS, sharedOf, W, writeSpan } from './write.ts'

/** See above. */
export class PackedSpans implements PackedUnits {
  readonly count: number
  readonly unpriced: Record<string, number> = {}
  readonly objects: Record<string, number> = {}
  loose = 0
  readonly #table: SpanNumbers
  readonly #bytes: Buffer
  readonly #shared: Shared
  readonly #words: Uint32Array
  /** While the body is read … */
  #readings: (ByteReading | SpanReading)[] = []
  /** … and until it is written: rows of spans that are read as objects, numbers of all others. */
  readonly #rows: (SpanRows | undefined)[]
  readonly #kept: KeptReadings
  readonly #sessions: (SessionRow | null)[]
  readonly #links: SpanLinks

  constructor(table: SpanNumbers, bytes: Buffer, context: FrameContext) {
    this.#table = table
    this.#bytes = bytes
    this.count = table.count
    this.#words = new Uint32Array(this.count * SPAN_WORDS)
    this.#rows = new Array<SpanRows | undefined>(this.count).fill(undefined)
    this.#sessions = new Array<SessionRow | null>(this.count).fill(null)
    const organization = new Uint32Array(4)
    putUuid(context.organization, organization, 0)
    this.#shared = sharedOf(context, this.#words, organization)
    setNamespace(context.organization)
    setOrganization(context.organization)
    const parents = this.#parents()
    this.#ids(parents)
    for (let i = 0; i < this.count; i++) this.#readings.push(this.#read(i, context))
    settleFamilies(familiesByParents(this.#readings as readonly Neighbour[], parents))
    const revelations = new Revelations(this.#words, context)
    for (let i = 0; i < this.count; i++) this.#settle(i, context, revelations)
    this.#kept = new KeptReadings(table, bytes)
    for (let i = 0; i < this.count; i++) {
      if (this.#rows[i] === undefined) this.#kept.keep(i, this.#readings[i] as ByteReading)
    }
    this.#links = new SpanLinks({ table, bytes, shared: this.#shared, rows: this.#rows, kept: this.#kept })
    this.#countRows()
    this.#readings = []
  }

  #read(span: number, context: FrameContext): ByteReading | SpanReading {
    const records = recordsAt(this.#table, this.#bytes, span * SPAN_INTS)
    const plan = planFor(this.#table, this.#bytes, span, context, records)
    if (typeof plan === 'string') {
      this.#note(plan)
      return readSpan(spanAt(this.#table, this.#bytes, span * SPAN_INTS), context)
    }
    const reading = new ByteReading()
    reading.read(plan, this.#table, span, this.#bytes, records)
    return reading
  }

  #note(reason: Reason | 'row'): void {
    const why = `span ${reason}`
    this.objects[why] = (this.objects[why] ?? 0) + 1
  }

  #place(span: number, field: number): number {
    return this.#table.spans[span * SPAN_INTS + field] as number
  }

  /** Positions of everybody's parents, as familiesOf finds them: of spans with one id the last is asked. */
  #parents(): Int32Array {
    const bytes = this.#bytes
    const parents = new Int32Array(this.count).fill(-1)
    let slots = 16
    while (slots < this.count * 2) slots *= 2
    const table = new Int32Array(slots)
    const slotOf = (at: number): number => {
      let slot = hashOf(bytes, at, at + 8) & (slots - 1)
      for (; table[slot] !== 0; slot = (slot + 1) & (slots - 1)) {
        if (sameBytes(bytes, at, at + 8, bytes, this.#place((table[slot] as number) - 1, S.id))) break
      }
      return slot
    }
    for (let i = 0; i < this.count; i++) table[slotOf(this.#place(i, S.id))] = i + 1
    for (let i = 0; i < this.count; i++) {
      const at = this.#place(i, S.parent)
      const parent = at < 0 ? -1 : (table[slotOf(at)] as number) - 1
      if (parent < 0 || parent === i) continue
      const trace = this.#place(i, S.trace)
      if (sameBytes(bytes, trace, trace + 16, bytes, this.#place(parent, S.trace))) parents[i] = parent
    }
    return parents
  }

  /** Finishes a span: its ids, what it reveals, its row. */
  #settle(span: number, context: FrameContext, revelations: Revelations): void {
    const reading = this.#readings[span] as ByteReading | SpanReading
    const at = span * SPAN_WORDS
    if (reading instanceof ByteReading) {
      if (finish(reading, context) !== null) {
        this.#conversation(reading, span, at)
        const capture = revelations.of(reading, at)
        if (capture === 'plain') this.#words[at + W.flags] = (this.#words[at + W.flags] as number) | Flag.captured
        else this.#sessions[span] = capture
        if (this.#isProvisional(span)) this.loose++
        if (reading.unpriced !== '') this.#count(reading.unpriced)
        return
      }
      this.#note('row')
      this.#readings[span] = this.#asObject(reading, span, context)
    }
    const rows = rowsOf(this.#readings[span] as SpanReading, context)
    const { event, revealed } = rows
    putUuid(event.conversation_id, this.#words, at + W.conversation)
    if (revealed !== null && revelations.isNews(revealed.key)) this.#sessions[span] = revealed.capture()
    this.#rows[span] = rows
    // Nothing links a trace to what is nobody's.
    if (event.conversation_id === NIL_UUID) this.#words[at + W.flags] = Flag.nobodys
    if (event.provisional === 1) {
      this.#words[at + W.flags] = Flag.provisional
      this.loose++
    }
    if ((event.present & Present.pricingInvalid) > 0) this.#count('invalid')
    else if (event.metadata[UNPRICED_KEY] !== undefined) this.#count(event.metadata[UNPRICED_KEY])
  }

  #count(why: string): void {
    this.unpriced[why] = (this.unpriced[why] ?? 0) + 1
  }

  /** The span read as an object, with what was decided about it. */
  #asObject(reading: ByteReading, span: number, context: FrameContext): SpanReading {
    const { kind, model, provider, reported, failure, carried, input, output, counting, lent, sameAs } = reading
    const whole = readSpan(spanAt(this.#table, this.#bytes, span * SPAN_INTS), context)
    return Object.assign(whole, {
      kind,
      model,
      provider,
      reported,
      failure,
      carried,
      input,
      output,
      counting,
      lent,
      sameAs,
    })
  }

  /** Ids of all events and of their parents, and their fingerprints. */
  #ids(parents: Int32Array): void {
    const words = this.#words
    const bytes = this.#bytes
    for (let i = 0; i < this.count; i++) {
      askEventId(bytes, this.#place(i, S.trace), this.#place(i, S.id), words, i * SPAN_WORDS + W.event)
    }
    for (let i = 0; i < this.count; i++) {
      const parent = this.#place(i, S.parent)
      if (parent < 0 || (parents[i] as number) >= 0) continue
      askEventId(bytes, this.#place(i, S.trace), parent, words, i * SPAN_WORDS + W.parent)
    }
    flushIds(words)
    for (let i = 0; i < this.count; i++) {
      const parent = parents[i] as number
      if (parent >= 0) this.#copy(parent * SPAN_WORDS + W.event, i * SPAN_WORDS + W.parent)
      askPrint(words, i * SPAN_WORDS + W.event, words, i * SPAN_WORDS + W.print)
    }
    flushPrints(words)
  }

  #copy(from: number, to: number): void {
    for (let i = 0; i < 4; i++) this.#words[to + i] = this.#words[from + i] as number
  }

  #conversation(reading: ByteReading, span: number, at: number): void {
    const { session } = reading.plan as Plan
    const words = this.#words
    if (session === null) {
      traceConversationWords(this.#bytes, this.#place(span, S.trace), words, at + W.conversation)
      words[at + W.flags] = Flag.provisional
      return
    }
    let own: boolean
    if (session.at < 0) {
      const id = conversationIdOf(this.#shared.context.organization, session.fixed)
      putUuid(id, words, at + W.conversation)
      own = id === session.fixed
    } else {
      const row = (reading.first + session.at) * ATTRIBUTE_INTS
      const [from, to] = [reading.data[row + A.x] as number, reading.data[row + A.y] as number]
      own = sessionConversationWords(this.#bytes, from, to, words, at + W.conversation)
    }
    if (own) words[at + W.flags] = Flag.ownText
  }

  #isProvisional(span: number): boolean {
    return ((this.#words[span * SPAN_WORDS + W.flags] as number) & Flag.provisional) !== 0
  }

  // ---- what the range asks for -----------------------------------------------------------------------------------------

  putStandIn(unit: number, into: Uint8Array, at: number): boolean {
    if (!this.#isProvisional(unit)) return false
    for (let i = 0; i < 4; i++) {
      const word = this.#words[unit * SPAN_WORDS + W.conversation + i] as number
      for (let k = 0; k < 4; k++) into[at + i * 4 + k] = word >>> (24 - 8 * k)
    }
    return true
  }

  isCaptured(unit: number): boolean {
    if ((this.#sessions[unit] ?? null) !== null) return true
    return ((this.#words[unit * SPAN_WORDS + W.flags] as number) & Flag.captured) !== 0
  }

  linkOf(unit: number): LinkRow | undefined {
    return this.#links.of(unit)
  }

  hourOf(unit: number): number {
    const rows = this.#rows[unit]
    if (rows !== undefined) return hourIn(rows.event.ts)
    const { spans } = this.#table
    const row = unit * SPAN_INTS
    return hourAt(msAt(spans, row, placeOfTime(spans, row)))
  }

  print(unit: number, into: Uint8Array, at: number): void {
    for (let i = 0; i < 3; i++) {
      const word = this.#words[unit * SPAN_WORDS + W.print + i] as number
      for (let k = 0; k < 4; k++) into[at + i * 4 + k] = word >>> (24 - 8 * k)
    }
  }

  /** Counts the rows before those of each span. */
  #countRows(): void {
    let [sessions, texts, links] = [0, 0, 0]
    for (let i = 0; i < this.count; i++) {
      const at = i * SPAN_WORDS
      this.#words[at + W.sessions] = sessions
      this.#words[at + W.texts] = texts
      this.#words[at + W.links] = links
      if (this.isCaptured(i)) sessions++
      if (this.#links.has(i)) links++
      const rows = this.#rows[i]
      if (rows !== undefined) texts += rows.texts.length
      else if (hasTexts(this.#readings[i] as ByteReading)) texts++
    }
  }

  #writeCapture(unit: number, encoder: BlockEncoder, origin: Origin): void {
    const session = this.#sessions[unit] ?? null
    if (session !== null) {
      encoder.add('sessions', session, origin)
      return
    }
    const reading = this.#kept.at(unit)
    const { capture } = reading.variant as Variant
    const columns = encoder.row('sessions', this.#shared.context.retention, 0)
    const shared = this.#shared
    writeCapture(columns, reading, { capture: capture as Capture, shared, at: unit * SPAN_WORDS }, origin)
  }

  write(unit: number, encoder: BlockEncoder, origin: Origin, home?: Home): void {
    const words = this.#words
    const at = unit * SPAN_WORDS
    if (this.isCaptured(unit)) {
      origin.origin_index = words[at + W.sessions] as number
      this.#writeCapture(unit, encoder, origin)
    }
    origin.origin_index = words[at + W.links] as number
    this.#links.write(unit, encoder, origin)
    const rows = this.#rows[unit]
    if (rows === undefined) {
      writeSpan({ reading: this.#kept.at(unit), index: unit, home }, this.#shared, encoder, origin)
      return
    }
    for (const [i, row] of rows.texts.entries()) {
      origin.origin_index = (words[at + W.texts] as number) + i
      encoder.add('texts', row, origin)
    }
    origin.origin_index = unit
    encoder.add('events', atHome(rows.event, home), origin)
  }
}
