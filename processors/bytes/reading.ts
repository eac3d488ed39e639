// A span that is read by its plan: what neighbours look at and decide, and what is found out when it is finished (finish.ts), without a
// span as an object.
import type { Span, SpanRecords } from '#proto/otlp/span.ts'
import type { Instant } from '#proto/time.ts'
import { amountOf } from '../parsers/amounts.ts'
import type { Said } from '../parsers/otlp/content.ts'
import type { Dialect } from '../parsers/otlp/dialect.ts'
import type { Failure } from '../parsers/otlp/failure.ts'
import type { SpanKind } from '../parsers/otlp/kinds.ts'
import { type Counting, type Lents, type Neighbour, NO_LENTS } from '../parsers/otlp/reading.ts'
import { failureInResult } from '../parsers/otlp/results.ts'
import { asDollars, asTokens, type Reported, wholeUsage } from '../parsers/otlp/usage.ts'
import { NO_USAGE, type Usage } from '../parsers/rows.ts'
import { type Attributes, take, taken, valueAt } from './content.ts'
import { mayTellOfFailure, readFailure } from './failing.ts'
import type { Variant } from './metadata.ts'
import type { AmountPlan, Plan } from './plan.ts'
import { S, SPAN_INTS, type SpanNumbers } from './spans.ts'
import { instantAt } from './times.ts'

const NO_BYTES = Buffer.alloc(0)
const NO_NUMBERS = new Int32Array(0)
const OTHER: SpanKind = { kind: 'other', name: '', type: 'span', typed: false, by: '' }

/** One span; see above. */
export class ByteReading implements Neighbour, Attributes {
  plan: Plan | null = null
  bytes: Buffer = NO_BYTES
  data: Int32Array = NO_NUMBERS
  /** The span in `spans`, and its first attribute in `data`. */
  row = 0
  spans: Int32Array = NO_NUMBERS
  first = 0
  /** Events, links and the like; null = none. */
  records: SpanRecords | null = null
  /** Places of content that were taken in the plan; -1 = none. */
  inputPlace = -1
  outputPlace = -1
  kind: SpanKind = OTHER
  model = ''
  provider = ''
  reported: Reported | null = null
  failure: Failure | null = null
  carried = false
  input: Said | null = null
  output: Said | null = null
  counting: Counting = 'none'
  sameAs = ''
  lent: Lents = NO_LENTS
  /** What `finish` found. */
  variant: Variant | null = null
  usage: Usage = NO_USAGE
  costBits = 0
  costNanos = 0
  /** Remark about the price: key and text; null = none. */
  note: readonly [key: string, text: string] | null = null
  /** Why there is no price, as it is counted; '' = there is one, or nothing to be priced. */
  unpriced = ''

  /** Reads the span at `span` of a table by its plan. */
  read(plan: Plan, table: SpanNumbers, span: number, bytes: Buffer, records: SpanRecords | null): void {
    this.begin(plan, table, span * SPAN_INTS, bytes)
    this.records = records
    if (plan.failing !== null) this.failure = readFailure(plan.failing, records?.events ?? [])
    this.carried = this.failure !== null && plan.passesOn
    this.input = take(plan, 'input', this)
    this.inputPlace = taken
    this.output = take(plan, 'output', this)
    this.outputPlace = taken
    if (this.failure === null && plan.kind.kind === 'tool' && mayTellOfFailure(this.output)) {
      this.failure = failureInResult(this.output, plan.dialects)
    }
    this.reported = plan.usage === null ? null : this.#reported(plan.usage)
  }

  /** What the plan alone says. */
  begin(plan: Plan, table: SpanNumbers, row: number, bytes: Buffer): void {
    this.plan = plan
    this.bytes = bytes
    this.data = table.attributes
    this.spans = table.spans
    this.row = row
    this.first = this.spans[row + S.firstAttribute] as number
    this.kind = plan.kind
    this.model = plan.model
    this.provider = plan.provider
    this.failure = plan.failure
    this.carried = plan.failure !== null && plan.passesOn
  }

  #reported({ amounts, convention, fields }: NonNullable<Plan['usage']>): Reported {
    const sent: Usage = {
      inputTokens: this.#amount(amounts[0] ?? null),
      outputTokens: this.#amount(amounts[1] ?? null),
      cacheReadTokens: this.#amount(amounts[2] ?? null),
      cacheWriteTokens: this.#amount(amounts[3] ?? null),
      reasoningTokens: this.#amount(amounts[4] ?? null),
      costNanos: this.#amount(amounts[5] ?? null),
    }
    return { usage: wholeUsage(sent, convention), fields }
  }

  #amount(plan: AmountPlan | null): number | null {
    if (plan === null) return null
    if (plan.positions.length === 0) return plan.fixed
    let sum = 0
    for (const at of plan.positions) sum += amountOf(valueAt(this, at)) ?? 0
    return plan.field === 'cost' ? asDollars(sum) : asTokens(sum)
  }

  // ---- what neighbours ask ---------------------------------------------------------------------------------------------

  get facts(): Neighbour['facts'] {
    return this
  }

  get span(): Pick<Span, 'name' | 'spanId' | 'start'> {
    return this
  }

  get dialects(): Dialect[] {
    return (this.plan as Plan).dialects as Dialect[]
  }

  get name(): string {
    return (this.plan as Plan).name
  }

  get spanId(): string {
    const at = this.spans[this.row + S.id] as number
    return this.bytes.toString('hex', at, at + 8)
  }

  get start(): Instant | null {
    return this.time(S.startLow)
  }

  /** The time whose halves stand at `field`. */
  time(field: number): Instant | null {
    return instantAt(this.spans, this.row, field)
  }

  has(key: string): boolean {
    const at = (this.plan as Plan).positions.get(key)
    if (at === undefined) return false
    const value = valueAt(this, at)
    return value !== null && value !== ''
  }

  text(key: string): string {
    const at = (this.plan as Plan).positions.get(key)
    const value = at === undefined ? null : valueAt(this, at)
    return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
  }
}
