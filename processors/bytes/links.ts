// The spans of one body -> at most one link for each trace: whose conversation it is, by the span that says so best, as
// parsers/otlp/links.ts finds it. Rows are made where somebody asks for them: a range without spans to be placed never does.
import type { LinkRow, Origin } from '#proto/rows.ts'
import { sqlNanos } from '#proto/time.ts'
import type { BlockEncoder } from '../encoder.ts'
import type { SpanRows } from '../parsers/otlp/unit.ts'
import { uuidOfWords } from './hashes.ts'
import { setNamespace, traceConversationWords } from './ids.ts'
import { sameBytes } from './interned.ts'
import type { KeptReadings } from './kept.ts'
import type { Plan } from './plan.ts'
import { textAt } from './reveal.ts'
import { S, SPAN_INTS, type SpanNumbers } from './spans.ts'
import { msAt, nsAt, placeOfTime } from './times.ts'
import { addOrigin, addSpanId, Flag, type Shared, SPAN_WORDS, W } from './write.ts'

/** The spans of a body, as far as links look at them. */
interface Spans {
  readonly table: SpanNumbers
  readonly bytes: Buffer
  readonly shared: Shared
  /** Rows of spans that were read as objects. */
  readonly rows: readonly (SpanRows | undefined)[]
  readonly kept: KeptReadings
}

interface Best {
  span: number
  /** The span whose session's name is told. */
  named: number
}

const scratch = new Uint32Array(8)

/** See above. */
export class SpanLinks {
  readonly #spans: Spans
  /** By span; empty where no trace has one. */
  readonly #best: readonly (Best | undefined)[]

  constructor(spans: Spans) {
    this.#spans = spans
    this.#best = this.#found()
  }

  has(span: number): boolean {
    return this.#best[span] !== undefined
  }

