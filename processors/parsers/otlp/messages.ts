// Messages in all their shapes -> the text that a person reads. Of an input it is what the user said last (the whole history
// would repeat with every turn), of an output what the assistant answered.
//
//   list of messages   [{role, parts | content | tool_calls}]       parts of OpenTelemetry, OpenAI, Anthropic, Gemini, Bedrock
//   a body around it   {messages}, {choices: [{message}]}, {candidates}, {generations: [[{text}]]}, {prompt}
//   a wrapper          {input}, {output}, {args, kwargs} … with a single text inside
//
// A value of no known shape has no text (null): the caller then shows it as it was sent.
import { isObject, type JsonObject, readJsonText } from '#proto/json.ts'
import { callsOf, isCall, isResult, MAX_LEVELS, own, textOfCall, textOfParts, textOfResults } from './parts.ts'
import { MAX_PARSED_UNITS, unwrapped } from './unwrap.ts'

export type Side = 'input' | 'output'

/** A text to show. `words`: somebody said it; else it stands for a call of a tool or its result. */
export interface Shown {
  readonly text: string
  readonly words: boolean
}

/** The text to show for a value, or null when it has no known shape. Never throws. */
export function displayText(value: unknown, side: Side): Shown | null {
  return shownOf(unwrapped(value), side, 0)
}

const words = (text: string): Shown => ({ text, words: true })
const calls = (list: readonly string[]): Shown | null =>
  list.length === 0 ? null : { text: list.join('\n'), words: false }

function shownOf(value: unknown, side: Side, level: number): Shown | null {
  if (typeof value === 'string') return words(value)
  if (level >= MAX_LEVELS) return null
  if (Array.isArray(value)) return shownOfList(value, side, level)
  return isObject(value) ? shownOfObject(value, side, level) : null
}

function shownOfList(list: readonly unknown[], side: Side, level: number): Shown | null {
  if (list.length === 0) return null
  // Lists of JSON texts are written by exporters whose attributes cannot nest.
  const entries = list.map(unwrapped).map(entry => (isPair(entry) ? { role: entry[0], content: entry[1] } : entry))
  if (entries.length === 1 && Array.isArray(entries[0])) return shownOf(entries[0], side, level + 1)
  const objects = entries.filter(isObject)
  if (objects.length > 0 && objects.length === entries.length) {
    if (objects.some(isMessage)) return ofMessages(objects.map(unpacked), side)
    const parts = textOfParts(objects)
    if (parts !== '') return words(parts)
    if (objects.every(isCall)) return calls(objects.map(textOfCall))
    return objects.length === 1 ? shownOf(objects[0], side, level + 1) : null
  }
  return entries.every(entry => typeof entry === 'string') ? words(entries.join('\n')) : null
}

/** LangChain's short form of a message: ["user", "Hi"]. */
function isPair(entry: unknown): entry is readonly [string, string] {
  if (!Array.isArray(entry) || entry.length !== 2) return false
  const [role, text] = entry as readonly unknown[]
  return typeof role === 'string' && typeof text === 'string' && roles.has(role.toLowerCase())
}

/** Keys of bodies that hold the conversation, whatever else stands beside them. */
const bodies = ['messages', 'contents', 'choices', 'candidates', 'generations', 'message', 'prompt', 'items', 'task']

/** Keys of wrappers: looked through only when nothing else beside them says anything. */
const wrappers: ReadonlySet<string> = new Set([
  ...['args', 'kwargs', 'inputs', 'outputs', 'input', 'output', 'text', 'content', 'value', 'query', 'question'],
  ...['answer', 'response', 'result', 'input_str', 'completion', 'parts', 'data', 'final_output', 'input_args'],
])

/** Keys that say something about the text beside them and are none themselves. */
const remarks: ReadonlySet<string> = new Set([
  ...['tags', 'metadata', 'config', 'id', 'type', 'role', 'model', 'usage', 'index', 'finish_reason', 'stop_reason'],
  ...['run_id', 'response_metadata', 'usage_metadata', 'additional_kwargs', 'llm_output', 'system', 'mime_type', 'lc'],
  ...[
    'reasoning',
    'rationale',
    'trajectory',
    'stopReason',
    'metrics',
    'finishReason',
    'thread_id',
    'session_id',
    'stream',
  ],
])

