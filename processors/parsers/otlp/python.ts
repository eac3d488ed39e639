// Python's way to print dictionaries and lists -> the values: instrumentations that call str() where JSON was meant.
import { readJsonText } from '#proto/json.ts'

/** Longest text that is read. */
const MAX_UNITS = 16_384

const words: Readonly<Record<string, string>> = { None: 'null', True: 'true', False: 'false' }

/** A text, a word, or any other character: what stands within quotes stays as it is. */
const token = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[A-Za-z_]+|[^'"A-Za-z_]/gs

/** The value that a Python dictionary or list prints as, undefined for anything else. */
export function readPythonText(text: string): unknown {
  if (text.length > MAX_UNITS || !/^\s*[{[]/.test(text)) return undefined
  const json = text.replace(token, each => {
    if (each.startsWith("'")) return JSON.stringify(each.slice(1, -1).replaceAll("\\'", "'"))
    return Object.hasOwn(words, each) ? (words[each] as string) : each
  })
  return readJsonText(json)
}

/** True for a printed object, such as `StopEvent(result=…)`: nobody said that. */
export function isPrintedObject(text: string): boolean {
  return /^[A-Z][A-Za-z]+\([a-z_]+=/.test(text)
}
