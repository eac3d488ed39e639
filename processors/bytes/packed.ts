// The spans of one body, read, settled and finished: units that write themselves.
import { conversationIdOf } from '#proto/ids.ts'
import { type LinkRow, type Origin, Present, type SessionRow } from '#proto/rows.ts'
import { sqlNanos } from '#proto/time.ts'
import type { BlockEncoder } from '../encoder.ts'
import { atHome, type Home, hourAt, hourIn } from '../loose.ts'
import type { FrameContext, PackedUnits, RowCounts } from '../outcome.ts'
import { UNPRICED_KEY } from '../parsers/cost.ts'
import { settleFamilies } from '../parsers/otlp/batch.ts'
import type { Neighbour, SpanReading } from '../parsers/otlp/reading.ts'
import { familiesByParents } from '../parsers/otlp/tree.ts'
import { readSpan, rowsOf, type SpanRows } from '../parsers/otlp/unit.ts'
import { type Finished, finish } from './finish.ts'
import {
  putFingerprint,
  putUuid,
  sessionConversationWords,
  setNamespace,
  spanEventWords,
  traceConversationWords,
  uuidOfWords,
} from './ids.ts'
import { hashOf, sameBytes } from './interned.ts'
import { planFor, type Reason, recordsAt, spanAt } from './likeness.ts'
import type { Plan } from './plan.ts'
import { ByteReading } from './reading.ts'
import { Revelations, textAt } from './reveal.ts'
import { A, ATTRIBUTE_INTS, S, SPAN_INTS, type SpanTable } from './spans.ts'
import { Flag, hasTexts, instantOf, type Shared, SPAN_WORDS, sharedOf, W, writeSpan } from './write.ts'

/** What is written of a span. */
type Written = { readonly finished: Finished } | SpanRows

/** See above. */
export class PackedSpans implements PackedUnits {
  readonly count: number
  readonly unpriced: Record<string, number> = {}
  readonly objects: Record<string, number> = {}
  loose = 0
  readonly #table: SpanTable
  readonly #bytes: Buffer
  readonly #shared: Shared
  readonly #words: Uint32Array
  readonly #readings: (ByteReading | SpanReading)[] = []
  readonly #written: Written[] = []
  readonly #sessions: (SessionRow | null)[] = []
  readonly #links: ReadonlyMap<number, LinkRow>

