// The function calls of a call's messages, and their results -> calls with arguments, result, timing and success. Calls and results
// come in messages of their own, in several shapes, and find each other by id, else by name, else by order.
import { isObject, type JsonObject, readJsonText } from '#proto/json.ts'
import { type Clock, durationOf, type Span, spanOf } from './clock.ts'
import { asText, at, firstAt, numberAt, textAt } from './values.ts'

/** One function call of the assistant. */
export interface ToolCall {
  /** As the platform names it, '' when it does not. */
  readonly id: string
  readonly name: string
  /** JSON text as the model wrote it; null when the report has none. */
  readonly arguments: string | null
  readonly result: string | null
  readonly startedAtMs: number | null
  readonly durationMs: number | null
  readonly success: boolean
  /** Why it failed, '' when it did not. */
  readonly error: string
}

/** Calls that one message of the assistant asked for. */
export interface ToolGroup {
  readonly calls: readonly ToolCall[]
  readonly startedAtMs: number | null
}

interface Result {
  readonly text: string | null
  readonly at: Span
  readonly tookMs: number | null
  readonly failed: boolean
  readonly error: string
}

/** A call while its result may still come. */
interface Draft {
  id: string
  name: string
  arguments: string | null
  startedAtMs: number | null
  tookMs: number | null
  result: Result | null
  /** True for a result whose call was not seen (yet). */
  stray: boolean
}

/** Fields that hold calls, and results, of a message. */
const callLists = ['toolCalls', 'tool_calls', 'toolCallList', 'functionCalls']
const resultLists = ['toolResults', 'tool_results', 'toolCallResults']
const resultRoles = new Set([
  'tool_call_result',
  'tool_calls_result',
  'tool',
  'tool_result',
  'function_result',
  'function',
])
const NONE: JsonObject[] = []
const callRoles = new Set(['function_call', 'tool_call'])

const callIdPaths = ['id', 'toolCallId', 'tool_call_id', 'callId', 'call_id', 'request_id']
/** Results have ids of their own in some shapes: that of their call counts. */
const idPaths = ['toolCallId', 'tool_call_id', 'callId', 'call_id', 'request_id', 'id']
const namePaths = ['function.name', 'name', 'toolName', 'tool_name', 'functionName']
const argumentPaths = [
  'function.arguments',
  'arguments',
  'function.parameters',
  'parameters',
  'args',
  'params_as_json',
  'input',
]
const resultPaths = ['result', 'output', 'content', 'response', 'result_value', 'message']
const latencyMillis = ['latencyMs', 'latency_ms', 'latency']
const latencySeconds = ['tool_latency_secs', 'latencySeconds']

/** Calls in order, of which those without a result are taken from the front. Every step is constant on the average. */
class Waiting {
  readonly #drafts: Draft[] = []
  #next = 0

  push(draft: Draft): void {
    this.#drafts.push(draft)
  }

  get last(): Draft | undefined {
    return this.#drafts.at(-1)
  }

