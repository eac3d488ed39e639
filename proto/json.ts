// JSON that someone else shaped: bytes to values and values to text, without exceptions and without merging keys.
import { isUtf8 } from 'node:buffer'

/** A JSON object whose keys were chosen by a sender: read by name only, never merged into another. */
export type JsonObject = { readonly [key: string]: unknown }

/** What `jsonText` says of a value that cannot be written. */
export const UNWRITABLE = '[nested too deeply]'

/** True for an object that is no array, and no number that kept its digits (see `readExactJson`). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJSON(value)
}

/** A value, or why there is none. */
export type ReadJson = { readonly value: unknown } | { readonly reason: string }

/** The value of a body. */
export function readJson(body: Uint8Array): ReadJson {
  return readBody(body, JSON.parse)
}

/**
 * The value of a body whose whole numbers keep their digits: one that a double would round is what `JSON.rawJSON` makes of it, which
 * `jsonText` writes as it was sent and `digitsOf` tells.
 */
export function readExactJson(body: Uint8Array): ReadJson {
  return readBody(body, parseExactly)
}

function readBody(body: Uint8Array, parse: (text: string) => unknown): ReadJson {
  if (body.length === 0) return { reason: 'the body is empty' }
  if (!isUtf8(body)) return { reason: 'the body is not UTF-8' }
  try {
    return { value: parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')) }
  } catch (error) {
    // The engine quotes the body in its message; only the position is passed on.
    const position = /position (\d+)/.exec(String(error))?.[1]
    return { reason: position === undefined ? 'the JSON ends too early' : `no JSON at character ${position}` }
  }
}

/** The value of a text, undefined when it is no JSON. */
export function readJsonText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The same of a text, as `readExactJson` reads bodies. */
export function readExactJsonText(text: string): unknown {
  try {
    return parseExactly(text)
  } catch {
    return undefined
  }
}

/** Of the language, and not yet of the compiler's library. */
const { isRawJSON, rawJSON } = JSON as JSON & {
  rawJSON(text: string): object
  isRawJSON(value: unknown): value is { readonly rawJSON: string }
}
type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown
const parseWith = JSON.parse as (text: string, reviver: Reviver) => unknown

/** A whole number that a double may not hold, where one can begin. In a text that looks like it, it costs a second look. */
const LONG_INTEGER = /(?:^|[:,[\s])-?\d{16}/

/** The value of a text, in which whole numbers keep their digits. @throws SyntaxError for what is no JSON. */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!LONG_INTEGER.test(text)) return value
  try {
    return parseWith(text, keepDigits)
  } catch {
    // Parsing nests without limit, but asking for every value runs out of stack.
    return value
  }
}

const keepDigits: Reviver = (_key, value, { source = '' }) =>
  typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? rawJSON(source) : value

/** The digits of a whole number that kept them; null for every other value. */
export function digitsOf(value: unknown): string | null {
  return isRawJSON(value) ? value.rawJSON : null
}

/** JSON text of a value that came from JSON. Parsing nests without limit but writing runs out of stack: then UNWRITABLE. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null'
  } catch {
    return UNWRITABLE
  }
}
