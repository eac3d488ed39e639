// Spans read from bytes give the blocks that the way of objects gives, to the byte: all recordings, the same with other values in the
// places that plans leave open, and bodies that nobody would send. Seeds are fixed; the number of cases, and another seed, may be given
// as arguments (a hundred thousand take some minutes).
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '#proto/json.ts'
import { protobufBytes, request, span } from '#proto/otlp/fixture.ts'
import { type Random, randomOf } from '#runtime/seeded.ts'
import { scaled } from '#test/scale.ts'
import { mutated } from '../parsers/fixture-odd.ts'
import { parsers } from '../registry.ts'
import { become, objects } from './fixture-become.ts'
import { jsonOf, oddJson } from './fixture-json.ts'
import { messagesOf } from './fixture-messages.ts'
import { withRecords } from './fixture-records.ts'
import { A, ATTRIBUTE_INTS, Kind, S, SPAN_INTS, SpanTable } from './spans.ts'

const CASES = Number(process.argv[2] ?? scaled({ sample: 60, full: 400 }))
const SEED = Number(process.argv[3] ?? 0)

const folder = join(import.meta.dirname, '../parsers/otlp/recorded/fixtures')
interface Recording {
  readonly name: string
  readonly body: Buffer
}

const recordings: readonly Recording[] = readdirSync(folder).map(name => ({
  name,
  body: readFileSync(join(folder, name, 'traces.bin')),
}))

const PIECES = [
  '"',
  '{',
  '[',
  ' ',
  'null',
  'N/A',
  'token',
  'api_key',
  'Bearer abcdefgh1',
  'é',
  '\u{1f600}',
  '\u2028',
  'none',
  '7',
]

/** The same body with other bytes in some texts, numbers, times and ids. Its lengths, and so its form, stay. */
function revalued(body: Uint8Array, random: Random): Uint8Array {
  const bytes = Buffer.from(body)
  const table = new SpanTable()
  table.read(bytes, { resource: () => 0, scope: () => 0 })
  for (let i = 0; i < table.attributes.length; i += ATTRIBUTE_INTS) {
    const at = (field: number): number => table.attributes.data[i + field] as number
    if (at(A.kind) !== Kind.text || random(6) !== 0 || at(A.x) === at(A.y)) continue
    const place = at(A.x) + (random(2) === 0 ? 0 : random(at(A.y) - at(A.x)))
    const piece = random(12) === 0 ? Buffer.from([random(256)]) : Buffer.from(PIECES[random(PIECES.length)] as string)
    piece.copy(bytes, place, 0, Math.min(piece.length, at(A.y) - place))
  }
  for (let i = 0; i < table.spans.length; i += SPAN_INTS) {
    const at = (field: number): number => table.spans.data[i + field] as number
    if (random(4) === 0) bytes[at(S.id) + random(8)] = random(256)
    if (random(8) === 0 && at(S.parent) >= 0) bytes[at(S.parent) + random(8)] = random(256)
    if (random(8) === 0) bytes[at(S.trace) + random(16)] = random(256)
  }
  return bytes
}

t.test('every recording becomes the same blocks', async t => {
  let spans = 0
  let left = 0
  for (const { name, body } of recordings) {
    const expected = become(body, objects).all
    for (const round of ['new', 'planned', 'known']) {
      const made = become(body, parsers)
      if (made.all !== expected) t.fail(`${name}, ${round}`)
      if (round !== 'known') continue
      spans += made.spans
      left += made.objects
    }
  }
  t.ok(left <= spans / 50, `${left} of ${spans} spans were read the way of objects`)
})

t.test('plans hold for spans with other values', async t => {
  const random = randomOf(SEED + 1)
  let planned = 0
  for (let i = 0; i < CASES; i++) {
    const { name, body } = recordings[random(recordings.length)] as Recording
    const odd = revalued(body, random)
    const made = become(odd, parsers)
    if (made.all !== become(odd, objects).all) return t.fail(`case ${i}: ${name}`)
    planned += made.spans - made.objects
  }
  t.ok(planned > CASES, `${planned} spans were read by plans`)
})

