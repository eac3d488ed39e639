// Traces of 2 to 60 spans in pieces: the root last in a third of them and never in a hundredth, the session on any span, a user on any
// span of every second one. A seed says all of it; a span is a few bits, so that millions fit into memory.

import { conversationIdOf } from '#proto/ids.ts'
import { fractionsOf } from '#runtime/seeded.ts'
import { type SpanFields, sessionOf } from './spans.ts'

const SPANS = { from: 2, to: 60 }
/** Numbers of spans in a code. */
const CODES = 64
/** A piece is its time in the plan, in steps, and its code: exact in a double. */
const CODE_SPACE = 2 ** 24
const STEPS = 2 ** 28
const USERS = 1_000

/** What is sent, in which order, and where it belongs. */
export interface Plan {
  readonly traces: number
  /** Codes of spans, in the order in which they are sent. */
  readonly pieces: Uint32Array
  /** By trace: its spans that are sent, and its spans that name the session and the user; 0 = none does. */
  readonly sent: Uint8Array
  readonly naming: Uint8Array
  readonly telling: Uint8Array
}

/** The code of a span, and back. */
export const codeOf = (trace: number, span: number): number => trace * CODES + span
export const traceOf = (code: number): number => Math.floor(code / CODES)
export const spanNumberOf = (code: number): number => code % CODES

/** Which conversation the spans of a trace belong to. */
export function homeOf(plan: Plan, organization: string, trace: number): string {
  const text = plan.naming[trace] === 0 ? (trace + 1).toString(16).padStart(32, '0') : sessionOf(trace)
  return conversationIdOf(organization, text)
}

/** What a span says. */
export function fieldsOf(plan: Plan, trace: number, span: number): SpanFields {
  return {
    ...(span === plan.naming[trace] ? { session: sessionOf(trace) } : {}),
    ...(span === plan.telling[trace] ? { user: userOf(trace) } : {}),
  }
}

/** The user of a trace, where one is told. */
export const userOf = (trace: number): string => `user ${trace % USERS}`

/** The plan of a seed. Pieces of one trace come among those of many others, within a twentieth of the whole. */
export function planOf(traces: number, seed: number): Plan {
  if (traces * CODES > CODE_SPACE) throw new Error(`more than ${CODE_SPACE / CODES} traces`)
  const random = fractionsOf(seed)
  const [sent, naming, telling] = [new Uint8Array(traces), new Uint8Array(traces), new Uint8Array(traces)]
  const keys: number[] = []
  for (let trace = 0; trace < traces; trace++) {
    const spans = SPANS.from + Math.floor(random() * (SPANS.to - SPANS.from + 1))
    const kind = random()
    const without = kind < 0.01 ? 1 : 0
    const last = kind < 0.01 + 1 / 3
    const named = 1 + Math.floor(random() * spans)
    const user = random() < 0.5 ? 1 + Math.floor(random() * spans) : 0
    naming[trace] = named > without ? named : 0
    telling[trace] = user > without ? user : 0
    sent[trace] = spans - without
    const begins = random()
    for (let span = 1 + without; span <= spans; span++) {
      const at = (begins + (span === 1 && last ? 1 : random()) / 20) / 1.05
      keys.push(Math.floor(at * (STEPS - 1)) * CODE_SPACE + codeOf(trace, span))
    }
  }
  return {
    traces,
    pieces: Uint32Array.from(Float64Array.from(keys).sort(), key => key % CODE_SPACE),
    sent,
    naming,
    telling,
  }
}
