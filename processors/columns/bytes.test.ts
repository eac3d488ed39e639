// Values that come as bytes make the columns that the same values make as text, in whatever order both come.
import t from 'tap'
import { uuidBytes, uuidText } from '#proto/ids.ts'
import { sqlMillis, sqlNanos } from '#proto/time.ts'
import { type Random, randomOf } from '#runtime/seeded.ts'
import { cutBytes, cutUnits } from '../parsers/text.ts'
import type { Column } from './column.ts'
import { TimeColumn, UuidColumn } from './fixed.ts'
import { MapColumn } from './nested.ts'
import { DictionaryColumn, TextColumn } from './text.ts'
import { cutAtBytes, cutAtUnits } from './utf8.ts'

const CASES = Number(process.argv[2] ?? 4_000)
const PIECES = ['', 'a', 'word ', 'ü', '請', '😀', '\u0000', '\n', '"', '\\', '/', '\u007f', '\u2028', 'x'.repeat(150)]

function textOf(random: Random): string {
  return Array.from({ length: random(random(8) === 0 ? 60 : 6) }, () => PIECES[random(PIECES.length)]).join('')
}

const bytesOf = (column: Column): string => {
  const bytes = new Uint8Array(column.byteLength())
  column.write(bytes, 0)
  return Buffer.from(bytes).toString('latin1')
}

/** A text between others, so that positions are not zero. */
function placed(text: string | Uint8Array): { from: Buffer; start: number; end: number } {
  const bytes = Buffer.from(text as string)
  return { from: Buffer.concat([Buffer.from('<<'), bytes, Buffer.from('>>')]), start: 2, end: 2 + bytes.length }
}

t.test('texts and dictionaries, added as bytes or as text', async t => {
  const random = randomOf(1)
  const [text, bytes, steady] = [new TextColumn(), new TextColumn(), new TextColumn()]
  const [words, mixed] = [new DictionaryColumn(), new DictionaryColumn()]
  for (let i = 0; i < CASES; i++) {
    const value = random(12) === 0 ? textOf(random).repeat(random(300)) : textOf(random)
    const { from, start, end } = placed(value)
    text.add(value)
    bytes.addBytes(from, start, end)
    words.add(value)
    steady.addSteady(from, start, end)
    if (random(3) === 0) mixed.add(value)
    else mixed.addBytes(from, start, end)
    if (i % 500 !== 499) continue
    t.equal(bytesOf(bytes), bytesOf(text))
    t.equal(bytesOf(steady), bytesOf(text))
    t.equal(bytesOf(mixed), bytesOf(words))
    for (const column of [text, bytes, steady, words, mixed]) column.clear()
  }
})

/** JSON of a text with escapes where none are needed, and halves of surrogate pairs. */
function written(random: Random, text: string): string {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  const odd = ['\\ud800', '\\udc00', '\\ud83d\\ude00', '\\uD83D\\u0041', '\\ude00\\ud83d', '\\/', '\\b\\f\\r\\t']
  return Array.from(text)
    .map(character => {
      const choice = random(6)
      if (choice === 0) return character.split('').map(escaped).join('')
      const plain = JSON.stringify(character).slice(1, -1)
      return choice === 1 ? plain + (odd[random(odd.length)] as string) : plain
    })
    .join('')
}

t.test('strings of JSON are decoded as JSON.parse does, without half characters', async t => {
  const random = randomOf(2)
  const [text, bytes] = [new TextColumn(), new TextColumn()]
  for (let i = 0; i < CASES; i++) {
    const json = written(random, textOf(random))
    const { from, start, end } = placed(json)
    const value = JSON.parse(`"${json}"`) as string
    text.add(value)
    bytes.addJson(from, start, end)
    const last = bytes.data.subarray(bytes.lastAt, bytes.end).toString()
    if (last !== value.toWellFormed()) t.equal(last, value.toWellFormed())
  }
  t.equal(bytesOf(bytes), bytesOf(text))
})

