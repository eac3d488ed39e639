// Ids that carry a number: what is sent and what the store returns meet by it, so that a million events need no map of ids.

/** Kinds of ids; each counts from 0 for itself. */
export const IdKind = { event: 0, session: 1, call: 2, trace: 3 } as const
export type IdKind = (typeof IdKind)[keyof typeof IdKind]

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0')

/** The number as the last twelve digits of an id write it. */
export const digitsOf = (n: number): string => hex(n, 12)

/** A uuid of the run `tag` (32 bits, which tells ours from those that a receiver makes). */
export function uuidOf(tag: number, kind: IdKind, n: number): string {
  return `${prefixOf(tag)}-4000-80${hex(kind, 2)}-${digitsOf(n)}`
}

/** How every id of the run begins. */
export function prefixOf(tag: number): string {
  return `${hex(tag, 8)}-570a`
}

/** A trace id: the same number without dashes. */
export const traceIdOf = (tag: number, n: number): string => uuidOf(tag, IdKind.trace, n).replaceAll('-', '')

/** A span id, never zero; the spaces of both encodings count for themselves. */
export const spanIdOf = (encoding: 'json' | 'protobuf', n: number): string => SPAN_PREFIX[encoding] + digitsOf(n)

/** How span ids begin. */
export const SPAN_PREFIX = { json: '570a', protobuf: '570b' } as const
