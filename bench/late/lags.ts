// When each span is at home -> how long that took since it and the span that revealed its home were acknowledged. Looks are taken all
// the while; a span counts as at home when the answer of the first look that shows it there has come.
import type { Store } from '#store/client.ts'
import { homeOf, type Plan, spanNumberOf, traceOf } from './plan.ts'

/** A trace that is known to be revealed and of which spans are not at home yet. */
interface Open {
  readonly trace: number
  readonly home: string
}

/** Spans of one trace by number, as two halves of 32. */
interface Halves {
  readonly low: Uint32Array
  readonly high: Uint32Array
}

const halves = (traces: number): Halves => ({ low: new Uint32Array(traces), high: new Uint32Array(traces) })
/** Traces that one look asks for. */
const ASKED_MAX = 20_000

/** Follows the spans of a plan home. */
export class Lags {
  readonly #plan: Plan
  readonly #organization: string
  readonly #sent: Halves
  readonly #home: Halves
  /** When a span was acknowledged, by its code, and when its trace was revealed; ms since the beginning, 0 = not yet. */
  readonly #sentAt: Float32Array
  readonly #revealedAt: Float32Array
  readonly #open = new Map<string, Open>()
  /** As `performance.now()` says it. */
  readonly startedAt = performance.now()
  readonly #lags: Float32Array
  #known = 0
  #slowest = { at: 0, lag: 0 }

  constructor(plan: Plan, organization: string) {
    this.#plan = plan
    this.#organization = organization
    this.#sent = halves(plan.traces)
    this.#home = halves(plan.traces)
    this.#sentAt = new Float32Array(plan.traces * 64)
    this.#revealedAt = new Float32Array(plan.traces)
    this.#lags = new Float32Array(plan.pieces.length)
  }

  /** Spans were acknowledged just now. */
  acknowledged(codes: Uint32Array): void {
    const now = performance.now() - this.startedAt
    for (const code of codes) {
      const [trace, span] = [traceOf(code), spanNumberOf(code)]
      this.#sentAt[code] = now
      set(this.#sent, trace, span)
      if (span === this.#plan.naming[trace]) this.#revealedAt[trace] = now
      if (this.#revealedAt[trace] === 0) continue
      const home = homeOf(this.#plan, this.#organization, trace)
      if (!this.#open.has(home)) this.#open.set(home, { trace, home })
    }
  }

  /** Traces that wait for spans of theirs to be at home. */
  get waiting(): number {
    return this.#open.size
  }

  /** Looks which spans of open traces are at home now. @throws when the store is away. */
  async look(store: Store): Promise<void> {
    const asked = [...this.#open.values()].slice(0, ASKED_MAX)
    if (asked.length === 0) return
    // Each row turns the bit of its span: what counts once is one.
    const rows = await store.read<{ id: string; low: number; high: number }>(
      `SELECT conversation_id AS id, groupBitXor(bitShiftLeft(1::UInt64, n)) AS spans, toUInt32(bitAnd(spans, 0xffffffff)) AS low,
         toUInt32(bitShiftRight(spans, 32)) AS high
       FROM (SELECT conversation_id, (span_id % 256)::UInt8 AS n FROM events
         WHERE organization = '${this.#organization}'
           AND conversation_id IN (SELECT id FROM format(TSV, 'id UUID', '${asked.map(one => one.home).join('\n')}')))
       GROUP BY conversation_id`,
      { settings: { max_query_size: '16777216' } },
    )
    const now = performance.now() - this.startedAt
    for (const { id, low, high } of rows) this.#arrived(this.#open.get(id), low >>> 0, high >>> 0, now)
  }

  #arrived(open: Open | undefined, low: number, high: number, now: number): void {
    if (open === undefined) return
    const { trace, home } = open
    const revealed = this.#revealedAt[trace] as number
    for (let span = 1; span < 64; span++) {
      if (!has(this.#sent, trace, span) || has(this.#home, trace, span)) continue
      const bit = span < 32 ? (low >>> span) & 1 : (high >>> (span - 32)) & 1
      if (bit === 0) continue
      set(this.#home, trace, span)
      const lag = now - Math.max(revealed, this.#sentAt[trace * 64 + span] as number)
      this.#lags[this.#known++] = lag
      if (lag > this.#slowest.lag) this.#slowest = { at: now, lag }
    }
    const [sent, there] = [this.#sent, this.#home]
    if (sent.low[trace] === there.low[trace] && sent.high[trace] === there.high[trace]) this.#open.delete(home)
  }

  /** When the latest span since the last time that this was asked came home, and how long it took, ms. */
  takeSlowest(): { readonly at: number; readonly lag: number } {
    const slowest = this.#slowest
    this.#slowest = { at: 0, lag: 0 }
    return slowest
  }

  /** Seconds from what revealed a span's home until it was there, by percentile, from the `from`th span that came home on. */
  told(from = 0): { readonly spans: number; readonly p50: number; readonly p99: number; readonly max: number } {
    const lags = this.#lags.subarray(from, this.#known)
    const sorted = lags.slice().sort()
    const at = (p: number): number =>
      (sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * p) / 100))] ?? 0) / 1000
    return { spans: this.#known, p50: at(50), p99: at(99), max: at(100) }
  }
}

function set({ low, high }: Halves, trace: number, span: number): void {
  const half = span < 32 ? low : high
  half[trace] = ((half[trace] as number) | (1 << (span & 31))) >>> 0
}

function has({ low, high }: Halves, trace: number, span: number): boolean {
  return ((((span < 32 ? low : high)[trace] as number) >>> (span & 31)) & 1) === 1
}
