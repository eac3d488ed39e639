// Readings that only wait to be written -> numbers. A range holds tens of thousands of spans until its owner has judged them; as objects
// they would all be moved by the garbage collector, again and again.
import type { Said } from '../parsers/otlp/content.ts'
import { type Counting, NO_LENTS } from '../parsers/otlp/reading.ts'
import { NO_USAGE, type Usage } from '../parsers/rows.ts'
import { Excerpt } from './content.ts'
import type { Variant } from './metadata.ts'
import type { Plan } from './plan.ts'
import { ByteReading } from './reading.ts'
import { SPAN_INTS, type SpanNumbers } from './spans.ts'

/** How spans of a body are written that are read by one plan and of which the same was decided. */
interface Way {
  readonly plan: Plan
  readonly variant: Variant
  readonly inputPlace: number
  readonly outputPlace: number
}

const K = {
  way: 0,
  inputFrom: 1,
  inputTo: 2,
  inputAscii: 3,
  outputFrom: 4,
  outputTo: 5,
  outputAscii: 6,
  counting: 7,
  costBits: 8,
} as const
const KEPT_INTS = 9
/** Five counts, and the cost. */
const KEPT_AMOUNTS = 6
/** What stands for a text that there is none, and for one that is no excerpt. */
const NO_TEXT = -1
const ELSEWHERE = -2
const NO_AMOUNT = -1

/** Ways of a body that are compared: it has few, and one that is noted twice costs nothing but its room. */
const WAYS_TRIED = 16

const countings: readonly Counting[] = [
  ...(['none', 'counted', 'own', 'repeated below', 'repeated always', 'a step', 'same call'] as const),
]

/** What `at` answers with, filled anew each time. */
const scratch = new ByteReading()
const scratchUsage: { -readonly [K in keyof Usage]: Usage[K] } = { ...NO_USAGE }
const scratchInput = new Excerpt(scratch.bytes, 0, 0, true, '', null)
const scratchOutput = new Excerpt(scratch.bytes, 0, 0, true, '', null)

/** The readings of one body. */
export class KeptReadings {
  readonly #table: SpanNumbers
  readonly #bytes: Buffer
  readonly #ints: Int32Array
  readonly #amounts: Float64Array
  readonly #ways: Way[] = []
  readonly #notes: ByteReading['note'][]
  /** Texts that are no excerpts, twice the span, and one more for an output; readings that are more than their plan says. */
  #texts: Map<number, Said> | null = null
  #whole: Map<number, ByteReading> | null = null

  constructor(table: SpanNumbers, bytes: Buffer) {
    this.#table = table
    this.#bytes = bytes
    this.#ints = new Int32Array(table.count * KEPT_INTS)
    this.#amounts = new Float64Array(table.count * KEPT_AMOUNTS)
    this.#notes = new Array<ByteReading['note']>(table.count).fill(null)
  }

  /** Keeps the reading of a span. Precondition: it is finished. */
  keep(span: number, reading: ByteReading): void {
    const { plan, usage } = reading
    if (plan === null || !isPlain(reading, plan)) {
      this.#whole ??= new Map()
      this.#whole.set(span, reading)
      return
    }
    const at = span * KEPT_INTS
    const ints = this.#ints
    ints[at + K.way] = this.#wayOf(reading, plan)
    this.#keepText(2 * span, at + K.inputFrom, reading.input)
    this.#keepText(2 * span + 1, at + K.outputFrom, reading.output)
    ints[at + K.counting] = countings.indexOf(reading.counting)
    ints[at + K.costBits] = reading.costBits
    const amounts = this.#amounts
    const first = span * KEPT_AMOUNTS
    amounts[first] = usage.inputTokens ?? NO_AMOUNT
    amounts[first + 1] = usage.outputTokens ?? NO_AMOUNT
    amounts[first + 2] = usage.cacheReadTokens ?? NO_AMOUNT
    amounts[first + 3] = usage.cacheWriteTokens ?? NO_AMOUNT
    amounts[first + 4] = usage.reasoningTokens ?? NO_AMOUNT
    amounts[first + 5] = reading.costNanos
    if (reading.note !== null) this.#notes[span] = reading.note
  }

