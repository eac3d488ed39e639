// Bytes of a text -> may something in it be a secret, and is it ASCII: one look at each byte. A text that is not suspicious is stored
// as it was sent; any other becomes a string and is masked as everywhere (parsers/secrets.ts), whose words are looked for here.
import { isAscii, isUtf8 } from 'node:buffer'
import { lookWasm } from '#proto/scan/look-wasm.ts'
import { compile, viewOf, type WasmMemory } from '#proto/scan/wasm.ts'
import { copyBytes } from '../columns/utf8.ts'
import { secretBeginnings, secretsVersion, suspicionWords } from '../parsers/secrets.ts'
import { type Automaton, automatonOf, classOf } from './automaton.ts'

/** What was found: bits. `looked` stands with what is kept of a look. */
export const Look = { ascii: 1, suspicious: 2, looked: 4 } as const

/** What was last compiled: the words of an edition. */
let automaton: Automaton | null = null
let edition = -1

/** See look.wat. */
interface LookExports {
  readonly memory: WasmMemory
  readonly look: (length: number, found: number) => number
}

/** Where look.wat has its tables and the text, and the room that it wants behind the text. */
const [CLASSES_AT, NEXT_AT, TEXT_AT, BEHIND] = [256, 512, 135_168, 32]
const { memory, look } = compile<LookExports>(lookWasm)()
let texts = viewOf(memory, TEXT_AT, BEHIND)
viewOf(memory, CLASSES_AT, classOf.length).set(classOf.map(each => 2 * each))

function compiled(): Automaton {
  if (automaton !== null && edition === secretsVersion()) return automaton
  automaton = automatonOf(suspicionWords)
  edition = secretsVersion()
  viewOf(memory, 0, automaton.beginnings.length).set(automaton.beginnings)
  if (!automaton.always) new Uint16Array(memory.buffer, NEXT_AT).set(automaton.next)
  return automaton
}

const beginnings = new Set(secretBeginnings.map(two => (two.charCodeAt(0) << 8) | two.charCodeAt(1)))

/** Up to here a loop beats a copy to where look.wat reads. */
const SHORT_LOOK = 32

/** Looks at a text. What is longer than any before makes the memory of the look grow to it. */
export function lookAt(bytes: Uint8Array, from: number, to: number): number {
  const all = compiled()
  if (all.always) return Look.suspicious
  if (to - from > 2 && beginnings.has((((bytes[from] as number) | 32) << 8) | ((bytes[from + 1] as number) | 32))) {
    return Look.suspicious
  }
  return to - from > SHORT_LOOK ? lookAtLong(bytes, from, to, all) : lookAtShort(bytes, from, to, all)
}

function lookAtLong(bytes: Uint8Array, from: number, to: number, { found }: Automaton): number {
  const size = to - from + BEHIND
  if (size > texts.length) texts = viewOf(memory, TEXT_AT, size)
  copyBytes(bytes, from, to, texts, 0)
  return look(to - from, found)
}

function lookAtShort(bytes: Uint8Array, from: number, to: number, { next, found }: Automaton): number {
  let state = 0
  let high = 0
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number
    high |= byte
    state = next[state + (classOf[byte] as number)] as number
    if (state === found) return Look.suspicious
  }
  return high < 128 ? Look.ascii : 0
}

/** What bytes are as a text. */
export const Letters = { none: 0, utf8: 1, ascii: 2 } as const

/** Up to here a loop beats the call into the runtime, which needs a view of the bytes. */
const SHORT_TEXT = 64

/** What the bytes are. Of all but `none` a text would become the same bytes again. */
export function lettersOf(bytes: Buffer, from: number, to: number): number {
  if (to - from <= SHORT_TEXT) {
    let high = 0
    for (let i = from; i < to; i++) high |= bytes[i] as number
    if (high < 128) return Letters.ascii
  }
  const view = bytes.subarray(from, to)
  if (isAscii(view)) return Letters.ascii
  return isUtf8(view) ? Letters.utf8 : Letters.none
}

/** True when the bytes are UTF-8. */
export const isText = (bytes: Buffer, from: number, to: number): boolean => lettersOf(bytes, from, to) !== Letters.none
