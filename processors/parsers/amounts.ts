// Numbers that senders write in many ways -> the integers that are stored. Anything that is no amount is null, never 0.

import { digitsOf } from '#proto/json.ts'

/** Largest stored amount: every whole number up to it is a double. */
const MAX = Number.MAX_SAFE_INTEGER

/** A finite number ≥ 0, also from text. */
export function amountOf(sent: unknown): number | null {
  const value = digitsOf(sent) ?? sent
  const number = typeof value === 'string' && /^\s*[+-]?[\d.]/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : null
}

/** A count of tokens. */
export function tokensOf(value: unknown): number | null {
  const amount = amountOf(value)
  return amount === null ? null : Math.min(MAX, Math.round(amount))
}

/** Billionths of a dollar from dollars. */
export function nanoDollarsOf(value: unknown): number | null {
  const amount = amountOf(value)
  return amount === null ? null : Math.min(MAX, Math.round(amount * 1e9))
}

/** Nanoseconds from milliseconds. */
export function nanosOfMs(value: unknown): number | null {
  const amount = amountOf(value)
  return amount === null ? null : Math.min(MAX, Math.round(amount * 1e6))
}