  /** The earliest call without a result. */
  first(): Draft | undefined {
    while (this.#next < this.#drafts.length && this.#drafts[this.#next]?.result !== null) this.#next++
    return this.#drafts[this.#next]
  }
}

/** Collects the calls of a report's messages, in order. */
export class ToolLog {
  readonly #clock: Clock
  readonly #all = new Waiting()
  readonly #byId = new Map<string, Waiting>()
  readonly #byName = new Map<string, Waiting>()
  /** Those without an id, by name. */
  readonly #unnumbered = new Map<string, Waiting>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Takes what a message says of tools; gives the calls that begin with it, to be finished once all messages are read. */
  read(message: JsonObject, role: string): (() => ToolGroup) | null {
    const calls = callsIn(message, role)
    const results = resultsIn(message, role)
    if (calls.length + results.length === 0) return null
    const { startedAtMs } = spanOf(message, this.#clock)
    const opened = calls.flatMap(call => this.#open(call, startedAtMs) ?? [])
    for (const result of results) {
      const stray = this.#close(result, startedAtMs)
      if (stray !== null) opened.push(stray)
    }
    if (opened.length === 0) return null
    return () => ({ calls: opened.map(finished), startedAtMs })
  }

  #add(draft: Draft): void {
    this.#all.push(draft)
    const to = (map: Map<string, Waiting>, key: string): void => {
      const waiting = map.get(key) ?? new Waiting()
      waiting.push(draft)
      map.set(key, waiting)
    }
    to(this.#byName, draft.name)
    if (draft.id === '') to(this.#unnumbered, draft.name)
    else to(this.#byId, draft.id)
  }

  /** A call: a new one, or one that is known already, from a message that repeats it or by a result that came before. */
  #open(call: JsonObject, startedAtMs: number | null): Draft | null {
    const id = textAt(call, callIdPaths) ?? ''
    const name = textAt(call, namePaths) ?? 'tool'
    const args = asText(firstAt(call, argumentPaths))
    const own = spanOf(call, this.#clock)
    const startMs = own.startedAtMs ?? startedAtMs
    const known = this.#byId.get(id)?.last
    if (known !== undefined && isSame(known, name, args)) {
      Object.assign(known, { name, arguments: known.arguments ?? args, stray: false })
      return null
    }
    const draft: Draft = { id, name, arguments: args, startedAtMs: startMs, tookMs: null, result: null, stray: false }
    if (own.endedAtMs !== null && startMs !== null) draft.tookMs = Math.max(0, own.endedAtMs - startMs)
    if (call.result !== undefined && call.result !== null) draft.result = resultOf(call, this.#clock)
    this.#add(draft)
    return draft
  }

  /** A result: of the earliest call that waits for it. One that belongs to no call stands for a call of its own. */
  #close(message: JsonObject, startedAtMs: number | null): Draft | null {
    const id = textAt(message, idPaths)
    const name = textAt(message, namePaths)
    const result = resultOf(message, this.#clock)
    const call = this.#waitingFor(id, name)
    if (call !== undefined) {
      call.result = result
      return null
    }
    const before = this.#byId.get(id ?? '')?.last
    if (before !== undefined) {
      // Said again, or said later: what came last is what the assistant went on with.
      if (result.text !== null) before.result = result
      return null
    }
    const at = result.at.startedAtMs ?? startedAtMs
    const stray: Draft = {
      ...{ id: id ?? '', name: name ?? 'tool', arguments: null, startedAtMs: at, tookMs: null, result, stray: true },
    }
    this.#add(stray)
    return stray
  }

  /** The earliest call that a result may belong to: by id, else by name, else the one that waits longest. */
  #waitingFor(id: string | null, name: string | null): Draft | undefined {
    if (id !== null) return this.#byId.get(id)?.first() ?? this.#unnumbered.get(name ?? '')?.first()
    return name === null ? this.#all.first() : this.#byName.get(name)?.first()
  }
}

/** True for the call that a draft stands for: nothing contradicts it. Models that count calls anew each turn use an id twice. */
function isSame(draft: Draft, name: string, args: string | null): boolean {
  if (draft.stray) return true
  return draft.result === null && draft.name === name && (draft.arguments === args || args === null)
}

function finished(draft: Draft): ToolCall {
  const { id, name, startedAtMs, result } = draft
  const answeredMs = result?.at.startedAtMs ?? null
  const spanMs =
    draft.stray || answeredMs === null || startedAtMs === null ? null : Math.max(0, answeredMs - startedAtMs)
  return {
    id,
    name,
    arguments: draft.arguments,
    result: result?.text ?? null,
    startedAtMs,
    durationMs: result?.tookMs ?? draft.tookMs ?? spanMs,
    success: result?.failed !== true,
    error: result?.error ?? '',
  }
}

function callsIn(message: JsonObject, role: string): JsonObject[] {
  for (const field of callLists) {
    const list = message[field]
    if (Array.isArray(list)) return list.filter(isObject)
  }
  // The shapes before there were lists: one call in a field of its own, or the message itself.
  const single = message.functionCall ?? message.function_call ?? message.toolCall
  if (isObject(single)) return [single]
  return callRoles.has(role) ? [message] : NONE
}

function resultsIn(message: JsonObject, role: string): JsonObject[] {
  for (const field of resultLists) {
    const list = message[field]
    if (Array.isArray(list)) return list.filter(isObject)
  }
  return resultRoles.has(role) ? [message] : NONE
}

function resultOf(message: JsonObject, clock: Clock): Result {
  const content = firstAt(message, resultPaths)
  const text = textOfParts(content) ?? asText(content)
  const stated = asText(at(message, 'error')) ?? ''
  const error = stated === '' && text !== null ? errorIn(text) : stated
  const flagged =
    at(message, 'success') === false || at(message, 'isError') === true || at(message, 'is_error') === true
  const seconds = numberAt(message, latencySeconds)
  const tookMs = numberAt(message, latencyMillis) ?? (seconds === null ? durationOf(message, clock) : seconds * 1000)
  return {
    text,
    at: spanOf(message, clock),
    tookMs: tookMs !== null && tookMs >= 0 ? tookMs : null,
    failed: flagged || error !== '',
    error: error === '' && flagged ? (text ?? '') : error,
  }
}

/** Results of the OpenAI shape may be lists of text parts. */
function textOfParts(content: unknown): string | null {
  if (!Array.isArray(content) || content.length === 0) return null
  const parts = content.map(part => (at(part, 'type') === 'text' ? textAt(part, ['text']) : null))
  return parts.includes(null) ? null : parts.join('\n')
}

/**
 * Platforms send no flag for a failed tool, only text. Taken for a failure: JSON with an `error` of its own or
 * `success: false`, and the sentences that platforms and tool servers begin a failure with.
 */
function errorIn(text: string): string {
  if (/^\s*(error\b|exception\b|failed\b|tool (call )?(failed|error)|no result returned)/i.test(text))
    return text.trim()
  if (!/^\s*\{/.test(text)) return ''
  const parsed = readJsonText(text)
  const error = at(parsed, 'error')
  if (error !== undefined && error !== null && error !== false && error !== '') {
    return (
      textAt(error, ['message']) ??
      (error === true ? (textAt(parsed, ['message', 'reason']) ?? text) : (asText(error) ?? text))
    )
  }
  const isFailed =
    ['success', 'ok'].some(field => at(parsed, field) === false) ||
    at(parsed, 'isError') === true ||
    ['error', 'failed', 'failure'].includes(String(at(parsed, 'status')).toLowerCase())
  return isFailed ? (textAt(parsed, ['message', 'reason']) ?? textOfParts(at(parsed, 'content')) ?? text) : ''
}