t.test('plans hold for spans with events, links and trace state', async t => {
  const random = randomOf(SEED + 5)
  let [spans, planned] = [0, 0]
  for (let i = 0; i < CASES / 2; i++) {
    const { name, body } = recordings[random(recordings.length)] as Recording
    const carried = withRecords(body, random)
    const odd = random(2) === 0 ? carried : revalued(carried, random)
    const expected = become(odd, objects).all
    // The first time a likeness is noted, the second time it is planned.
    for (const round of random(3) === 0 ? [1, 2, 3] : [1]) {
      const made = become(odd, parsers)
      if (made.all !== expected) return t.fail(`case ${i}, round ${round}: ${name}`)
      spans += made.spans
      planned += made.spans - made.objects
    }
  }
  t.ok(planned > spans / 4, `${planned} of ${spans} spans were read by plans`)
})

t.test('bodies that nobody would send', async t => {
  const random = randomOf(SEED + 2)
  const seeds = recordings.flatMap(({ body }) => [body, withRecords(body, random)])
  let spans = 0
  for (let i = 0; i < CASES / 3; i++) {
    const odd = mutated(seeds, random)
    const expected = become(odd, objects)
    // The first time a likeness is noted, the second time it is planned.
    for (const round of [1, 2])
      if (become(odd, parsers).all !== expected.all) return t.fail(`case ${i}, round ${round}`)
    spans += expected.spans
  }
  t.ok(spans > CASES / 10, `${spans} spans`)
})

t.test('bodies in JSON become what the way of objects makes of them', async t => {
  const random = randomOf(SEED + 3)
  let [spans, planned] = [0, 0]
  for (let i = 0; i < CASES / 2; i++) {
    // First all of them as they are, three times: seen, planned, read by plans.
    const clean = i < 3 * recordings.length
    const { name, body } = recordings[clean ? i % recordings.length : random(recordings.length)] as Recording
    const text = jsonOf(clean ? body : revalued(body, random), clean ? () => 1 : random)
    if (text === null) continue
    const json = Buffer.from(text)
    const made = become(json, parsers, 'json')
    if (made.all !== become(json, objects, 'json').all) return t.fail(`case ${i}: ${name}`)
    spans += made.spans
    planned += made.spans - made.objects
  }
  // A sixth of a hundred thousand bodies: by then the words of the odd ones fill the tables.
  t.ok(planned > spans / 10, `${planned} of ${spans} spans were read by plans`)
})

t.test('JSON that nobody would send', async t => {
  const random = randomOf(SEED + 4)
  const seeds = recordings.map(({ body }) => Buffer.from(jsonOf(body, () => 1) as string))
  for (let i = 0; i < CASES / 3; i++) {
    const odd = mutated(seeds, random)
    const expected = become(odd, objects, 'json').all
    for (const round of [1, 2]) {
      if (become(odd, parsers, 'json').all !== expected) return t.fail(`case ${i}, round ${round}`)
    }
  }
  t.pass('as the way of objects')
})

t.test('JSON at its ends', async t => {
  const wrong = (bodies: readonly string[]): string[] =>
    bodies.filter(body => {
      const bytes = Buffer.from(body)
      const expected = become(bytes, objects, 'json').all
      return [1, 2, 3].some(() => become(bytes, parsers, 'json').all !== expected)
    })
  t.strictSame(wrong(oddJson), [])
})

t.test('amounts, texts and times at their ends', async t => {
  const values = (n: number): JsonObject => ({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.usage.input_tokens': n,
    'gen_ai.usage.output_tokens': [0, 1, 2 ** 53 - 1, -1, 0.5][n % 5],
    'session.id': ['a1', 'A1B2C3D4-0000-4000-8000-000000000001', '0a000000-0000-4000-8000-000000000001', ' 1'][n % 4],
    'user.id': `u${n}`,
    input: 'ä'.repeat(n * 40) + '\u{1f600}'.repeat(n % 3),
    output: n % 7 === 0 ? '' : `x${'\u{1f600}'.repeat(90 + n)}`,
    flag: n % 2 === 0,
    ratio: n / 3,
    list: ['stop', n],
    authorization: 'secret 1',
    note: 'a'.repeat(n * 300),
  })
  for (let n = 0; n < 40; n++) {
    const times = { startTimeUnixNano: String(1_789_999_990_000_000_000n + BigInt(n) * 10n ** BigInt(n % 17)) }
    const spans = [1, 2, 3].map(i =>
      span(
        1 + (n % 2),
        i + n,
        { ...times, name: 'chat', parentSpanId: (n + 1).toString(16).padStart(16, '0') },
        values(n),
      ),
    )
    const body = protobufBytes(request(spans))
    const expected = become(body, objects).all
    for (const round of [1, 2, 3]) if (become(body, parsers).all !== expected) t.fail(`${n}, round ${round}`)
  }
})

