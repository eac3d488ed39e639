// Mutated bodies of any JSON: the scanner against JSON.parse. Same decision, and the value that its steps lead through is the same.
import { isUtf8 } from 'node:buffer'
import { isDeepStrictEqual } from 'node:util'
import { JsonFault, JsonScanner, JsonType } from '../json.ts'
import { mutate } from './mutate.ts'
import type { Random } from './random.ts'

const BODIES = [
  '{"a":1,"b":[true,false,null],"c":{"d":"text \\"quoted\\" \\\\ \\u00e9 é 😀"},"e":-1.5e-3}',
  '[]',
  '  [ 1 , 2.0 , -0 , "x" , { } , [ ] ]\r\n\t',
  '"a string that is longer than sixteen bytes, and ends \\\\"',
  '{"key with \\n":"0123456789abcde\\"","0123456789abcdef":"0123456789abcdef0123456789abcde\\u0041"}',
  '[[[[{"a":[[{"b":{}}]]}]]]]',
  '12345678901234567890',
  'null',
  '{"":"","__proto__":{"x":1},"toString":2,"a":{"a":{"a":{"a":"a"}}}}',
  `["${'long '.repeat(40)}","${'\\"'.repeat(37)}","${'é'.repeat(30)}","${'\\\\'.repeat(16)}"]`,
].map(text => Buffer.from(text))
const KEYS = ['a', 'b', '', '__proto__', 'a longer key than sixteen bytes']

const MAX_DEPTH = 64

/** What a run has met. */
export interface JsonTally {
  bodies: number
  taken: number
  refused: number
  tooDeep: number
}

/** Judges `count` mutated bodies both ways. @throws Error with the body at the first difference. */
export function fuzzJson(random: Random, count: number): JsonTally {
  const scanner = new JsonScanner(MAX_DEPTH)
  const tally: JsonTally = { bodies: count, taken: 0, refused: 0, tooDeep: 0 }
  for (let i = 0; i < count; i++) {
    const body = mutate(random.pick(BODIES), KEYS, random)
    const value = parsed(body)
    const taken = isJson(scanner, body)
    const fail = (what: string): never => {
      throw new Error(`${what}: fault ${scanner.fault} at ${scanner.faultAt}\n${body.toString('latin1')}`)
    }
    if (taken) {
      if (value === undefined) fail('taken, but no JSON')
      // Rebuilding costs more than all the rest: one in eight.
      if (i % 8 === 0 && !isDeepStrictEqual(rebuilt(scanner), value)) fail('another value')
      tally.taken++
    } else if (scanner.fault === JsonFault.depth) {
      if (openBrackets(body.subarray(0, scanner.faultAt)) !== MAX_DEPTH) fail('not so deep')
      tally.tooDeep++
    } else {
      if (value !== undefined) fail('refused, but JSON')
      if (scanner.faultAt < 0 || scanner.faultAt > body.length) fail('a fault outside of the body')
      tally.refused++
    }
  }
  return tally
}

/** True when the scanner takes a whole body as JSON. */
export function isJson(scanner: JsonScanner, body: Uint8Array): boolean {
  if (!scanner.begin(body)) return false
  const end = scanner.skip(scanner.space(0))
  return end >= 0 && scanner.finish(end)
}

/** JSON.parse of a body in UTF-8; undefined when it is none. */
export function parsed(body: Buffer): unknown {
  if (!isUtf8(body)) return undefined
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

/** The value of the body in the scanner, built by its steps alone. */
export function rebuilt(scanner: JsonScanner): unknown {
  const built = { end: 0 }
  return rebuild(scanner, scanner.space(0), built)
}

function rebuild(scanner: JsonScanner, at: number, into: { end: number }): unknown {
  const type = scanner.typeAt(at)
  if (type === JsonType.array || type === JsonType.object) return rebuildNested(scanner, at, type, into)
  into.end = scanner.skip(at)
  if (type === JsonType.string) return scanner.textOf(at + 1, into.end - 1)
  if (type === JsonType.null) return null
  if (type !== JsonType.number) return type === JsonType.true
  return Number(Buffer.from(scanner.bytes.subarray(at, into.end)).toString('latin1'))
}

function rebuildNested(scanner: JsonScanner, from: number, type: JsonType, into: { end: number }): unknown {
  const isObject = type === JsonType.object
  const close = isObject ? 0x7d : 0x5d
  const list: unknown[] = []
  const object: Record<string, unknown> = {}
  let at = scanner.open(from)
  while (scanner.bytes[at] !== close) {
    let name = ''
    if (isObject) {
      at = scanner.key(at)
      name = scanner.textOf(scanner.keyStart, scanner.keyEnd)
    }
    const value = rebuild(scanner, at, into)
    // As JSON.parse does it: "__proto__" is a name like any other.
    if (isObject) Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
    else list.push(value)
    at = scanner.next(into.end, close)
  }
  into.end = scanner.close(at)
  return isObject ? object : list
}

/** Brackets open at the end of the beginning of a JSON text: counted by a pattern, not by the scanner. */
export function openBrackets(beginning: Buffer): number {
  let depth = 0
  for (const [token] of beginning.toString('latin1').matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/gs)) {
    if (token === '[' || token === '{') depth++
    else if (token === ']' || token === '}') depth--
  }
  return depth
}