/** What a crew or one of its tasks came to: its own words, whatever messages stand beside them. */
function rawOf(object: JsonObject): string | null {
  const raw = own(object, 'raw')
  const isOfCrew = own(object, 'tasks_output') !== undefined || own(object, 'expected_output') !== undefined
  return isOfCrew && typeof raw === 'string' && raw !== '' ? raw : null
}

function shownOfObject(object: JsonObject, side: Side, level: number): Shown | null {
  const raw = side === 'output' ? rawOf(object) : null
  if (raw !== null) return words(raw)
  if (isMessage(object)) return ofMessages([unpacked(object)], side)
  const called = own(object, 'toolCalls') ?? own(object, 'tool_calls')
  if (Array.isArray(called)) {
    const text = own(object, 'text')
    const shown = typeof text === 'string' && text !== '' ? words(text) : calls(callsOf(called))
    if (shown !== null) return shown
  }
  for (const key of bodies) {
    const inner = own(object, key)
    if (inner !== undefined) {
      const shown = shownOf(unwrapped(inner), side, level + 1)
      if (shown !== null) return shown
    }
  }
  // Gemini's response.
  const content = own(object, 'content')
  if (isObject(content) && isMessage(content)) return ofMessages([content], side)
  // Bodies of OpenAI's Responses and of Bedrock hold the conversation under the name of the side.
  const body = unwrapped(own(object, side))
  if (isBody(body) || (typeof body === 'string' && typeof own(object, 'model') === 'string')) {
    const shown = shownOf(body, side, level + 1)
    if (shown !== null) return shown
  }
  return shownOfWrapper(object, side, level)
}

/** A list with messages, or an object around one. */
function isBody(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(entry => isObject(entry) && isMessage(entry))
  return isObject(value) && isObject(own(value, 'message'))
}

function shownOfWrapper(object: JsonObject, side: Side, level: number): Shown | null {
  const full = Object.keys(object).filter(key => !isEmpty(object[key]))
  // A call without arguments says nothing.
  if (full.length === 0) return nothing
  const speaking = full.filter(key => !remarks.has(key))
  const [only] = speaking
  if (only === undefined || speaking.length > 1) return null
  const inner = unwrapped(object[only])
  // One argument of any name: {kwargs: {question: "…"}}.
  if (typeof inner === 'string' && (wrappers.has(only) || level > 0)) return words(inner)
  return wrappers.has(only) ? shownOf(inner, side, level + 1) : null
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '' || value === false) return true
  if (Array.isArray(value)) return value.length === 0
  return isObject(value) && Object.keys(value).length === 0
}

// ---- messages ----------------------------------------------------------------------------------------------------------

export type Role = 'user' | 'assistant' | 'tool' | 'system' | 'unknown'

const roles: ReadonlyMap<string, Role> = new Map([
  ...['user', 'human', 'customer'].map(name => [name, 'user'] as const),
  ...['assistant', 'ai', 'model', 'bot', 'aimessagechunk'].map(name => [name, 'assistant'] as const),
  ...['tool', 'function', 'tool_result'].map(name => [name, 'tool'] as const),
  ...['system', 'developer'].map(name => [name, 'system'] as const),
])

/** What a name of a role means. */
export const roleNamed = (name: string): Role => roles.get(name.toLowerCase()) ?? 'unknown'

/** Where the name of a role stands: `type` in LangChain's own form. */
function roleOf(message: JsonObject): Role {
  // Whatever role it is sent under, what answers a call is a result.
  if (typeof own(message, 'tool_call_id') === 'string' && own(message, 'tool_call_id') !== '') return 'tool'
  for (const key of ['role', 'type']) {
    const name = own(message, key)
    const role = typeof name === 'string' ? roles.get(name.toLowerCase()) : undefined
    if (role !== undefined) return role
  }
  return 'unknown'
}

function isMessage(object: JsonObject): boolean {
  const inner = unpacked(object)
  if (typeof own(inner, 'role') === 'string') return true
  return roleOf(inner) !== 'unknown' && ('content' in inner || 'parts' in inner)
}

/** The message inside {message: {...}}, or inside LangChain's serialised form {lc, id: [..., "HumanMessage"], kwargs}. */
function unpacked(wrapped: JsonObject): JsonObject {
  const message = own(wrapped, 'message')
  const object = isObject(message) ? message : wrapped
  const data = own(object, 'data')
  if (isObject(data) && own(data, 'content') !== undefined) return { role: own(object, 'type'), ...data }
  const kwargs = own(object, 'kwargs')
  if (own(object, 'lc') === undefined || !isObject(kwargs)) return object
  const id = own(object, 'id')
  const name: unknown = Array.isArray(id) ? id.at(-1) : undefined
  const role = typeof name === 'string' ? /^(human|ai|system|tool)message/i.exec(name)?.[1] : undefined
  return role === undefined ? kwargs : { role, ...kwargs }
}

