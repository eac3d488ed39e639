// A good JSON body -> one that is almost good: bytes changed, cut, repeated; values and keys swapped; white space, escapes, nesting.
import type { Random } from './random.ts'

// biome-ignore format: rows
const BYTES = [
  ...Buffer.from('"\\{}[],:-+.0159eEutrfnlb/ \n\t\r'), 0x00, 0x1f, 0x7f, 0x80, 0xbf, 0xc0, 0xc3, 0xe2, 0xed, 0xf0,
  0xf5, 0xff,
]
const SIMPLE = ['null', '""', '0', 'true', '{}', '[]', '[{}]', '"x"', '-1', '{"user_id":"u"}']
// biome-ignore format: rows
const NUMBERS = [
  '0', '-0', '-0.0', '1', '-1', '00', '01', '-', '+1', '.5', '1.', '1.5', '1.0', '-1.5', '1e3', '1E+3', '1e-3', '1e',
  '1e+', '1e999', '-1e999', '1e-999', '-1e-999', '1e308', '1.8e308', '9007199254740993', '9223372036854775807',
  '9223372036854775808', '-9223372036854775808', '-9223372036854775809', '123456789012345', '1234567890123456',
  '1e15', '100e-2', '5e-324', '0x10', 'NaN', 'Infinity', '1700000000000', '1.7e12', `1${'0'.repeat(310)}`,
  `0.${'0'.repeat(320)}1`, `-${'9'.repeat(305)}`,
]
// biome-ignore format: rows
const STRINGS = [
  '"00000000-0000-0000-0000-000000000000"', '"\\u00300000000-0000-0000-0000-000000000000"',
  '"00000000-0000-0000-0000-000000000001"', '""', '"tool"', '"resource"', '"prompt"', '"Tool"', '"\\u0074ool"', '"a"',
  '"é"', '"😀"', '"\\ud83d\\ude00"', '"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"\\u00e9"', '"\\u00G0"', '"\\x"',
  '"\\', '"\\"', '"\\\\"', '"\\/\\b\\f\\n\\r\\t"', '"\n"', '"\u007f"', '"\u2028"', '"',
  '"0B0F2B1E-7A66-4D7E-9D3A-6A3F6F1E2B11"', '"0b0f2b1e-7a66-4d7e-9d3a-6a3f6f1e2b11"',
  '"\\u0030b0f2b1e-7a66-4d7e-9d3a-6a3f6f1e2b11"', '"0b0f2b1e7a664d7e9d3a6a3f6f1e2b11"',
  '"0b0f2b1e-7a66-4d7e-9d3a-6a3f6f1e2b11 "', '"0b0f2b1e-7a66-4d7e-9d3a-6a3f6f1e2b1g"', `"${'x'.repeat(1024)}"`,
  `"${'x'.repeat(1025)}"`, `"${'é'.repeat(1024)}"`, `"${'😀'.repeat(1024)}"`, `"${'😀'.repeat(1025)}"`,
  `"${'\\ud83d\\ude00'.repeat(513)}"`, `"${'\\u0041'.repeat(1024)}"`, `"${'\\ud83d'.repeat(1025)}"`,
]
// biome-ignore format: rows
const OTHERS = [
  'null', 'true', 'false', 'nul', 'tru', 'falsy', 'nullx', '{}', '[]', '[1]', '{"a":1}', '[null]', '[{}]', '{', '}',
  '[', ']', ',', ':', '{,}', '[,]', '[1,]', '{"a":1,}', '{"a"}', '{"a":}', '{1:2}', '[1 2]', '["a" "b"]', '\ufeff',
  '// x', "'a'", '{"user_id":"u"}', '{"user_id":null}', '{"user_id":5}', '{"user_id":"u","user_id":7}',
  '{"\\u0075ser_id":"u"}', '{"__proto__":{"user_id":"u"}}', '["a","b"]', '["a",5]', '[{"name":"a","timestamp":1}]',
  '[{"name":"a","timestamp":1,"metadata":null},{"name":5,"timestamp":1}]', '[{"name":"a"}]',
  '[{"timestamp":"x","name":"a"},7]', '[{"name":"a","timestamp":1e999}]',
  '[{"name":"a","timestamp":1,"timestamp":2,"metadata":[]}]',
]

/** A mutation of `body`. `keys`: names that matter to the reader under test. */
export function mutate(body: Buffer, keys: readonly string[], random: Random): Buffer {
  let mutated = body
  const times = random.below(4) === 0 ? 2 + random.below(3) : 1
  for (let i = 0; i < times; i++) mutated = random.pick(STEPS)(mutated, keys, random)
  return mutated
}

type Step = (body: Buffer, keys: readonly string[], random: Random) => Buffer