t.test('spans share a plan, whoever their users are', async t => {
  const named = (key: string, round: number, i: number): JsonObject => ({
    'session.id': `s${i >> 1}`,
    'user.id': `u${round}-${i >> 2}`,
    // Addresses without a digit, as most are.
    [key]: `${'abc'[i % 3]}.${'xyz'[round]}${'mno'[(i >> 2) % 3]}@example.com`,
    input: 'hello',
  })
  for (const key of ['user.email', 'enduser.email', 'langfuse.user.email', 'metadata.email']) {
    for (const round of [0, 1, 2]) {
      const spans = Array.from({ length: 24 }, (_, i) => span(1 + i, 1 + i, { name: 'chat' }, named(key, round, i)))
      const body = protobufBytes(request(spans))
      const made = become(body, parsers)
      t.equal(made.all, become(body, objects).all, `${key}, round ${round}`)
      t.ok(made.objects <= (round === 0 ? 2 : 0), `${key}, round ${round}: ${made.objects} of ${made.spans} as objects`)
    }
  }
  // What says that there is no address is no address, in any of the places; numbers are none either.
  for (const email of ['null', '', ' ', 'N/A', 'unknown', ' a@b.c ', '<REDACTED>', 7, 'é@x.y', 'a@b.c']) {
    const values = { 'session.id': 's1', 'user.email': email, 'enduser.email': 'second@b.c', input: 'x' }
    const body = protobufBytes(request([1, 2, 3].map(i => span(1, i, { name: 'chat' }, values))))
    const expected = become(body, objects).all
    for (const round of [1, 2, 3]) t.equal(become(body, parsers).all, expected, `${String(email)}, round ${round}`)
  }
})

t.test('messages in whatever form become the same rows', async t => {
  const random = randomOf(SEED + 6)
  const places = [
    ['gen_ai.input.messages', 'gen_ai.output.messages'],
    ['input.value', 'output.value'],
    ['input', 'output'],
  ] as const
  let planned = 0
  for (let i = 0; i < CASES; i++) {
    const [input, output] = places[random(places.length)] as readonly [string, string]
    const spans = Array.from({ length: 4 }, (_, n) => {
      // Families, in which one span's words are lent to another.
      const parent = { parentSpanId: random(2) === 0 ? '' : '0000000000000001' }
      const kind = { 'gen_ai.operation.name': ['chat', 'invoke_agent', 'execute_tool'][random(3)] as string }
      const values = { ...kind, [input]: messagesOf(random), [output]: messagesOf(random), 'session.id': 's' }
      return span(1, 1 + n, { name: 'chat', ...parent }, values)
    })
    const body = protobufBytes(request(spans))
    const expected = become(body, objects).all
    for (const round of random(3) === 0 ? [1, 2, 3] : [1]) {
      const made = become(body, parsers)
      if (made.all !== expected) return t.fail(`case ${i}, round ${round}`)
      planned += made.spans - made.objects
    }
    const json = Buffer.from(JSON.stringify(request(spans)))
    if (become(json, parsers, 'json').all !== become(json, objects, 'json').all) return t.fail(`case ${i} in JSON`)
  }
  t.ok(planned > CASES, `${planned} spans were read by plans`)
})

t.test('messages of many lengths, with and without something to be masked', async t => {
  for (const length of [1_000, 2_100, 8_100, 8_300, 16_500, 65_600]) {
    for (const word of ['plain words ', 'the token sk-abcdefgh12345678 ']) {
      const content = word.repeat(Math.ceil(length / word.length)).slice(0, length)
      const values = {
        ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o' },
        'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content }] }]),
        'app.text': content,
        'app.calm': JSON.stringify({ key: content, api_key: null }),
        'app.held': JSON.stringify({ api_key: 'k', content }),
      }
      const body = protobufBytes(request([span(1, 2, { name: 'chat' }, values), span(1, 3, { name: 'chat' }, values)]))
      const expected = become(body, objects).all
      for (const round of [1, 2, 3])
        if (become(body, parsers).all !== expected) t.fail(`${length} ${word}, round ${round}`)
    }
  }
})