/** A list of messages has a known shape, also when there is nothing in it to show. */
function ofMessages(messages: readonly JsonObject[], side: Side): Shown {
  if (side === 'input') {
    // In the loop of an agent the last message is the result of a tool: the words are those of the user before it.
    const said = lastWords(messages, 'user') ?? lastWords(messages, 'unknown') ?? lastWords(messages, 'tool')
    return said ?? lastResults(messages) ?? lastWords(messages, 'assistant') ?? lastWords(messages, 'system') ?? nothing
  }
  const answers = messages.slice(messages.findLastIndex(message => roleOf(message) === 'user') + 1)
  const text = textOfAnswers(answers)
  if (text !== '') return words(text)
  return (
    calls(answers.filter(isSpoken).flatMap(callsOfMessage)) ??
    lastWords(answers, 'tool') ??
    lastResults(answers) ??
    nothing
  )
}

/** The words of several answers, one a line; pieces of one answer, as a stream brought them, as one. */
function textOfAnswers(answers: readonly JsonObject[]): string {
  let text = ''
  let goesOn = false
  for (const message of answers) {
    const said = isSpoken(message) ? textOfMessage(message) : ''
    if (said !== '') text += (text === '' || goesOn ? '' : '\n') + said
    goesOn = isPiece(message)
  }
  return text
}

const isSpoken = (message: JsonObject): boolean => ['assistant', 'unknown'].includes(roleOf(message))

/** True for a message that no reason ended, and that called no tool: the next one goes on with it. */
function isPiece(message: JsonObject): boolean {
  return isSpoken(message) && own(message, 'finish_reason') === '' && callsOfMessage(message).length === 0
}

const nothing: Shown = { text: '', words: false }

/** The words of the last message of a role that has any. */
function lastWords(messages: readonly JsonObject[], role: Role): Shown | null {
  for (const message of messages.toReversed()) {
    const text = roleOf(message) === role ? textOfMessage(message) : ''
    if (text !== '') return { text, words: role !== 'tool' }
  }
  return null
}

/** The results of tools in the last message that holds any. */
function lastResults(messages: readonly JsonObject[]): Shown | null {
  for (const message of messages.toReversed()) {
    const parts = own(message, 'content') ?? own(message, 'parts')
    const text = textOfResults(Array.isArray(parts) ? parts : [message])
    if (text !== '') return { text, words: false }
  }
  return null
}

/** The words of a message, '' when it has none. */
function textOfMessage(message: JsonObject): string {
  if (isResult(message) || own(message, 'type') === 'reasoning') return ''
  const content = unwrappedParts(own(message, 'content') ?? own(message, 'parts') ?? own(message, 'text'))
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return textOfParts(content)
  if (!isObject(content)) return ''
  const parts = own(content, 'parts')
  return textOfParts(isObject(parts) || Array.isArray(parts) ? [parts].flat() : [content])
}

/** Content that is text stays text, unless it is JSON of a list of parts. */
function unwrappedParts(content: unknown): unknown {
  if (typeof content !== 'string' || !/^\s*\[\s*\{/.test(content) || content.length > MAX_PARSED_UNITS) return content
  const parsed = readJsonText(content)
  if (!Array.isArray(parsed) || !parsed.every(isObject)) return content
  return textOfParts(parsed) !== '' || parsed.every(part => isPartWithoutWords(part)) ? parsed : content
}

/** Calls, results and thoughts: a message of only those has no words. */
function isPartWithoutWords(part: JsonObject): boolean {
  const type = own(part, 'type')
  return (
    isCall(part) || isResult(part) || type === 'reasoning' || type === 'thinking' || isObject(own(part, 'toolResult'))
  )
}

/** Tool calls of a message: in a list of its own, among its parts, or the message itself. */
function callsOfMessage(message: JsonObject): string[] {
  const listed = callsOf(own(message, 'tool_calls') ?? own(message, 'toolCalls'))
  if (listed.length > 0) return listed
  const among = callsOf(unwrapped(own(message, 'content') ?? own(message, 'parts')))
  return among.length > 0 || own(message, 'role') !== undefined ? among : callsOf([message])
}