const changeByte: Step = (body, _, random) => {
  if (body.length === 0) return body
  const changed = Buffer.from(body)
  changed[random.below(body.length)] = random.below(2) === 0 ? random.pick(BYTES) : random.below(256)
  return changed
}
const insertBytes: Step = (body, _, random) => {
  const bytes = Buffer.alloc(1 + random.below(3), random.pick(BYTES))
  return splice(body, random.below(body.length + 1), 0, bytes)
}
const deleteBytes: Step = (body, _, random) => {
  const at = random.below(body.length + 1)
  return splice(body, at, random.below(random.below(8) === 0 ? 64 : 4), '')
}
const truncate: Step = (body, _, random) => body.subarray(0, random.below(body.length + 1))
const repeatBytes: Step = (body, _, random) => {
  const at = random.below(body.length + 1)
  return splice(body, at, 0, body.subarray(at, at + random.below(80)))
}
/** Puts another value where one begins. */
const changeValue: Step = (body, _, random) => {
  const colon = placeOf(body, ':', random)
  if (colon < 0) return body
  const end = endOfValue(body, colon + 1)
  return splice(body, colon + 1, end - colon - 1, value(random))
}
/** Adds a member: of a name that is there already, or of one that matters. */
const addMember: Step = (body, keys, random) => {
  const at = random.below(2) === 0 ? body.indexOf('{') : placeOf(body, '{', random)
  if (at < 0) return body
  const key = writeKey(random.pick(keys), random)
  return splice(body, at + 1, 0, `${key}:${value(random)}${body[at + 1] === 0x7d ? '' : ','}`)
}
/** Adds a member before the last bracket: what comes later wins. */
const addLastMember: Step = (body, keys, random) => {
  const at = body.lastIndexOf('}')
  if (at < 0) return body
  return splice(
    body,
    at,
    0,
    `${body[at - 1] === 0x7b ? '' : ','}${writeKey(random.pick(keys), random)}:${value(random)}`,
  )
}
/** Writes a member once more behind itself, with the same value or another: what comes later wins. */
const repeatMember: Step = (body, _, random) => {
  const colon = placeOf(body, '":', random)
  const open = colon <= 0 ? -1 : body.lastIndexOf('"', colon - 1)
  if (open < 0) return body
  const end = endOfValue(body, colon + 2)
  const key = body.subarray(open, colon + 2)
  const again = random.below(2) === 0 ? body.subarray(colon + 2, end) : Buffer.from(value(random))
  return splice(body, end, 0, Buffer.concat([Buffer.from(','), key, again]))
}
const renameKey: Step = (body, keys, random) => {
  const colon = placeOf(body, '":', random)
  const open = colon <= 0 ? -1 : body.lastIndexOf('"', colon - 1)
  return open < 0 ? body : splice(body, open, colon + 1 - open, writeKey(random.pick(keys), random))
}
const addSpace: Step = (body, _, random) => {
  const at = placeOf(body, random.pick([',', ':', '{', '}', '[', ']']), random)
  return splice(body, at + random.below(2), 0, random.pick([' ', '\n', '\r\n\t ', '    ', '\u00a0', '\v', '\f']))
}
const nest: Step = (body, _, random) => {
  const colon = placeOf(body, ':', random)
  const levels = random.pick([1, 2, 5, 30, 58, 60, 61, 62, 63, 64, 65, 70, 130])
  const [open, close] = random.below(2) === 0 ? ['[', ']'] : ['{"a":', '}']
  const end = endOfValue(body, colon + 1)
  const inner = body.subarray(colon + 1, end).toString('latin1')
  return splice(
    body,
    colon + 1,
    end - colon - 1,
    Buffer.from(open.repeat(levels) + inner + close.repeat(levels), 'latin1'),
  )
}
const escapeByte: Step = (body, _, random) => {
  const at = random.below(body.length + 1)
  const byte = body[at]
  return byte === undefined || byte < 0x30 ? body : splice(body, at, 1, `\\u00${byte.toString(16).padStart(2, '0')}`)
}

// biome-ignore format: rows
const STEPS: readonly Step[] = [
  changeByte, insertBytes, deleteBytes, truncate, repeatBytes, changeValue, changeValue, changeValue, repeatMember, addMember,
  addMember, addLastMember, renameKey, addSpace, nest, escapeByte,
]

function value(random: Random): string {
  return random.pick(random.pick([SIMPLE, SIMPLE, NUMBERS, STRINGS, OTHERS]))
}

function writeKey(name: string, random: Random): string {
  if (random.below(8) > 0 || name === '') return `"${name}"`
  const at = random.below(name.length)
  return `"${name.slice(0, at)}\\u00${name.charCodeAt(at).toString(16).padStart(2, '0')}${name.slice(at + 1)}"`
}

/** A random place of a text in the body, -1 when there is none. */
function placeOf(body: Buffer, text: string, random: Random): number {
  const from = body.indexOf(text, random.below(body.length + 1))
  return from < 0 ? body.indexOf(text) : from
}

/** Where the value at `at` ends, in a body that is still well-formed around it; somewhere behind `at` in any other. */
function endOfValue(body: Buffer, at: number): number {
  let depth = 0
  for (let i = at; i < body.length; i++) {
    const c = body[i] as number
    if (c === 0x22) i = closingQuote(body, i)
    else if (c === 0x7b || c === 0x5b) depth++
    else if (c === 0x7d || c === 0x5d) {
      if (depth === 0) return i
      depth--
    } else if (c === 0x2c && depth === 0) return i
  }
  return body.length
}

function closingQuote(body: Buffer, at: number): number {
  let end = at + 1
  while (end < body.length && body[end] !== 0x22) end += body[end] === 0x5c ? 2 : 1
  return Math.min(end, body.length)
}

function splice(body: Buffer, at: number, remove: number, insert: string | Buffer): Buffer {
  return Buffer.concat([body.subarray(0, at), Buffer.from(insert as string), body.subarray(at + remove)])
}