  constructor(table: SpanTable, bytes: Buffer, context: FrameContext) {
    this.#table = table
    this.#bytes = bytes
    this.count = table.count
    this.#words = new Uint32Array(this.count * SPAN_WORDS)
    const organization = new Uint32Array(4)
    putUuid(context.organization, organization, 0)
    this.#shared = sharedOf(context, this.#words, organization)
    setNamespace(context.organization)
    for (let i = 0; i < this.count; i++) this.#readings.push(this.#read(i, context))
    settleFamilies(familiesByParents(this.#readings as readonly Neighbour[], this.#parents()))
    const revelations = new Revelations()
    for (let i = 0; i < this.count; i++) this.#settle(i, context, revelations)
    this.#links = this.#linked(context)
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
    return this.#table.spans.data[span * SPAN_INTS + field] as number
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
    this.#ids(span, at)
    if (reading instanceof ByteReading) {
      const finished = finish(reading, context)
      if (finished !== null) {
        this.#conversation(reading, span, at)
        this.#sessions.push(revelations.of(reading, finished.variant, this.#words, at, context))
        this.#written.push({ finished })
        if ((reading.plan as Plan).session === null) this.loose++
        if (finished.unpriced !== '') this.#count(finished.unpriced)
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
    this.#written.push(rows)
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

  #ids(span: number, at: number): void {
    const trace = this.#place(span, S.trace)
    spanEventWords(this.#bytes, trace, this.#place(span, S.id), this.#words, at + W.event)
    const parent = this.#place(span, S.parent)
    if (parent >= 0) spanEventWords(this.#bytes, trace, parent, this.#words, at + W.parent)
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
    const best = new Map<string, { span: number; named: number }>()
    for (let i = 0; i < this.count; i++) {
      if (this.#isProvisional(i)) continue
      const at = this.#place(i, S.trace)
      const trace = this.#bytes.toString('latin1', at, at + 16)
      const known = best.get(trace)
      if (known === undefined) best.set(trace, { span: i, named: i })
      else if (this.#isBefore(i, known.span)) {
        // The session stays named as it was first, as long as it is the same conversation.
        if (!this.#isSameConversation(i, known.named)) known.named = i
        known.span = i
      }
    }
    return new Map([...best.values()].map(({ span, named }) => [span, this.#link(span, named, context)]))
  }

  #isProvisional(span: number): boolean {
    const written = this.#written[span] as Written
    if ('event' in written) return written.event.provisional === 1
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
    const [timeA, timeB] = [this.#timeText(a), this.#timeText(b)]
    if (timeA !== timeB) return timeA < timeB
    const [i, j] = [this.#place(a, S.id), this.#place(b, S.id)]
    return this.#bytes.compare(this.#bytes, j, j + 8, i, i + 8) < 0
  }

  #timeText(span: number): string {
    const written = this.#written[span] as Written
    if ('event' in written) return written.event.ts
    const reading = this.#readings[span] as ByteReading
    return sqlNanos(reading.start ?? reading.time(S.endLow) ?? { ms: 0, ns: 0 })
  }

  #link(span: number, named: number, { organization, retention }: FrameContext): LinkRow {
    const at = this.#place(span, S.trace)
    const hex = this.#bytes.toString('hex', at, at + 16)
    const id = this.#place(span, S.id)
    return {
      ...{ organization, retention },
      trace_id: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`,
      provisional_id: conversationIdOf(organization, hex),
      conversation_id: uuidOfWords(this.#words, span * SPAN_WORDS + W.conversation),
      session_id: this.#sessionText(named),
      depth: this.#place(span, S.parent) < 0 ? 0 : 1,
      started_at: this.#timeText(span),
      span_id: this.#bytes.readBigUInt64BE(id).toString(),
    }
  }

  /** The session as its event has it: '' where it is the conversation's own text. */
  #sessionText(span: number): string {
    const written = this.#written[span] as Written
    if ('event' in written) return written.event.session_id
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
    const written = this.#written[unit] as Written
    if ('event' in written) return hourIn(written.event.ts)
    return hourAt(instantOf(this.#readings[unit] as ByteReading, this.#shared.context.receivedAtMs).ms)
  }

  print(unit: number, into: Uint8Array, at: number): void {
    setNamespace(this.#shared.context.organization)
    putFingerprint(this.#words, unit * SPAN_WORDS + W.event, into, at)
  }

  add(unit: number, into: RowCounts): void {
    const written = this.#written[unit] as Written
    into.events++
    if (this.#sessions[unit] !== null) into.sessions++
    if (this.#links.has(unit)) into.links++
    if ('event' in written) into.texts += written.texts.length
    else if (hasTexts(this.#readings[unit] as ByteReading)) into.texts++
  }

  write(unit: number, encoder: BlockEncoder, origin: Origin, first: RowCounts, home?: Home): void {
    const session = this.#sessions[unit] ?? null
    if (session !== null) encoder.add('sessions', session, { ...origin, origin_index: first.sessions })
    const link = this.#links.get(unit)
    if (link !== undefined) encoder.add('links', link, { ...origin, origin_index: first.links })
    const written = this.#written[unit] as Written
    if ('event' in written) {
      for (const [i, row] of written.texts.entries()) {
        encoder.add('texts', row, { ...origin, origin_index: first.texts + i })
      }
      encoder.add('events', atHome(written.event, home), { ...origin, origin_index: first.events })
      return
    }
    const reading = this.#readings[unit] as ByteReading
    writeSpan({ reading, finished: written.finished, home }, this.#shared, unit * SPAN_WORDS, encoder, origin, first)
  }
}
