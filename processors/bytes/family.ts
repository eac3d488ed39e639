// Messages that are spread over numbered attributes, in bytes: spans of one likeness have the same keys, and so the same tree of messages
// with other texts in it. Its JSON is what always stands there with the texts between, and the text that is shown mostly stands in one
// attribute. Whatever is less simple is left to parsers/otlp/families.ts and messages.ts.
import { randomUUID } from 'node:crypto'
import { isObject, jsonText } from '#proto/json.ts'
import { isJsonSpace } from '../columns/utf8.ts'
import { type Said, structureKey } from '../parsers/otlp/content.ts'
import { readFamily } from '../parsers/otlp/families.ts'
import { type Role, roleNamed, type Side } from '../parsers/otlp/messages.ts'
import { isWordsType, textOfCallTo } from '../parsers/otlp/parts.ts'
import type { Rule } from '../parsers/otlp/rules.ts'
import { type Attributes, Excerpt, mayBePrinted, valueAt } from './content.ts'
import { Interned } from './interned.ts'
import { begin, end, GROWTH, put, putString, putText, sizeOfString, type Written } from './json-bytes.ts'
import { A, ATTRIBUTE_INTS, Kind } from './spans.ts'
import { Letters, lettersOf } from './suspicion.ts'

/** A message: where its texts stand among the attributes; -1 = it has none. */
interface MessageForm {
  readonly role: number
  readonly answers: number
  /** Its words, or a list of parts … */
  readonly content: number
  readonly parts: readonly PartForm[] | null
  /** … or something else, where nobody but the way of objects looks. */
  readonly odd: boolean
  /** Calls of tools; null = they are not simple. */
  readonly calls: readonly CallForm[] | null
}

interface CallForm {
  readonly name: number
  readonly args: number
}

interface PartForm {
  readonly type: number
  readonly text: number
  readonly odd: boolean
}

/** The messages of one likeness. */
export interface FamilyForm {
  /** What stands before the value of each leaf, and behind the last. */
  readonly pieces: readonly Uint8Array[]
  readonly leaves: readonly number[]
  readonly fixedBytes: number
  readonly messages: readonly MessageForm[]
}

/** What stands for the value of a leaf while the tree is looked at: no text that a sender could know. */
const MARK = `${randomUUID()}#`
const MARKED = new RegExp(`"${MARK}(\\d+)"`)

/** Names in a message that make it another kind of message. */
const odd = ['message', 'data', 'lc', 'kwargs', 'parts', 'text', 'type']

/** The form of the messages below a prefix, whose attributes are `keys`, by their positions; null when it is not simple. */
export function familyForm(keys: readonly string[], positions: readonly number[], prefix: string): FamilyForm | null {
  const marks = new Map(keys.map((key, i) => [key, MARK + positions[i]] as const))
  const messages = readFamily(marks, prefix)?.messages ?? []
  if (!messages.every(isObject) || messages.some(message => odd.some(name => Object.hasOwn(message, name)))) return null
  const forms = messages.map((message): MessageForm => {
    const { content } = message
    const parts = Array.isArray(content) ? content.map(partForm) : null
    const plain = content === undefined || leafOf(content) >= 0
    return {
      ...{ role: leafOf(message.role), answers: leafOf(message.tool_call_id), content: leafOf(content), parts },
      odd: !plain && parts === null,
      calls: callForms(message.tool_calls),
    }
  })
  if (forms.every(({ role }) => role < 0)) return null
  const split = jsonText(messages).split(MARKED)
  const pieces = split.filter((_, i) => i % 2 === 0).map(text => Buffer.from(text))
  const leaves = split.filter((_, i) => i % 2 === 1).map(Number)
  return { pieces, leaves, fixedBytes: pieces.reduce((sum, { length }) => sum + length, 0), messages: forms }
}

function partForm(part: unknown): PartForm {
  if (!isObject(part)) return { type: -1, text: -1, odd: true }
  const other = ['thought', 'content', 'refusal', 'transcript'].some(name => Object.hasOwn(part, name))
  return { type: leafOf(part.type), text: leafOf(part.text), odd: other || leafOf(part.text) < 0 }
}

