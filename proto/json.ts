// JSON that someone else shaped: bytes to values and values to text, without exceptions and without merging keys.
import { isUtf8 } from 'node:buffer'

/** A JSON object whose keys were chosen by a sender: read by name only, never merged into another. */
export type JsonObject = { readonly [key: string]: unknown }

/** What `jsonText` says of a value that cannot be written. */
export const UNWRITABLE = '[nested too deeply]'

/** True for an object that is no array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value of a body, or why it has none. */
export function readJson(body: Uint8Array): { readonly value: unknown } | { readonly reason: string } {
  if (body.length === 0) return { reason: 'the body is empty' }
  if (!isUtf8(body)) return { reason: 'the body is not UTF-8' }
  try {
    return { value: JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')) }
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

/** JSON text of a value that came from JSON. Parsing nests without limit but writing runs out of stack: then UNWRITABLE. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null'
  } catch {
    return UNWRITABLE
  }
}
