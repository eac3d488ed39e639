// The result of a tool -> did the tool fail, where the result itself says so under a span that does not. The one place that decides which
// shapes of results say failure; CONVENTIONS.md lists them.
import { isObject, type JsonObject } from '#proto/json.ts'
import type { Said } from './content.ts'
import type { Dialect } from './dialect.ts'
import { type Failure, failureSaying } from './failure.ts'
import { own, textOfParts } from './parts.ts'
import { unwrapped } from './unwrap.ts'

/** The type of a failure that only the result of a tool tells: OpenTelemetry's conventions have it for MCP. */
const TOOL_ERROR = 'tool_error'

/** Stands in every result that says that it failed, in any case of its first letter. */
export const ERROR = 'rror'

/** Wrappers around a result: {output: …}, and a list of one. */
const MAX_LEVELS = 4

/** The failure that the result of a tool tells of, null when it tells of none. */
export function failureInResult(result: Said | null, dialects: readonly Dialect[]): Failure | null {
  const whole = result?.structure?.json ?? result?.text ?? ''
  // Nearly every result is left unparsed.
  if (!/^\s*["[{]/.test(whole) || !whole.includes(ERROR)) return null
  const inStatus = dialects.some(dialect => dialect.resultStatus === true)
  const said = failingText(unwrapped(whole), inStatus, 0)
  return said === null ? null : failureSaying(`the result in ${result?.from}`, { type: TOOL_ERROR, said, status: '' })
}

/** What a failed result says, null for one that does not say that it failed. */
function failingText(value: unknown, inStatus: boolean, level: number): string | null {
  if (level > MAX_LEVELS) return null
  if (Array.isArray(value)) return value.length === 1 ? failingText(unwrapped(value[0]), inStatus, level + 1) : null
  if (!isObject(value)) return null
  const fields = [own(value, 'kwargs'), own(value, 'data')].find(isObject) ?? value
  // LangChain's message of a tool, in each of its forms.
  if (own(fields, 'status') === 'error' && typeof own(fields, 'tool_call_id') === 'string') {
    return textOf(own(fields, 'content'))
  }
  // MCP; a part of Anthropic's; LlamaIndex.
  if (own(value, 'isError') === true && Array.isArray(own(value, 'content'))) return textOf(own(value, 'content'))
  if (own(value, 'is_error') === true && own(value, 'type') === 'tool_result') return textOf(own(value, 'content'))
  if (own(value, 'is_error') === true && own(value, 'raw_output') !== undefined) return textOf(own(value, 'blocks'))
  if (inStatus && own(value, 'status') === 'error') return messageIn(value)
  const inner = own(value, 'output') ?? own(value, 'outputs') ?? own(value, 'result')
  return inner === undefined ? null : failingText(unwrapped(inner), inStatus, level + 1)
}

function textOf(content: unknown): string {
  return typeof content === 'string' ? content : textOfParts(Array.isArray(content) ? content : [content])
}

/** What a dictionary says that reports an error. */
function messageIn(object: JsonObject): string {
  const said = ['error_message', 'error', 'message', 'detail'].map(key => own(object, key))
  return (said.find(text => typeof text === 'string' && text !== '') as string | undefined) ?? ''
}
