// What frameworks wrap around the arguments and results of tools -> what the tool took and gave. Anything else stays as it was sent.
import { isObject, type JsonObject, jsonText } from '#proto/json.ts'
import { own, textOfParts } from './parts.ts'
import { beyondDoubles, textOfLiteral, unwrapped } from './unwrap.ts'

/** The text inside the wrapper, be it the quotes of JSON, null when there is none around it. */
export function insideWrapper(value: unknown): string | null {
  const text = textOfLiteral(value)
  if (text !== value) return insideWrapper(text) ?? String(text)
  if (typeof value === 'string' && beyondDoubles.test(value)) return null
  const whole = unwrapped(value)
  if (Array.isArray(whole)) return textOfList(whole)
  if (!isObject(whole)) return null
  const inner = argumentsIn(whole) ?? callIn(whole) ?? resultIn(whole)
  return inner === undefined ? null : typeof inner === 'string' ? inner : jsonText(inner)
}

/** Parts of Bedrock and Anthropic: [{text}]. */
function textOfList(list: readonly unknown[]): string | null {
  const parts = list.every(part => isObject(part) && typeof part.text === 'string' && Object.keys(part).length <= 2)
  return parts && list.length > 0 ? textOfParts(list) : null
}

/** Python's arguments: {args: [], kwargs: {…}}, with flags of the caller beside them. */
function argumentsIn(object: JsonObject): unknown {
  const kwargs = own(object, 'kwargs')
  const args = own(object, 'args')
  if (!isObject(kwargs) || own(object, 'lc') !== undefined) return undefined
  if (args === undefined || (Array.isArray(args) && args.length === 0)) return kwargs
  return Array.isArray(args) && args.length === 1 && Object.keys(kwargs).length === 0 ? args[0] : undefined
}

/** The request of a call with its name: {tool_name, arguments}. */
function callIn(object: JsonObject): unknown {
  const named = typeof own(object, 'tool_name') === 'string' && Object.keys(object).length === 2
  return named ? own(object, 'arguments') : undefined
}

/** {output}, {outputs} or {result} alone, and the messages of tools in LangChain's and LlamaIndex's forms. */
function resultIn(object: JsonObject): unknown {
  const keys = Object.keys(object)
  const [only] = keys
  if (keys.length === 1 && (only === 'output' || only === 'outputs' || only === 'result')) {
    const inner = unwrapped(object[only])
    return isObject(inner) ? (resultIn(inner) ?? inner) : inner
  }
  const fields = [own(object, 'kwargs'), own(object, 'data')].find(isObject) ?? object
  if (typeof own(fields, 'tool_call_id') === 'string') return own(fields, 'content')
  const blocks = own(object, 'blocks')
  return Array.isArray(blocks) && own(object, 'raw_output') !== undefined ? own(object, 'raw_output') : undefined
}
