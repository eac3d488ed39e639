// The spans of one body, read, settled and finished: units that write themselves.
import { conversationIdOf } from '#proto/ids.ts'
import { type LinkRow, type Origin, Present, type SessionRow } from '#proto/rows.ts'
import { type Instant, sqlNanos } from '#proto/time.ts'
import type { BlockEncoder } from '../encoder.ts'
import { atHome, type Home, hourAt, hourIn } from '../loose.ts'
import type { FrameContext, PackedUnits } from '../outcome.ts'
import { UNPRICED_KEY } from '../parsers/cost.ts'
import { settleFamilies } from '../parsers/otlp/batch.ts'
import type { Neighbour, SpanReading } from '../parsers/otlp/reading.ts'
import { familiesByParents } from '../parsers/otlp/tree.ts'
import { readSpan, rowsOf, type SpanRows } from '../parsers/otlp/unit.ts'
import { finish } from './finish.ts'
import { askEventId, askPrint, flushIds, flushPrints, setOrganization, uuidOfWords } from './hashes.ts'
import { putUuid, sessionConversationWords, setNamespace, traceConversationWords } from './ids.ts'
import { hashOf, sameBytes } from './interned.ts'
import { planFor, type Reason, recordsAt, spanAt } from './likeness.ts'
import type { Plan } from './plan.ts'
import { ByteReading } from './reading.ts'
import { Revelations, textAt } from './reveal.ts'
import { A, ATTRIBUTE_INTS, S, SPAN_INTS, type SpanNumbers } from './spans.ts'
import { Flag, hasTexts, instantOf, type Shared, SPAN_WORDS, sharedOf, W, writeSpan } from './write.ts'

