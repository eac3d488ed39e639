import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { scaled } from '#test/scale.ts'
import { MODULES, moduleText } from './assemble.ts'
import { fuzzJson, isJson, parsed, rebuilt } from './fuzz/json.ts'
import { createRandom } from './fuzz/random.ts'
import { JsonFault, JsonScanner, jsonFaultText } from './json.ts'

const SEED = 20_250_117
const BODIES = scaled({ sample: 12_000, full: 450_000 })
// Seconds of work, and many times that on a machine with other work.
t.setTimeout(1_200_000)

t.test('each binary is what its text says', async t => {
  const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')
  for (const name of MODULES) t.equal(read(`${name}-wasm.ts`), moduleText(name, read(`${name}.wat`)), name)
})

t.test('a body is refused with the fault and the byte', async t => {
  const scanner = new JsonScanner(3)
  const f = (body: string | Buffer, fault: JsonFault, at: number): void => {
    t.notOk(isJson(scanner, Buffer.from(body as string)), String(body))
    t.same([scanner.fault, scanner.faultAt], [fault, at], String(body))
  }
  f('', JsonFault.empty, 0)
  f(' ', JsonFault.cut, 1)
  f('{"a":', JsonFault.cut, 5)
  f('"abc', JsonFault.cut, 4)
  f('"ab\\', JsonFault.cut, 4)
  f('"\\u12', JsonFault.cut, 5)
  f('tru', JsonFault.cut, 3)
  f('-', JsonFault.cut, 1)
  f('{"a":1 "b":2}', JsonFault.syntax, 7)
  f('[1,]', JsonFault.syntax, 3)
  f('[1}', JsonFault.syntax, 2)
  f('{"a":1,}', JsonFault.syntax, 7)
  f('01', JsonFault.syntax, 1)
  f('1 2', JsonFault.syntax, 2)
  f('"a\u0000b"', JsonFault.syntax, 2)
  f('"0123456789abcdef\n"', JsonFault.syntax, 17)
  f('"\\q"', JsonFault.syntax, 2)
  f('"\\u00g0"', JsonFault.syntax, 5)
  f('\ufeff{}', JsonFault.syntax, 0)
  f('[\u0000', JsonFault.syntax, 1)
  f('[[[[]]]]', JsonFault.depth, 3)
  f(Buffer.from('{"a":"\xff"}', 'latin1'), JsonFault.notUtf8, 6)
  t.ok(isJson(scanner, Buffer.from('[[[]]]')), 'as deep as allowed')
  t.equal(jsonFaultText(JsonFault.cut, 5, 64), 'the body ends too early, at byte 5')
  t.equal(jsonFaultText(JsonFault.depth, 7, 64), 'nested deeper than 64 levels, at byte 7')
})

t.test('strings of every length up to three blocks are read alike, with anything anywhere in them', async t => {
  const scanner = new JsonScanner(4)
  const odd = ['"', '\\', '\\"', '\\\\', '\\u0041', '\\u00', '\u001f', '\u0000', 'é', '😀', '\u007f', '\\ud800']
  let differences = 0
  for (let length = 0; length <= 50; length++) {
    for (let at = 0; at <= length; at++) {
      for (const part of odd) {
        const body = Buffer.from(`["${'x'.repeat(at)}${part}${'y'.repeat(length - at)}"]`)
        const value = parsed(body)
        const taken = isJson(scanner, body)
        if (taken !== (value !== undefined)) differences++
        else if (taken && JSON.stringify(rebuilt(scanner)) !== JSON.stringify(value)) differences++
      }
    }
  }
  t.equal(differences, 0)
})

t.test('behind an escape anything is read alike, however many blocks behind it', async t => {
  const scanner = new JsonScanner(4)
  const parts = ['"', '\\', '\\"', '\\\\', '\\u0041', '\\u00', '\u001f', '\u0000', 'é', '\u007f', '!', '#']
  let differences = 0
  for (let at = 0; at <= 100; at++) {
    for (const part of parts) {
      for (const behind of ['', 'y'.repeat(40)]) {
        const body = Buffer.from(`["\\n${'x'.repeat(at)}${part}${behind}"]`)
        const value = parsed(body)
        const taken = isJson(scanner, body)
        if (taken !== (value !== undefined)) differences++
        else if (taken && JSON.stringify(rebuilt(scanner)) !== JSON.stringify(value)) differences++
      }
    }
  }
  t.equal(differences, 0)
})

t.test('every byte is read alike in a string, behind a backslash, as a hex digit and outside', async t => {
  const scanner = new JsonScanner(4)
  let differences = 0
  for (const before of ['', '\\n', 'a text of more than sixteen bytes', '\\"'.repeat(9)]) {
    for (const around of [
      '"?"',
      '"\\?"',
      '"\\u?123"',
      '"\\u0?23"',
      '"\\u01?3"',
      '"\\u012?"',
      '[1?]',
      '?1',
      '1?',
      '{"a"?1}',
      '[tr?e]',
      '-1.5?3',
    ]) {
      for (let byte = 0; byte < 256; byte++) {
        const text = around.replace('"', `"${before}`)
        const body = Buffer.from(text, 'latin1')
        body[text.lastIndexOf('?')] = byte
        if (isJson(scanner, body) !== (parsed(body) !== undefined)) differences++
      }
    }
  }
  t.equal(differences, 0)
})

t.test('the first byte that is no UTF-8 is named', async t => {
  const scanner = new JsonScanner(4)
  const random = createRandom(SEED)
  const pieces = [
    'a',
    'é',
    '€',
    '😀',
    '\xff',
    '\xc3',
    '\xe2\x82',
    '\xf0\x9f\x98',
    '\x80',
    '\xed\xa0\x80',
    '\xc0\x80',
    '\xf5\x80\x80\x80',
  ]
  let compared = 0
  for (let i = 0; i < 3000; i++) {
    const parts = Array.from({ length: random.below(12) }, () => {
      const piece = random.pick(pieces)
      return Buffer.from(piece, pieces.indexOf(piece) < 4 ? 'utf8' : 'latin1')
    })
    const body = Buffer.concat(parts)
    if (isUtf8(body)) continue
    let good = 0
    for (let end = 1; end <= body.length; end++) if (isUtf8(body.subarray(0, end))) good = end
    scanner.begin(body)
    if (scanner.fault !== JsonFault.notUtf8 || scanner.faultAt !== good)
      t.fail(`${body.toString('hex')}: ${scanner.faultAt}, not ${good}`)
    compared++
  }
  t.ok(compared > 1000, `${compared} bodies`)
})

t.test('a body larger than the memory so far is read like any other, and so is the next small one', async t => {
  const scanner = new JsonScanner(4)
  const large = Buffer.from(JSON.stringify({ a: 'é'.repeat(1_500_000), b: 1 }))
  t.ok(isJson(scanner, large))
  t.equal(scanner.textOf(6, 6 + 3_000_000).length, 1_500_000)
  t.notOk(isJson(scanner, large.subarray(0, -1)))
  t.equal(scanner.faultAt, large.length - 1)
  t.ok(isJson(scanner, Buffer.from('[1]')))
  t.notOk(isJson(scanner, Buffer.from('[1')), 'nothing of the large body is left behind the small one')
})

t.test(`${BODIES} mutated bodies are taken and refused as by JSON.parse, seed ${SEED}`, async t => {
  const tally = fuzzJson(createRandom(SEED), BODIES)
  t.comment(JSON.stringify(tally))
  t.ok(tally.taken > BODIES / 5 && tally.refused > BODIES / 5 && tally.tooDeep > BODIES / 100, 'both happen often')
})
