// What spans of one body reveal about their conversations -> one capture for each that says something new.
import type { SessionRow } from '#proto/rows.ts'
import type { FrameContext } from '../outcome.ts'
import { revealedOf } from '../parsers/otlp/conversation.ts'
import { valueAt } from './content.ts'
import { uuidOfWords } from './hashes.ts'
import { hashOf, sameBytes } from './interned.ts'
import type { Variant } from './metadata.ts'
import type { IdPlan, Plan } from './plan.ts'
import type { ByteReading } from './reading.ts'
import { A, ATTRIBUTE_INTS, Kind, S } from './spans.ts'

/** What was revealed in a body so far; `known` is shared with spans that are read as objects. */
export class Revelations {
  readonly known = new Set<string>()
  /** Spans that revealed something, by what tells most of them apart. */
  readonly #told = new Map<number, ByteReading[]>()

  /** The capture that a span carries, `plain`: one that needs no row; null when it reveals nothing, or nothing new. */
  of(reading: ByteReading, words: Uint32Array, at: number, context: FrameContext): SessionRow | 'plain' | null {
    const plan = reading.plan as Plan
    const variant = reading.variant as Variant
    if (plan.session === null && plan.user === null) return null
    const user = plan.user === null ? 0 : hashAt(reading, plan.user)
    const email = plan.email === null ? 0 : hashAt(reading, plan.email)
    const hash = hashAt(reading, plan.session) ^ Math.imul(user, 31) ^ Math.imul(email, 17)
    const told = this.#told.get(hash)
    if (told === undefined) this.#told.set(hash, [reading])
    else {
      for (let i = 0; i < told.length; i++) if (isSame(told[i] as ByteReading, reading)) return null
      told.push(reading)
    }
    const revealed = revealedOf(
      {
        belonging: {
          conversationId: uuidOfWords(words, at),
          sessionId: textAt(reading, plan.session) ?? traceText(reading),
          provisional: plan.session === null,
          userId: textAt(reading, plan.user) ?? '',
          email: textAt(reading, plan.email) ?? '',
        },
        traits: plan.traits.map(i => [(plan.keys[i]?.key ?? '').slice('user.'.length), valueAt(reading, i)] as const),
        attached: variant.attached.map(([i, name]) => [name, valueAt(reading, i)] as const),
        span: { resource: plan.resource, start: reading.start, end: reading.time(S.endLow) },
      },
      context,
    )
    if (this.known.has(revealed.key)) return null
    this.known.add(revealed.key)
    return variant.capture === null ? revealed.capture() : 'plain'
  }
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

function hashAt({ data, first, bytes, spans, row }: ByteReading, id: IdPlan | null): number {
  if (id === null) return hashOf(bytes, spans[row + S.trace] as number, (spans[row + S.trace] as number) + 16)
  if (id.at < 0) return id.fixed.length
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
  return variantA !== variantB || hasSameAttributes(a, b, planA, variantA)
}

function isSameId(a: ByteReading, idA: IdPlan | null, b: ByteReading, idB: IdPlan | null): boolean {
  if (idA === null || idB === null) return idA === idB
  if (idA.at < 0 || idB.at < 0) return idA.at < 0 && idB.at < 0 && idA.fixed === idB.fixed
  return isSameValue(a, idA.at, b, idB.at)
}

function hasSameAttributes(a: ByteReading, b: ByteReading, { traits }: Plan, { attached }: Variant): boolean {
  for (const i of traits) if (!isSameValue(a, i, b, i)) return false
  for (const [i] of attached) if (!isSameValue(a, i, b, i)) return false
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
