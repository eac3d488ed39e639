// A span while its batch is being read: what it says alone, and what its neighbours add.
import type { Span } from '#proto/otlp/span.ts'
import type { Said } from './content.ts'
import type { Belonging } from './conversation.ts'
import type { Facts } from './facts.ts'
import type { Failure } from './failure.ts'
import type { SpanKind } from './kinds.ts'
import type { Reported } from './usage.ts'

/** What became of the usage that a span reports; see sums.ts. */
export type Counting = 'counted' | 'own' | 'repeated below' | 'repeated always' | 'a step' | 'same call' | 'none'

/** A text that a call took over from another span that tells the same call. */
export interface Lent {
  readonly said: Said
  /** The span, in hex. */
  readonly spanId: string
}

/** Texts that came from such a span, by side. */
export interface Lents {
  readonly input: Lent | null
  readonly output: Lent | null
}

export const NO_LENTS: Lents = { input: null, output: null }

/** What neighbours look at in a span, and what they decide about it. */
export interface Neighbour {
  readonly facts: Pick<Facts, 'dialects' | 'has' | 'text'> & { readonly span: Pick<Span, 'name' | 'spanId' | 'start'> }
  kind: SpanKind
  model: string
  provider: string
  reported: Reported | null
  failure: Failure | null
  /** Its failure is that of another span, which is counted for it. */
  carried: boolean
  input: Said | null
  output: Said | null
  counting: Counting
  lent: Lents
  /** The span that stands for the same call of a tool or a model, in hex; '' when this one does. */
  sameAs: string
}

/** One span of a batch. Fields that neighbours decide are filled in later. */
export interface SpanReading extends Neighbour {
  readonly facts: Facts
  readonly belonging: Belonging
}

/** Gives a span the text of another. The messages themselves stay with the span that had them, a body of its own with it. */
export function lend(to: Neighbour, side: 'input' | 'output', from: Neighbour): void {
  const said = from[side]
  if (said === null) return
  const { spanId } = from.facts.span
  to.lent = { ...to.lent, [side]: { said, spanId } }
  const own = to[side]
  const structure = own === null ? null : (own.structure ?? { key: own.from, json: own.text })
  const origin = `${said.from} of span ${spanId}`
  to[side] = said.lent?.(structure, origin) ?? { ...said, structure, from: origin }
}
