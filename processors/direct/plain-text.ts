// Bytes of a text -> is it certain that it holds no secret? A cheap look that may say no to a harmless text, never yes to one that
// `maskText` would change: three bytes at a time against the beginnings of everything that raises suspicion.
import { secretsVersion, suspicionWords } from '../parsers/secrets.ts'

/** Fifteen bits: five of each byte, which fold the cases of letters together. Others meet by chance; that costs a second look. */
const TRIPLES = 0x8000
const SUSPECT = 1
const OPENING = 2
/** First three characters of what `SECRET_VALUE` knows: there a text can only begin with them. */
const openings = ['bea', 'bas', 'dig', 'eyj', 'sk-', 'rk-', 'pk-', 'gho', 'ghp', 'ghu', 'ghs', 'ghr', 'xox', 'aki']

const marks = new Uint8Array(TRIPLES)
let marked = -1
/** An operator's word that three bytes cannot stand for: every text has to be looked at. */
let everything = false

function tripleOf(word: string): number {
  return ((word.charCodeAt(0) & 31) << 10) | ((word.charCodeAt(1) & 31) << 5) | (word.charCodeAt(2) & 31)
}

/** A dash stands for an underscore, too. */
function spellings(word: string): string[] {
  return Array.from({ length: 8 }, (_, choice) =>
    Array.from(word, (letter, i) => (letter === '-' || letter === '_' ? '-_'[(choice >> i) & 1] : letter)).join(''),
  )
}

function mark(): void {
  marks.fill(0)
  everything = false
  for (const word of suspicionWords) {
    const beginning = word.slice(0, 3)
    if (/^[ -~]{3}$/.test(beginning)) {
      for (const spelling of spellings(beginning)) marks[tripleOf(spelling)] = SUSPECT
    } else everything = true
  }
  for (const opening of openings) marks[tripleOf(opening)] = (marks[tripleOf(opening)] as number) | OPENING
  marked = secretsVersion()
}

/** True when `maskText` surely leaves the text as it is. */
export function isPlainText(bytes: Uint8Array, start: number, end: number): boolean {
  if (marked !== secretsVersion()) mark()
  if (everything) return false
  if (end - start < 3) return true
  let triple = (((bytes[start] as number) & 31) << 5) | ((bytes[start + 1] as number) & 31)
  let found = SUSPECT | OPENING
  for (let i = start + 2; i < end; i++) {
    triple = ((triple << 5) | ((bytes[i] as number) & 31)) & (TRIPLES - 1)
    if (((marks[triple] as number) & found) !== 0) return false
    found = SUSPECT
  }
  return true
}