  #found(): readonly (Best | undefined)[] {
    const { table, bytes } = this.#spans
    const byTrace = new Map<string, Best>()
    let [before, known]: [number, Best | undefined] = [-1, undefined]
    for (let i = 0; i < table.count; i++) {
      if (((this.#word(i, W.flags) as number) & (Flag.provisional | Flag.nobodys)) !== 0) continue
      const at = this.#place(i, S.trace)
      // Spans of one trace stand together.
      if (before < 0 || !sameBytes(bytes, at, at + 16, bytes, before)) {
        const trace = bytes.toString('latin1', at, at + 16)
        before = at
        known = byTrace.get(trace)
        if (known === undefined) {
          known = { span: i, named: i }
          byTrace.set(trace, known)
          continue
        }
      }
      if (known === undefined || !this.#isBefore(i, known.span)) continue
      // The session stays named as it was first, as long as it is the same conversation.
      if (!this.#isSameConversation(i, known.named)) known.named = i
      known.span = i
    }
    const bySpan: (Best | undefined)[] = new Array<Best | undefined>(byTrace.size > 0 ? table.count : 0)
    for (const best of byTrace.values()) bySpan[best.span] = best
    return bySpan
  }

  #place(span: number, field: number): number {
    return this.#spans.table.spans[span * SPAN_INTS + field] as number
  }

  #word(span: number, field: number): number {
    return this.#spans.shared.words[span * SPAN_WORDS + field] as number
  }

  #isSameConversation(a: number, b: number): boolean {
    for (let k = 0; k < 4; k++)
      if (this.#word(a, W.conversation + k) !== this.#word(b, W.conversation + k)) return false
    return true
  }

  #isBefore(a: number, b: number): boolean {
    const [rootA, rootB] = [this.#place(a, S.parent) < 0, this.#place(b, S.parent) < 0]
    if (rootA !== rootB) return rootA
    const order = this.#compareTimes(a, b)
    if (order !== 0) return order < 0
    const { bytes } = this.#spans
    const [i, j] = [this.#place(a, S.id), this.#place(b, S.id)]
    return bytes.compare(bytes, j, j + 8, i, i + 8) < 0
  }

  /** Below zero when the first is the earlier one. */
  #compareTimes(a: number, b: number): number {
    const { rows } = this.#spans
    if (rows[a] === undefined && rows[b] === undefined) {
      const { spans } = this.#spans.table
      const [rowA, rowB] = [a * SPAN_INTS, b * SPAN_INTS]
      const [fieldA, fieldB] = [placeOfTime(spans, rowA), placeOfTime(spans, rowB)]
      const ms = msAt(spans, rowA, fieldA) - msAt(spans, rowB, fieldB)
      return ms !== 0 ? ms : nsAt(spans, rowA, fieldA) - nsAt(spans, rowB, fieldB)
    }
    const [first, second] = [this.#timeText(a), this.#timeText(b)]
    return first < second ? -1 : first === second ? 0 : 1
  }

  #timeText(span: number): string {
    const { rows, table } = this.#spans
    const event = rows[span]?.event
    if (event !== undefined) return event.ts
    const row = span * SPAN_INTS
    const field = placeOfTime(table.spans, row)
    return sqlNanos({ ms: msAt(table.spans, row, field), ns: nsAt(table.spans, row, field) })
  }

  /** The session as its event has it: '' where it is the conversation's own text. */
  #sessionText(span: number): string {
    const { rows, kept } = this.#spans
    const found = rows[span]
    if (found !== undefined) return found.event.session_id
    if ((this.#word(span, W.flags) & Flag.ownText) !== 0) return ''
    const reading = kept.at(span)
    return textAt(reading, (reading.plan as Plan).session) ?? ''
  }

  /** The stand-in for the conversation of the span's trace, from the fifth word of `scratch` on; before it the trace. */
  #standIn(span: number): void {
    const { bytes, shared } = this.#spans
    const at = this.#place(span, S.trace)
    for (let i = 0; i < 4; i++) scratch[i] = bytes.readUInt32BE(at + 4 * i)
    setNamespace(shared.context.organization)
    traceConversationWords(bytes, at, scratch, 4)
  }

  /** The link that a span tells; undefined when it tells none. */
  of(span: number): LinkRow | undefined {
    const best = this.#best[span]
    if (best === undefined) return undefined
    const { bytes, shared } = this.#spans
    const { organization, retention } = shared.context
    this.#standIn(span)
    return {
      organization,
      retention,
      trace_id: uuidOfWords(scratch, 0),
      provisional_id: uuidOfWords(scratch, 4),
      conversation_id: uuidOfWords(shared.words, span * SPAN_WORDS + W.conversation),
      session_id: this.#sessionText(best.named),
      depth: this.#place(span, S.parent) < 0 ? 0 : 1,
      started_at: this.#timeText(span),
      span_id: bytes.readBigUInt64BE(this.#place(span, S.id)).toString(),
    }
  }

  /** Writes the link that a span tells, when it tells one: what `of` says. `origin` is that of its row. */
  write(span: number, encoder: BlockEncoder, origin: Origin): void {
    const best = this.#best[span]
    if (best === undefined) return
    const { table, bytes, shared, rows } = this.#spans
    const c = encoder.row('links', shared.context.retention, 0)
    this.#standIn(span)
    c.organization.addFrom(shared.organization, 0)
    c.trace_id.addFrom(scratch, 0)
    c.provisional_id.addFrom(scratch, 4)
    c.conversation_id.addFrom(shared.words, span * SPAN_WORDS + W.conversation)
    c.session_id.add(this.#sessionText(best.named))
    c.depth.add(this.#place(span, S.parent) < 0 ? 0 : 1)
    const event = rows[span]?.event
    if (event !== undefined) c.started_at.add(event.ts)
    else {
      const row = span * SPAN_INTS
      const at = row + placeOfTime(table.spans, row)
      c.started_at.push(table.spans[at] as number, table.spans[at + 1] as number)
    }
    addSpanId(c.span_id, bytes, this.#place(span, S.id))
    c.retention.add(shared.context.retention)
    addOrigin(c, origin)
  }
}
