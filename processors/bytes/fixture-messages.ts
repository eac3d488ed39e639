// For tests: lists of messages as senders write them, as they may be written, and as nobody would, in JSON.
import type { Random } from '#runtime/seeded.ts'

const TEXTS = [
  ...[
    '',
    'a',
    'Where is my parcel?',
    ' two\nlines\t',
    'ünïcödé 請求 \u{1f600}',
    '\ud83d',
    '\ude00 half',
    '"quoted" \\ back',
    '\u2028',
  ],
  ...[
    'StopEvent(result=1)',
    'Abc',
    '[{"type":"text","text":"inner"}]',
    '\u00a0[{"type":"text"}]',
    '\u3000[ {}]',
    '[masked]',
    '[',
  ],
  ...[
    'the api_key=abc',
    'authorization: Bearer abcdefgh12345678',
    '{"password":"p"}',
    'https://x.y/?api_key=k&b=1',
    '漢字',
    '\ufeffx',
  ],
  ...[
    'word '.repeat(30),
    'long words and "quotes"\n'.repeat(80),
    '\u{1f600}'.repeat(200),
    'é'.repeat(700),
    '\\"'.repeat(300),
  ],
]
const ROLES = [
  'user',
  'user',
  'assistant',
  'assistant',
  'system',
  'tool',
  'human',
  'ai',
  'model',
  'User',
  'developer',
  'odd',
  '',
]
const VALUES = [
  'null',
  '0',
  '12345678901234567890',
  '1e400',
  'true',
  '[]',
  '{}',
  '[[1]]',
  '{"a":{"b":[]}}',
  '"x"',
  '""',
  '-',
  '{"a":1,}',
]
const OTHER_KEYS = [
  'name',
  'finish_reason',
  'id',
  'tool_calls',
  '__proto__',
  'refusal',
  'annotations',
  'k"ey',
  'thought',
]
const ODD_KEYS = ['message', 'data', 'kwargs', 'lc', 'type', 'text', 'tool_call_id', 'role', 'content', 'parts']

const one = <T>(list: readonly T[], random: Random): T => list[random(list.length)] as T

/** A list of messages in JSON, or nearly. About half of them are as plain as most are. */
export function messagesOf(random: Random): string {
  const plain = random(2) === 0
  const messages = Array.from({ length: plain ? 1 + random(6) : random(6) }, () => messageOf(random, plain))
  const list = listOf(messages, random)
  switch (plain ? 0 : random(24)) {
    case 1:
      return list.slice(0, random(list.length))
    case 2:
      return `${list}${one([',', ' ', ']', '\n\t', 'x'], random)}`
    case 3:
      return JSON.stringify(list)
    case 4:
      return listOf([list], random)
    case 5:
      return listOf([...messages, one(VALUES, random)], random)
    default:
      return list
  }
}

function messageOf(random: Random, plain: boolean): string {
  const odd = (chance: number): boolean => !plain && random(chance) === 0
  const entries: [string, string][] = []
  const role = one(plain ? ROLES.slice(0, 6) : ROLES, random)
  if (!odd(12)) entries.push(['role', odd(20) ? one(VALUES, random) : textOf(role, random)])
  if (random(2) === 0) entries.push(['parts', listOf(partsOf(random, plain), random)])
  else if (random(3) === 0) entries.push(['content', listOf(partsOf(random, plain), random)])
  else if (odd(8)) entries.push(['content', one(VALUES, random)])
  else
    entries.push(['content', random(8) === 0 ? 'null' : textOf(plain ? plainText(random) : one(TEXTS, random), random)])
  if (random(3) === 0) entries.push([one(OTHER_KEYS, random), one(VALUES.slice(0, 10), random)])
  if (plain ? role === 'tool' : odd(6)) entries.push(['tool_call_id', one(['"c1"', '""', 'null'], random)])
  if (random(8) === 0) entries.push(['type', '"message"'])
  if (odd(5)) {
    entries.push([one(ODD_KEYS, random), random(2) === 0 ? one(VALUES, random) : textOf(one(TEXTS, random), random)])
  }
  return objectOf(entries, random)
}

/** A text that begins with a letter and looks like nothing else. */
const plainText = (random: Random): string => `so ${one(TEXTS, random)}`

function partsOf(random: Random, plain: boolean): string[] {
  return Array.from({ length: random(4) }, () => {
    if (!plain && random(10) === 0) return random(2) === 0 ? one(VALUES, random) : textOf(one(TEXTS, random), random)
    return partOf(random, plain)
  })
}

function partOf(random: Random, plain: boolean): string {
  const entries: [string, string][] = []
  const text = textOf(plain ? plainText(random) : one(TEXTS, random), random)
  switch (random(plain ? 5 : 9)) {
    case 0:
      entries.push(
        ['type', '"tool_call"'],
        ['id', '"c1"'],
        ['name', '"look_up"'],
        ['arguments', '{"order":{"id":9007199254740993}}'],
      )
      break
    case 1:
      entries.push(
        ['type', one(['"tool_call_response"', '"reasoning"', '"thinking"', '"tool_result"'], random)],
        ['content', text],
      )
      break
    case 2:
      entries.push(['type', one(['"text"', '"input_text"', '"output_text"'], random)], ['text', text])
      break
    case 6:
      entries.push(
        ['type', one(['"image"', '"refusal"', '"blob"', '"odd"', 'null', '7', '"message"'], random)],
        ['content', text],
      )
      break
    case 7:
      entries.push(['text', text], ['content', textOf(one(TEXTS, random), random)], ['thought', one(VALUES, random)])
      break
    case 8:
      entries.push(['type', '"text"'], ['content', one([...VALUES, listOf([text], random)], random)])
      break
    default:
      entries.push(['type', '"text"'], ['content', text])
  }
  return objectOf(entries, random)
}

function objectOf(entries: [string, string][], random: Random): string {
  const order = random(4) === 0 ? entries.toReversed() : entries
  return `{${order.map(([key, value]) => `${textOf(key, random)}${space(random)}:${space(random)}${value}`).join(`${space(random)},${space(random)}`)}}`
}

function listOf(elements: readonly string[], random: Random): string {
  return `[${space(random)}${elements.join(`${space(random)},${space(random)}`)}${space(random)}]`
}

const space = (random: Random): string => (random(8) === 0 ? one([' ', '\n', '\t\r ', '  '], random) : '')

/** A JSON string, some of its characters as escapes that they do not need. */
function textOf(text: string, random: Random): string {
  const json = JSON.stringify(text)
  if (random(8) > 0 || json.length < 3) return json
  const at = 1 + random(json.length - 2)
  const unit = json.charCodeAt(at)
  // Neither a part of an escape nor half of a pair.
  if (/[\\"\ud800-\udfff]/.test(json.slice(Math.max(1, at - 6), at + 1))) return json
  return `${json.slice(0, at)}\\u${unit.toString(16).padStart(4, '0')}${json.slice(at + 1)}`
}