  /** The reading as it is written; it holds until the next is asked for, of whichever body. */
  at(span: number): ByteReading {
    const whole = this.#whole?.get(span)
    if (whole !== undefined) return whole
    const at = span * KEPT_INTS
    const ints = this.#ints
    const { plan, variant, inputPlace, outputPlace } = this.#ways[ints[at + K.way] as number] as Way
    const reading = scratch
    reading.begin(plan, this.#table, span * SPAN_INTS, this.#bytes)
    reading.variant = variant
    reading.inputPlace = inputPlace
    reading.outputPlace = outputPlace
    reading.input = this.#textAt(2 * span, at + K.inputFrom, scratchInput)
    reading.output = this.#textAt(2 * span + 1, at + K.outputFrom, scratchOutput)
    reading.counting = countings[ints[at + K.counting] as number] as Counting
    reading.costBits = ints[at + K.costBits] as number
    this.#putAmounts(reading, span * KEPT_AMOUNTS)
    reading.note = this.#notes[span] ?? null
    return reading
  }

  #putAmounts(reading: ByteReading, first: number): void {
    const amounts = this.#amounts
    const usage = scratchUsage
    usage.inputTokens = amountOf(amounts[first] as number)
    usage.outputTokens = amountOf(amounts[first + 1] as number)
    usage.cacheReadTokens = amountOf(amounts[first + 2] as number)
    usage.cacheWriteTokens = amountOf(amounts[first + 3] as number)
    usage.reasoningTokens = amountOf(amounts[first + 4] as number)
    reading.usage = usage
    reading.costNanos = amounts[first + 5] as number
  }

  #wayOf({ variant, inputPlace, outputPlace }: ByteReading, plan: Plan): number {
    const ways = this.#ways
    for (let i = ways.length - 1; i >= 0 && i >= ways.length - WAYS_TRIED; i--) {
      const way = ways[i] as Way
      if (way.variant !== variant || way.plan !== plan) continue
      if (way.inputPlace === inputPlace && way.outputPlace === outputPlace) return i
    }
    return ways.push({ plan, variant: variant as Variant, inputPlace, outputPlace }) - 1
  }

  #keepText(key: number, at: number, said: Said | null): void {
    if (said === null) this.#ints[at] = NO_TEXT
    else if (said instanceof Excerpt && said.structure === null && said.words && said.bytes === this.#bytes) {
      this.#ints[at] = said.start
      this.#ints[at + 1] = said.end
      this.#ints[at + 2] = said.ascii ? 1 : 0
    } else {
      this.#ints[at] = ELSEWHERE
      this.#texts ??= new Map()
      this.#texts.set(key, said)
    }
  }

  #textAt(key: number, at: number, into: Excerpt): Said | null {
    const from = this.#ints[at] as number
    if (from === NO_TEXT) return null
    if (from === ELSEWHERE) return this.#texts?.get(key) ?? null
    return into.move(this.#bytes, from, this.#ints[at + 1] as number, this.#ints[at + 2] === 1)
  }
}

const amountOf = (amount: number): number | null => (amount === NO_AMOUNT ? null : amount)

/** True for what is as its plan says it: no neighbour gave it anything, and it carries no records. */
function isPlain(reading: ByteReading, plan: Plan): boolean {
  const { kind, model, provider, failure, carried, lent, sameAs, records } = reading
  return (
    kind === plan.kind &&
    model === plan.model &&
    provider === plan.provider &&
    failure === plan.failure &&
    carried === (failure !== null && plan.passesOn) &&
    lent === NO_LENTS &&
    sameAs === '' &&
    records === null
  )
}
