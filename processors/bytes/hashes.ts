// Ids and fingerprints of spans, four at a time: what proto/ids.ts says in text, as words. Their messages are between 65 and 119 bytes
// long, so that two blocks hold each of them (proto/scan/sha1.wat).
import { uuidBytes } from '#proto/ids.ts'
import { sha1Wasm } from '#proto/scan/sha1-wasm.ts'
import { compile, type WasmMemory } from '#proto/scan/wasm.ts'

const { memory, hash } = compile<{ readonly memory: WasmMemory; readonly hash: () => void }>(sha1Wasm)()

/** The words of the messages, of both blocks, and of the digests: word n of a lane stands at `n * LANES + lane`. */
const LANES = 4
const words = new Uint32Array(memory.buffer)
const SECOND = 80 * LANES
const DIGEST = 160 * LANES
const BLOCK_WORDS = 16

/** The two hex digits of each byte. */
const HEX = Uint16Array.from({ length: 256 }, (_, byte) => {
  const text = byte.toString(16).padStart(2, '0')
  return (text.charCodeAt(0) << 8) | text.charCodeAt(1)
})

/** Bytes of the two kinds of messages: the namespace and the name of an event, and what a fingerprint is made of. */
const EVENT_BYTES = 65
const PRINT_BYTES = 79
const PAD = 0x80

let organization = ''
const namespace = new Uint32Array(4)
/** What stands before the id in a fingerprint's message: ten words, and three bytes. */
const prefix = new Uint32Array(11)
const text = new Uint8Array(40)

/** Whose ids are asked for from now on. */
export function setOrganization(id: string): void {
  if (id === organization) return
  organization = id
  const bytes = uuidBytes(id)
  for (let i = 0; i < 4; i++) namespace[i] = bytes.readUInt32BE(4 * i)
  const before = Buffer.concat([Buffer.from(`event:${id}:`), Buffer.alloc(1)])
  for (let i = 0; i < 11; i++) prefix[i] = before.readUInt32BE(4 * i)
}

/** Lanes that are filled, and where their results go. */
let filled = 0
const targets = new Int32Array(LANES)

/**
 * Asks for the event id of a span: it is written to `into` at `at` when four were asked for, or `flushIds` is called. Precondition:
 * nothing else is asked for in between.
 */
export function askEventId(bytes: Uint8Array, trace: number, span: number, into: Uint32Array, at: number): void {
  const lane = filled++
  targets[lane] = at
  for (let i = 0; i < 4; i++) words[i * LANES + lane] = namespace[i] as number
  for (let i = 0, from = trace; i < 8; i++, from += 2) {
    words[(4 + i) * LANES + lane] =
      ((HEX[bytes[from] as number] as number) << 16) | (HEX[bytes[from + 1] as number] as number)
  }
  let before = 0x2f
  for (let i = 0, from = span; i < 4; i++, from += 2) {
    const [a, b] = [HEX[bytes[from] as number] as number, HEX[bytes[from + 1] as number] as number]
    words[(12 + i) * LANES + lane] = (before << 24) | (a << 8) | (b >> 8)
    before = b & 255
  }
  endMessage(lane, 0, (before << 24) | (PAD << 16), EVENT_BYTES)
  if (filled === LANES) flushIds(into)
}

/** Answers what is still asked for. */
export function flushIds(into: Uint32Array): void {
  if (filled === 0) return
  hash()
  for (let lane = 0; lane < filled; lane++) {
    const at = targets[lane] as number
    const from = DIGEST + lane
    into[at] = words[from] as number
    into[at + 1] = ((words[from + LANES] as number) & 0xffff0fff) | 0x5000
    into[at + 2] = ((words[from + 2 * LANES] as number) & 0x3fffffff) | 0x80000000
    into[at + 3] = words[from + 3 * LANES] as number
  }
  filled = 0
}

/** Asks for the fingerprint of the event whose id stands in `ids` at `id`: three words, as above. */
export function askPrint(ids: Uint32Array, id: number, into: Uint32Array, at: number): void {
  const lane = filled++
  targets[lane] = at
  for (let i = 0; i < 10; i++) words[i * LANES + lane] = prefix[i] as number
  putText(ids, id)
  words[10 * LANES + lane] = (prefix[10] as number) | (text[0] as number)
  for (let i = 0, from = 1; i < 5; i++, from += 4) words[(11 + i) * LANES + lane] = wordOf(from)
  for (let i = 0, from = 21; i < 3; i++, from += 4) words[SECOND + i * LANES + lane] = wordOf(from)
  endMessage(lane, 3, wordOf(33) | PAD, PRINT_BYTES)
  if (filled === LANES) flushPrints(into)
}

/** Answers what is still asked for. */
export function flushPrints(into: Uint32Array): void {
  if (filled === 0) return
  hash()
  for (let lane = 0; lane < filled; lane++) {
    for (let i = 0; i < 3; i++) into[(targets[lane] as number) + i] = words[DIGEST + i * LANES + lane] as number
  }
  filled = 0
}

/** The last word of a message in its second block, zeros, and the count of its bits. */
function endMessage(lane: number, at: number, last: number, bytes: number): void {
  words[SECOND + at * LANES + lane] = last
  for (let i = at + 1; i < BLOCK_WORDS - 1; i++) words[SECOND + i * LANES + lane] = 0
  words[SECOND + (BLOCK_WORDS - 1) * LANES + lane] = bytes * 8
}

function wordOf(at: number): number {
  const high = ((text[at] as number) << 24) | ((text[at + 1] as number) << 16)
  return high | ((text[at + 2] as number) << 8) | (text[at + 3] as number)
}

/** Writes a uuid as text: 8-4-4-4-12. */
function putText(ids: Uint32Array, at: number): void {
  let end = putDigits(ids[at] as number, 0)
  for (let i = 1; i < 3; i++) {
    text[end] = DASH
    const half = putFour((ids[at + i] as number) >>> 16, end + 1)
    text[half] = DASH
    end = putFour((ids[at + i] as number) & 0xffff, half + 1)
  }
  // The last group goes on with the fourth word, without a dash.
  putDigits(ids[at + 3] as number, end)
}

const DASH = 0x2d

function putDigits(word: number, at: number): number {
  return putFour(word & 0xffff, putFour(word >>> 16, at))
}

function putFour(half: number, at: number): number {
  const [a, b] = [HEX[half >> 8] as number, HEX[half & 255] as number]
  text[at] = a >> 8
  text[at + 1] = a & 255
  text[at + 2] = b >> 8
  text[at + 3] = b & 255
  return at + 4
}

/** The text of a uuid. */
export function uuidOfWords(ids: Uint32Array, at: number): string {
  putText(ids, at)
  return uuidText.latin1Slice(0, 36)
}
const uuidText = Buffer.from(text.buffer) as Buffer & { latin1Slice(start: number, end: number): string }
