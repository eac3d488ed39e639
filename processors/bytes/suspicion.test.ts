// Looks at texts find what a plain search for the words finds, whichever way they take: random texts made of pieces of the words, in
// either case, between other bytes, with operators' own words.
import { isAscii } from 'node:buffer'
import t, { type Test } from 'tap'
import { type Random, randomOf } from '#runtime/seeded.ts'
import { maskAlso, secretBeginnings, suspicionWords } from '../parsers/secrets.ts'
import { Look, lookAt } from './suspicion.ts'

const CASES = 20_000

/** What is to be found, one word after the other. */
function plainLook(text: Buffer): number {
  const words = suspicionWords.map(asciiLower)
  if (!words.every(word => /^[a-z-]+$/.test(word))) return Look.suspicious
  const plain = asciiLower(text.toString('latin1'))
  if (plain.length > 2 && secretBeginnings.includes(plain.slice(0, 2))) return Look.suspicious
  if (words.some(word => plain.includes(word))) return Look.suspicious
  return isAscii(text) ? Look.ascii : 0
}

/** Only ASCII has cases here, and `_` is `-`. */
function asciiLower(text: string): string {
  return text.replaceAll(/[A-Z_]/g, each => (each === '_' ? '-' : each.toLowerCase()))
}

function textOf(random: Random): Buffer {
  const pieces: string[] = []
  // Around the length at which another way is taken, and around its steps of sixteen bytes.
  for (let left = random(3) === 0 ? random(300) : random(40); left > 0; ) {
    const piece = pieceOf(random)
    pieces.push(piece)
    left -= piece.length
  }
  return Buffer.from(pieces.join(''), 'latin1')
}

function pieceOf(random: Random): string {
  const word = suspicionWords[random(suspicionWords.length)] as string
  switch (random(24)) {
    case 0:
      return cased(word, random)
    case 1:
    case 2:
    case 3:
      return cased(word.slice(0, random(word.length)), random)
    case 4:
      return cased(word.slice(random(word.length)), random)
    case 5:
      return String.fromCharCode(random(256))
    case 6:
      return String.fromCharCode(word.charCodeAt(random(word.length)) ^ (1 << random(8)))
    default:
      return ' etaoinshrdlu.{"}'.charAt(random(17)).repeat(1 + random(3))
  }
}

function cased(word: string, random: Random): string {
  return Array.from(word, letter => {
    if (letter === '-' || letter === '_') return '-_'.charAt(random(2))
    return random(2) === 0 ? letter.toUpperCase() : letter.toLowerCase()
  }).join('')
}

/** Compares texts, which stand among other bytes; returns how often each answer was given. */
function compare(t: Test, random: Random): Record<number, number> {
  const seen: Record<number, number> = {}
  const around = Buffer.from('secretoken'.repeat(2))
  for (let i = 0; i < CASES; i++) {
    const text = textOf(random)
    const bytes = Buffer.concat([around.subarray(0, random(10)), text, around.subarray(random(10))])
    const from = bytes.indexOf(text)
    const look = lookAt(bytes, from, from + text.length)
    if (look !== plainLook(text)) t.equal(look, plainLook(text), JSON.stringify(text.toString('latin1')))
    seen[look] = (seen[look] ?? 0) + 1
  }
  return seen
}

t.test('what is looked at in steps is what a plain search finds', async t => {
  const seen = compare(t, randomOf(1))
  for (const look of [0, Look.ascii, Look.suspicious]) t.ok((seen[look] ?? 0) > CASES / 20, `${look}: ${seen[look]}`)
})

t.test('a text is found out wherever a word stands in it, and by no part of one', async t => {
  for (const word of suspicionWords) {
    for (let at = 0; at < 80; at++) {
      const text = Buffer.from(`${'.'.repeat(at)}${word}${'.'.repeat(80 - at)}`)
      for (const [from, to] of [
        [0, text.length],
        [0, at + word.length],
        [0, at + word.length - 1],
        [at, text.length],
        [at + 1, text.length],
      ] as const) {
        const [look, plain] = [lookAt(text, from, to), plainLook(text.subarray(from, to))]
        if (look !== plain) t.equal(look, plain, `${word} at ${at}, from ${from} to ${to}`)
      }
    }
  }
  t.equal(lookAt(Buffer.alloc(100_000, 0xe9), 0, 100_000), 0)
  t.equal(lookAt(Buffer.alloc(100_000, 0x65), 0, 100_000), Look.ascii)
})

t.test("operators' own words count from the moment they are known, many and short ones too", async t => {
  const text = Buffer.from(`${' '.repeat(60)}the vault-PIN of a shop`)
  t.equal(lookAt(text, 0, text.length), Look.ascii)
  maskAlso(['vault_pin', 'qz', 'iban', 'authority', 'oken', 'x-wallet-', 'zq-'])
  t.equal(lookAt(text, 0, text.length), Look.suspicious)
  const seen = compare(t, randomOf(2))
  for (const look of [0, Look.ascii, Look.suspicious]) t.ok((seen[look] ?? 0) > CASES / 20, `${look}: ${seen[look]}`)
  maskAlso(['j'])
  compare(t, randomOf(3))
})

t.test('a word that is not made of letters makes every text suspicious', async t => {
  maskAlso(['pin2'])
  t.equal(lookAt(Buffer.from('nothing'), 0, 7), Look.suspicious)
  t.same(compare(t, randomOf(4)), { [Look.suspicious]: CASES })
})
