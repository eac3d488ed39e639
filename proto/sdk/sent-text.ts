// The text in `args` or `result` of an SDK event -> what was said, and the form in which it was sent: SDKs write texts as JSON, or into an
// object with one key that is always the same. What was said is stored and shown; from it and the name of its form, a remark in the metadata
// of the event, the text as it was sent is made again, to the byte. A text in any other form is shown as it was sent.
import { readJsonText } from '#proto/json.ts'

export type SentSide = 'input' | 'output'

/**
 * How a text was sent.
 * - `json`: as JSON
 * - `ascii`: as JSON of ASCII characters alone, as Python writes it
 * - `object`: as JSON of an object with the side's name as its only key
 */
type SentForm = 'plain' | 'json' | 'ascii' | 'object'

/** Names of the remarks. */
export const FORM_NOTES: Readonly<Record<SentSide, string>> = { input: 'input_form', output: 'output_form' }

export interface SaidText {
  readonly text: string
  readonly form: SentForm
}

/** What was said in a text. `inObjects`: its sender writes objects around texts. Precondition: well-formed. */
export function saidText(sent: string, side: SentSide, inObjects: boolean): SaidText {
  const before = beforeText(side)
  const isObject = inObjects && sent.startsWith(before) && sent.endsWith('}')
  if (!isObject && !sent.startsWith('"')) return { text: sent, form: 'plain' }
  const json = isObject ? sent.slice(before.length - 1, -1) : sent
  const text = readJsonText(json)
  if (typeof text !== 'string' || !text.isWellFormed()) return { text: sent, form: 'plain' }
  if (json === JSON.stringify(text)) return { text, form: isObject ? 'object' : 'json' }
  return !isObject && json === asciiJson(text) ? { text, form: 'ascii' } : { text: sent, form: 'plain' }
}

/** A text as it was sent. `said`: as it is stored; `form`: what the remark says. */
export function sentText(said: string, side: SentSide, form: string | undefined): string {
  switch (form) {
    case 'json':
      return JSON.stringify(said)
    case 'ascii':
      return asciiJson(said)
    case 'object':
      return `${beforeText(side).slice(0, -1)}${JSON.stringify(said)}}`
    default:
      return said
  }
}

const beforeText = (side: SentSide): string => `{"${side}":"`

/** JSON of a text as Python's json.dumps writes it. */
function asciiJson(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
