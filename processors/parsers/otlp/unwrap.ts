// Values that were written as JSON text, also JSON inside of JSON -> the values.
import { readJsonText } from '#proto/json.ts'

/** Texts longer than this are shown as they are: parsing them costs more than reading them. */
export const MAX_PARSED_UNITS = 4_000_000

/** Numbers with more digits than a double holds: written anew they would be others. */
export const beyondDoubles = /\d{16}/

/** JSON inside text inside JSON, at most four times over. A text that is no JSON stays what it is. */
export function unwrapped(value: unknown): unknown {
  let here = value
  for (let i = 0; i < 4 && typeof here === 'string' && here.length <= MAX_PARSED_UNITS; i++) {
    if (!beginsLikeJson(here)) break
    const parsed = readJsonText(here)
    if (parsed === undefined) break
    here = parsed
  }
  return here
}

/** The text that a JSON text of a text says, also one inside of another; anything else stays what it is. */
export function textOfLiteral<T>(value: T): T | string {
  let here: T | string = value
  for (let i = 0; i < 4 && typeof here === 'string' && /^\s*"/.test(here) && here.length <= MAX_PARSED_UNITS; i++) {
    const parsed = readJsonText(here)
    if (typeof parsed !== 'string') break
    here = parsed
  }
  return here
}

function beginsLikeJson(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x22 || code === 0x5b || code === 0x7b) return true
    if (code !== 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0d) return false
  }
  return false
}