function callForms(calls: unknown): CallForm[] | null {
  if (calls === undefined) return []
  if (!Array.isArray(calls)) return null
  const forms = calls.map((call: unknown): CallForm | null => {
    const inner = isObject(call) && !Object.hasOwn(call, 'type') ? call.function : undefined
    if (!isObject(inner) || Object.keys(inner).some(name => name !== 'name' && name !== 'arguments')) return null
    return leafOf(inner.name) < 0 ? null : { name: leafOf(inner.name), args: leafOf(inner.arguments) }
  })
  return forms.every(form => form !== null) ? forms : null
}

/** The position of the attribute whose value stands here, -1 for what is no leaf. */
function leafOf(value: unknown): number {
  return typeof value === 'string' && value.startsWith(MARK) ? Number(value.slice(MARK.length)) : -1
}

// ---- the text that is shown --------------------------------------------------------------------------------------------

/** What a side of the span says; null when that is not simple. */
export function saidInFamily(form: FamilyForm, side: Side, rule: Rule, attributes: Attributes): Said | null {
  const found = shownIn(form, side, attributes)
  const calls = found === Text.none && side === 'output' ? callsIn(form, attributes) : ''
  if (calls === '' && found !== Text.words) return null
  const structure = writtenMessages(form, structureKey(rule), attributes)
  if (structure === null) return null
  if (calls !== '') return { text: calls, structure, from: rule.label, words: false }
  const { from, to, letters } = shown
  return new Excerpt(attributes.bytes, from, to, letters === Letters.ascii, rule.label, structure)
}

/** Where it stands; see `shownIn`. */
const shown = { from: 0, to: 0, letters: 0 }

/** Finds the text that is shown of the messages: in `shown`, where it stands in an attribute as it is. */
function shownIn({ messages }: FamilyForm, side: Side, attributes: Attributes): number {
  if (roles.isFull) roles.clear()
  if (!messages.some(({ role }) => isString(role, attributes))) return Text.odd
  let found: number = Text.none
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i] as MessageForm
    const role = roleOf(message, attributes)
    if (role === null) return Text.odd
    if (side === 'output' && role === 'user') break
    if (!speaks(role, side)) continue
    const said = textOf(message, attributes)
    // Of several answers all are shown.
    if (said === Text.odd || (said === Text.words && found === Text.words)) return Text.odd
    if (said === Text.words) found = said
    if (found === Text.words && side === 'input') break
  }
  return found
}

const speaks = (role: Role, side: Side): boolean =>
  side === 'input' ? role === 'user' : role === 'assistant' || role === 'unknown'

/** The calls of an answer without words; '' where there are none, or none that are simple. */
function callsIn({ messages }: FamilyForm, attributes: Attributes): string {
  const texts: string[] = []
  const asked = messages.findLastIndex(message => roleOf(message, attributes) === 'user')
  for (const message of messages.slice(asked + 1)) {
    if (!speaks(roleOf(message, attributes) ?? 'unknown', 'output')) continue
    if (message.calls === null || message.role < 0) return ''
    for (const { name, args } of message.calls) {
      if (!isString(name, attributes) || (args >= 0 && !isString(args, attributes))) return ''
      const named = valueAt(attributes, name) as string
      if (named !== '') texts.push(textOfCallTo(named, args < 0 ? undefined : valueAt(attributes, args)))
    }
  }
  return texts.join('\n')
}

const Text = { none: 0, words: 1, odd: 2 } as const

/** Tells whether a message has words, and where: in `shown`. */
function textOf({ content, parts, odd }: MessageForm, attributes: Attributes): number {
  if (odd) return Text.odd
  if (parts === null) return content < 0 ? Text.none : wordsAt(content, attributes)
  let found: number = Text.none
  for (const part of parts) {
    if (part.odd || !isPartOfWords(part, attributes)) return Text.odd
    const said = wordsAt(part.text, attributes)
    if (said === Text.odd || (said === Text.words && found === Text.words)) return Text.odd
    if (said === Text.words) found = said
  }
  return found
}