t.test('strings of JSON become one text, a line each', async t => {
  const random = randomOf(5)
  const [text, bytes] = [new TextColumn(), new TextColumn()]
  for (let i = 0; i < CASES; i++) {
    const lines = Array.from({ length: 1 + random(4) }, () => written(random, textOf(random)))
    const runs: number[] = []
    const parts: Buffer[] = []
    let at = 0
    for (const line of lines) {
      const { from, start, end } = placed(line)
      runs.push(at + start, at + end)
      parts.push(from)
      at += from.length
    }
    const value = lines.map(line => JSON.parse(`"${line}"`) as string).join('\n')
    text.add(value)
    bytes.addJsonLines(Buffer.concat(parts), runs)
    const last = bytes.data.subarray(bytes.lastAt, bytes.end).toString()
    if (last !== value.toWellFormed()) t.equal(last, value.toWellFormed())
  }
  t.equal(bytesOf(bytes), bytesOf(text))
})

t.test('texts are cut where the cut of a string is', async t => {
  const random = randomOf(3)
  let wrong = 0
  for (let i = 0; i < CASES; i++) {
    const value = textOf(random)
    const { from, start, end } = placed(value)
    const limit = random(2) === 0 ? random(12) : 100 + random(100)
    const units = from.subarray(start, cutAtUnits(from, start, end, limit))
    const bytes = from.subarray(start, cutAtBytes(from, start, end, limit))
    if (Buffer.from(units).toString() !== cutUnits(value, limit)) wrong++
    if (Buffer.from(bytes).toString() !== cutBytes(value, limit)) wrong++
  }
  t.equal(wrong, 0)
})

t.test('uuids and times', async t => {
  const random = randomOf(4)
  const [text, bytes] = [new UuidColumn(), new UuidColumn()]
  const times = [new TimeColumn(9), new TimeColumn(9), new TimeColumn(3), new TimeColumn(3)] as const
  let uuid = uuidText(Buffer.alloc(16))
  let at = { ms: 0, ns: 0 }
  for (let i = 0; i < CASES; i++) {
    if (random(3) > 0) uuid = uuidText(Buffer.from(Array.from({ length: 16 }, () => random(256))))
    if (random(3) > 0) at = { ms: random(2 ** 31) * 4000, ns: random(1_000_000) }
    text.add(uuid)
    const { from, start } = placed(random(2) === 0 ? uuid : uuid.toUpperCase())
    if (random(3) === 0) bytes.add(uuid)
    else if (random(2) === 0) bytes.addCharacters(from, start)
    else bytes.addBytes(placed(uuidBytes(uuid)).from, 2)
    times[0].add(sqlNanos(at))
    times[2].add(sqlMillis(at.ms))
    if (random(3) === 0) {
      times[1].add(sqlNanos(at))
      times[3].add(sqlMillis(at.ms))
    } else {
      times[1].addInstant(at.ms, at.ns)
      times[3].addInstant(at.ms, at.ns)
    }
  }
  t.equal(bytesOf(bytes), bytesOf(text))
  t.equal(bytesOf(times[1]), bytesOf(times[0]))
  t.equal(bytesOf(times[3]), bytesOf(times[2]))
})

t.test('maps, entry by entry', async t => {
  const random = randomOf(5)
  const [map, entries] = [new MapColumn(), new MapColumn()]
  for (let i = 0; i < CASES / 4; i++) {
    const row = Object.fromEntries(Array.from({ length: random(5) }, () => [`k${random(9)}`, textOf(random)]))
    map.add(row)
    for (const [key, value] of Object.entries(row)) {
      const name = placed(key)
      const text = placed(value)
      entries.keys.addBytes(name.from, name.start, name.end)
      entries.values.addBytes(text.from, text.start, text.end)
    }
    entries.endRow()
  }
  t.equal(bytesOf(entries), bytesOf(map))
})
