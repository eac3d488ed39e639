// What spans of one body reveal about their conversations -> one capture for each that says something new.
import type { Value } from '#proto/otlp/span.ts'
import type { SessionRow } from '#proto/rows.ts'
import type { FrameContext } from '../outcome.ts'
import { type Revealing, revealedCapture, revealedKey } from '../parsers/otlp/conversation.ts'
import { carriedValue } from '../parsers/otlp/keys.ts'
import { valueAt } from './content.ts'
import { uuidOfWords } from './hashes.ts'
import { hashOf, sameBytes } from './interned.ts'
import type { Variant } from './metadata.ts'
import type { IdPlan, Plan } from './plan.ts'
import type { ByteReading } from './reading.ts'
import { A, ATTRIBUTE_INTS, Kind, S } from './spans.ts'

/** A span that revealed something; `at`: where the words of its conversation stand. */
interface Told {
  readonly reading: ByteReading
  readonly at: number
}

/** What was revealed in a body so far. */
export class Revelations {
  readonly #words: Uint32Array
  readonly #context: FrameContext
  /** Spans that revealed something, by what is equal for those who reveal the same. */
  readonly #told = new Map<number, Told[]>()
  /** Keys of what was revealed, without those of spans that nobody had to be compared with yet. */
  readonly #keys = new Set<string>()
  #alone: Told[] = []

  /** `words`: those of all spans of the body. */
  constructor(words: Uint32Array, context: FrameContext) {
    this.#words = words
    this.#context = context
  }

  /** The capture that a span carries, `plain`: one that needs no row; null when it reveals nothing, or nothing new. */
  of(reading: ByteReading, at: number): SessionRow | 'plain' | null {
    const plan = reading.plan as Plan
    const { capture } = reading.variant as Variant
    if (plan.session === null && plan.user === null) return null
    const hash = this.#hashOf(reading, at)
    const told = this.#told.get(hash)
    const one = { reading, at }
    if (told === undefined) this.#told.set(hash, [one])
    else {
      for (let i = 0; i < told.length; i++) if (isSame((told[i] as Told).reading, reading)) return null
      told.push(one)
    }
    if (told === undefined && this.#keys.size === 0) this.#alone.push(one)
    else if (!this.isNews(revealedKey(this.#revealing(one)))) return null
    return capture === null ? revealedCapture(this.#revealing(one), this.#context) : 'plain'
  }

  /** True for the key of what was not revealed before; it is from now on. */
  isNews(key: string): boolean {
    for (const one of this.#alone) this.#keys.add(revealedKey(this.#revealing(one)))
    this.#alone = []
    if (this.#keys.has(key)) return false
    this.#keys.add(key)
    return true
  }

  #hashOf(reading: ByteReading, at: number): number {
    const words = this.#words
    const { user, email } = reading.plan as Plan
    const ids = Math.imul(hashAt(reading, user), 31) ^ Math.imul(hashAt(reading, email), 17)
    return ids ^ (words[at] as number) ^ Math.imul(words[at + 1] as number, 5) ^ Math.imul(words[at + 3] as number, 7)
  }

  #revealing({ reading, at }: Told): Revealing {
    const plan = reading.plan as Plan
    return {
      belonging: {
        conversationId: uuidOfWords(this.#words, at),
        sessionId: textAt(reading, plan.session) ?? traceText(reading),
        provisional: plan.session === null,
        userId: textAt(reading, plan.user) ?? '',
        email: textAt(reading, plan.email) ?? '',
      },
      traits: plan.traits.map(i => [(plan.keys[i]?.key ?? '').slice('user.'.length), valueAt(reading, i)] as const),
      attached: (reading.variant as Variant).attached.map(([i, name]) => [name, carriedAt(plan, reading, i)] as const),
      span: { resource: plan.resource, start: reading.start, end: reading.time(S.endLow) },
    }
  }
}

function carriedAt({ keys }: Plan, reading: ByteReading, i: number): Value {
  const value = valueAt(reading, i)
  const info = keys[i]
  return info === undefined ? value : carriedValue(info.facts, value)
}

function traceText({ bytes, spans, row }: ByteReading): string {
  const at = spans[row + S.trace] as number
  return bytes.toString('hex', at, at + 16)
}

/** The text of an id; null when there is none. */
export function textAt(reading: ByteReading, id: IdPlan | null): string | null {
  if (id === null) return null
  return id.at < 0 ? id.fixed : (valueAt(reading, id.at) as string)
}

/** Equal for equal texts, wherever they stand. */
function hashAt({ data, first, bytes }: ByteReading, id: IdPlan | null): number {
  if (id === null) return 0
  if (id.at < 0) return id.hash
  const at = (first + id.at) * ATTRIBUTE_INTS
  return hashOf(bytes, data[at + A.x] as number, data[at + A.y] as number)
}

/** True when both reveal the same. False where that is only unlikely: then the whole revelation is compared. */
function isSame(a: ByteReading, b: ByteReading): boolean {
  const [planA, planB] = [a.plan as Plan, b.plan as Plan]
  const [variantA, variantB] = [a.variant as Variant, b.variant as Variant]
  if (variantA.reveals !== variantB.reveals) return false
  if (planA.session === null && planB.session === null) {
    if (traceText(a) !== traceText(b)) return false
  } else if (!isSameId(a, planA.session, b, planB.session)) return false
  if (!isSameId(a, planA.user, b, planB.user) || !isSameId(a, planA.email, b, planB.email)) return false
  return areSame(a, planA.traits, b, planB.traits) && areAttachedSame(a, variantA.attached, b, variantB.attached)
}

function isSameId(a: ByteReading, idA: IdPlan | null, b: ByteReading, idB: IdPlan | null): boolean {
  if (idA === null || idB === null) return idA === idB
  if (idA.at < 0 || idB.at < 0) return idA.at < 0 && idB.at < 0 && idA.fixed === idB.fixed
  return isSameValue(a, idA.at, b, idB.at)
}

/** Precondition: as many of the one as of the other. */
function areSame(a: ByteReading, ofA: readonly number[], b: ByteReading, ofB: readonly number[]): boolean {
  for (let i = 0; i < ofA.length; i++) if (!isSameValue(a, ofA[i] as number, b, ofB[i] as number)) return false
  return true
}

function areAttachedSame(a: ByteReading, ofA: Variant['attached'], b: ByteReading, ofB: Variant['attached']): boolean {
  for (let i = 0; i < ofA.length; i++) {
    const [[inA], [inB]] = [ofA[i], ofB[i]] as [Variant['attached'][0], Variant['attached'][0]]
    if (!isSameValue(a, inA, b, inB)) return false
  }
  return true
}

function isSameValue(a: ByteReading, i: number, b: ByteReading, j: number): boolean {
  const rowA = (a.first + i) * ATTRIBUTE_INTS
  const rowB = (b.first + j) * ATTRIBUTE_INTS
  const kind = a.data[rowA + A.kind] as number
  const [x, y] = [a.data[rowA + A.x] as number, a.data[rowA + A.y] as number]
  const [u, v] = [b.data[rowB + A.x] as number, b.data[rowB + A.y] as number]
  if (b.data[rowB + A.kind] !== kind) return false
  if (kind !== Kind.text && kind !== Kind.structure) return x === u && y === v
  return y - x === v - u && sameBytes(a.bytes, x, y, b.bytes, u)
}