function isPartOfWords({ type }: PartForm, { data, first, bytes }: Attributes): boolean {
  if (type < 0) return true
  const row = (first + type) * ATTRIBUTE_INTS
  if (data[row + A.kind] !== Kind.text) return false
  return isWordsType(bytes.toString('latin1', data[row + A.x] as number, data[row + A.y] as number))
}

const [LIST, OBJECT] = [0x5b, 0x7b]

/** True for what may be a list of parts in JSON. */
function mayBeParts(bytes: Buffer, from: number, to: number): boolean {
  let listed = false
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number
    if (isJsonSpace(byte)) continue
    if (listed || byte !== LIST) return listed && byte === OBJECT
    listed = true
  }
  return false
}

function wordsAt(position: number, { data, first, bytes }: Attributes): number {
  const row = (first + position) * ATTRIBUTE_INTS
  if (data[row + A.kind] !== Kind.text) return Text.odd
  const [from, to] = [data[row + A.x] as number, data[row + A.y] as number]
  if (from === to) return Text.none
  if (mayBeParts(bytes, from, to) || mayBePrinted(bytes, from, to)) return Text.odd
  shown.letters = lettersOf(bytes, from, to)
  shown.from = from
  shown.to = to
  return shown.letters === Letters.none ? Text.odd : Text.words
}

function isString(position: number, { data, first }: Attributes): boolean {
  return position >= 0 && data[(first + position) * ATTRIBUTE_INTS + A.kind] === Kind.text
}

const roles = new Interned<Role>(256, roleNamed)
const ROLE_BYTES = 64

/** The role of a message, null when it has to be looked at. */
function roleOf({ role, answers }: MessageForm, attributes: Attributes): Role | null {
  const { data, first, bytes } = attributes
  if (isString(answers, attributes)) {
    const row = (first + answers) * ATTRIBUTE_INTS
    if (data[row + A.x] !== data[row + A.y]) return 'tool'
  }
  if (!isString(role, attributes)) return 'unknown'
  const row = (first + role) * ATTRIBUTE_INTS
  const [from, to] = [data[row + A.x] as number, data[row + A.y] as number]
  const known = to - from > ROLE_BYTES ? -1 : roles.of(bytes, from, to)
  return known < 0 ? null : (roles.values[known] as Role)
}

// ---- the messages ------------------------------------------------------------------------------------------------------

/** Longest text of a number. */
const NUMBER_BYTES = 32
/** What may be wasted of a buffer: larger messages are measured. */
const WASTE_BYTES = 16 * 1024

/** The messages in JSON; null when one of their values has to be looked at. */
function writtenMessages(form: FamilyForm, key: string, attributes: Attributes): Written | null {
  const { pieces, leaves } = form
  const { data, first, bytes } = attributes
  let most = mostBytes(form, attributes, rough)
  if (most > WASTE_BYTES) most = mostBytes(form, attributes, sizeOfString)
  if (most < 0) return null
  begin(most)
  for (let i = 0; i < leaves.length; i++) {
    put(pieces[i] as Uint8Array)
    const leaf = leaves[i] as number
    const row = (first + leaf) * ATTRIBUTE_INTS
    if (data[row + A.kind] !== Kind.text) {
      putText(jsonText(valueAt(attributes, leaf)))
      continue
    }
    const [from, to] = [data[row + A.x] as number, data[row + A.y] as number]
    if (putString(bytes, from, to) > 0x7f && lettersOf(bytes, from, to) === Letters.none) return null
  }
  put(pieces[leaves.length] as Uint8Array)
  return end(key)
}

const rough = (_bytes: Buffer, from: number, to: number): number => 2 + GROWTH * (to - from)

/** Bytes that the JSON takes at most; -1 when it holds what is no text and no number. */
function mostBytes(
  { leaves, fixedBytes }: FamilyForm,
  { data, first, bytes }: Attributes,
  sizeOf: typeof rough,
): number {
  let most = fixedBytes
  for (const leaf of leaves) {
    const row = (first + leaf) * ATTRIBUTE_INTS
    const kind = data[row + A.kind] as number
    if (kind === Kind.structure) return -1
    most += kind === Kind.text ? sizeOf(bytes, data[row + A.x] as number, data[row + A.y] as number) : NUMBER_BYTES
  }
  return most
}