const NO_TIME: Instant = { ms: 0, ns: 0 }
const scratch = new Uint32Array(8)

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
  readonly #readings: (ByteReading | SpanReading)[] = []
  /** Rows of spans that are read as objects; undefined = its reading is finished. */
  readonly #rows: (SpanRows | undefined)[] = []
  readonly #sessions: (SessionRow | null)[] = []
  readonly #links: ReadonlyMap<number, LinkRow>

  constructor(table: SpanNumbers, bytes: Buffer, context: FrameContext) {
    this.#table = table
    this.#bytes = bytes
    this.count = table.count
    this.#words = new Uint32Array(this.count * SPAN_WORDS)
    const organization = new Uint32Array(4)
    putUuid(context.organization, organization, 0)
    this.#shared = sharedOf(context, this.#words, organization)
    setNamespace(context.organization)
    setOrganization(context.organization)
    const parents = this.#parents()
    this.#ids(parents)
    for (let i = 0; i < this.count; i++) this.#readings.push(this.#read(i, context))
    settleFamilies(familiesByParents(this.#readings as readonly Neighbour[], parents))
    const revelations = new Revelations()
    for (let i = 0; i < this.count; i++) this.#settle(i, context, revelations)
    this.#links = this.#linked(context)
    this.#countRows()
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
        this.#sessions.push(revelations.of(reading, this.#words, at, context))
        this.#rows.push(undefined)
        if ((reading.plan as Plan).session === null) this.loose++
        if (reading.unpriced !== '') this.#count(reading.unpriced)
        return
      }
      this.#note('row')
      this.#readings[span] = this.#asObject(reading, span, context)
    }
    const rows = rowsOf(this.#readings[span] as SpanReading, context)
    const { event, revealed } = rows
    putUuid(event.conversation_id, this.#words, at + W.conversation)
    const news = revealed !== null && !revelations.known.has(revealed.key)
    if (revealed !== null) revelations.known.add(revealed.key)
    this.#sessions.push(news ? revealed.capture() : null)
    this.#rows.push(rows)
    if (event.provisional === 1) this.loose++
    if ((event.present & Present.pricingInvalid) > 0) this.#count('invalid')
    else if (event.metadata[UNPRICED_KEY] !== undefined) this.#count(event.metadata[UNPRICED_KEY])
  }

  #count(why: string): void {
    this.unpriced[why] = (this.unpriced[why] ?? 0) + 1
  }

  /** The span read as an object, with what was decided about it. */
  #asObject(reading: ByteReading, span: number, context: FrameContext): SpanReading {
    const { kind, model, provider, reported, failure, input, output, counting, lent, sameAs } = reading
    const whole = readSpan(spanAt(this.#table, this.#bytes, span * SPAN_INTS), context)
    return Object.assign(whole, { kind, model, provider, reported, failure, input, output, counting, lent, sameAs })
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

  // ---- links -----------------------------------------------------------------------------------------------------------

  /** At most one link for each trace, by position, as parsers/otlp/links.ts finds them. */
  #linked(context: FrameContext): ReadonlyMap<number, LinkRow> {
    const bytes = this.#bytes
    const best = new Map<string, { span: number; named: number }>()
    let [before, known]: [number, { span: number; named: number } | undefined] = [-1, undefined]
    for (let i = 0; i < this.count; i++) {
      if (this.#isProvisional(i)) continue
      const at = this.#place(i, S.trace)
      // Spans of one trace stand together.
      if (before < 0 || !sameBytes(bytes, at, at + 16, bytes, before)) {
        const trace = bytes.toString('latin1', at, at + 16)
        known = best.get(trace)
        before = at
        if (known === undefined) {
          known = { span: i, named: i }
          best.set(trace, known)
          continue
        }
      }
      if (known === undefined) continue
      if (this.#isBefore(i, known.span)) {
        // The session stays named as it was first, as long as it is the same conversation.
        if (!this.#isSameConversation(i, known.named)) known.named = i
        known.span = i
      }
    }
    return new Map([...best.values()].map(({ span, named }) => [span, this.#link(span, named, context)]))
  }

  #isProvisional(span: number): boolean {
    const rows = this.#rows[span]
    if (rows !== undefined) return rows.event.provisional === 1
    return ((this.#readings[span] as ByteReading).plan as Plan).session === null
  }

  #isSameConversation(a: number, b: number): boolean {
    const [i, j] = [a * SPAN_WORDS + W.conversation, b * SPAN_WORDS + W.conversation]
    for (let k = 0; k < 4; k++) if (this.#words[i + k] !== this.#words[j + k]) return false
    return true
  }

  #isBefore(a: number, b: number): boolean {
    const [rootA, rootB] = [this.#place(a, S.parent) < 0, this.#place(b, S.parent) < 0]
    if (rootA !== rootB) return rootA
    const order = this.#compareTimes(a, b)
    if (order !== 0) return order < 0
    const [i, j] = [this.#place(a, S.id), this.#place(b, S.id)]
    return this.#bytes.compare(this.#bytes, j, j + 8, i, i + 8) < 0
  }

  /** Below zero when the first is the earlier one. */
  #compareTimes(a: number, b: number): number {
    if (this.#rows[a] === undefined && this.#rows[b] === undefined) {
      const [first, second] = [this.#timeOf(a), this.#timeOf(b)]
      return first.ms - second.ms || first.ns - second.ns
    }
    const [first, second] = [this.#timeText(a), this.#timeText(b)]
    return first < second ? -1 : first === second ? 0 : 1
  }

  #timeText(span: number): string {
    return this.#rows[span]?.event.ts ?? sqlNanos(this.#timeOf(span))
  }

  #timeOf(span: number): Instant {
    const reading = this.#readings[span] as ByteReading
    return reading.time(reading.placeOfTime) ?? NO_TIME
  }

  #link(span: number, named: number, { organization, retention }: FrameContext): LinkRow {
    const at = this.#place(span, S.trace)
    const id = this.#place(span, S.id)
    for (let i = 0; i < 4; i++) scratch[i] = this.#bytes.readUInt32BE(at + 4 * i)
    traceConversationWords(this.#bytes, at, scratch, 4)
    return {
      organization,
      retention,
      trace_id: uuidOfWords(scratch, 0),
      provisional_id: uuidOfWords(scratch, 4),
      conversation_id: uuidOfWords(this.#words, span * SPAN_WORDS + W.conversation),
      session_id: this.#sessionText(named),
      depth: this.#place(span, S.parent) < 0 ? 0 : 1,
      started_at: this.#timeText(span),
      span_id: this.#bytes.readBigUInt64BE(id).toString(),
    }
  }

  /** The session as its event has it: '' where it is the conversation's own text. */
  #sessionText(span: number): string {
    const rows = this.#rows[span]
    if (rows !== undefined) return rows.event.session_id
    if (((this.#words[span * SPAN_WORDS + W.flags] as number) & Flag.ownText) !== 0) return ''
    const reading = this.#readings[span] as ByteReading
    return textAt(reading, (reading.plan as Plan).session) ?? ''
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
    return (this.#sessions[unit] ?? null) !== null
  }

  linkOf(unit: number): LinkRow | undefined {
    return this.#links.get(unit)
  }

  hourOf(unit: number): number {
    const rows = this.#rows[unit]
    if (rows !== undefined) return hourIn(rows.event.ts)
    return hourAt(instantOf(this.#readings[unit] as ByteReading, this.#shared.context.receivedAtMs).ms)
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
      if (this.#sessions[i] !== null) sessions++
      if (this.#links.has(i)) links++
      const rows = this.#rows[i]
      if (rows !== undefined) texts += rows.texts.length
      else if (hasTexts(this.#readings[i] as ByteReading)) texts++
    }
  }

  write(unit: number, encoder: BlockEncoder, origin: Origin, home?: Home): void {
    const first = (field: number): number => this.#words[unit * SPAN_WORDS + field] as number
    const session = this.#sessions[unit] ?? null
    if (session !== null) encoder.add('sessions', session, { ...origin, origin_index: first(W.sessions) })
    const link = this.#links.get(unit)
    if (link !== undefined) encoder.add('links', link, { ...origin, origin_index: first(W.links) })
    const rows = this.#rows[unit]
    if (rows === undefined) {
      writeSpan({ reading: this.#readings[unit] as ByteReading, index: unit, home }, this.#shared, encoder, origin)
      return
    }
    for (const [i, row] of rows.texts.entries()) {
      encoder.add('texts', row, { ...origin, origin_index: first(W.texts) + i })
    }
    encoder.add('events', atHome(rows.event, home), { ...origin, origin_index: unit })
  }
}
