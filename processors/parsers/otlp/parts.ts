// The parts of a message -> text: words as they are, media as placeholders, calls of tools and their results in brackets. Parts of
// OpenTelemetry, OpenAI, Anthropic, Gemini, Bedrock, AI SDK and Pydantic AI.
import { isObject, type JsonObject, jsonText } from '#proto/json.ts'
import { beyondDoubles, unwrapped } from './unwrap.ts'

/** Levels of nesting that are looked through. */
export const MAX_LEVELS = 16

/** A field of its own, not one of its prototype. */
export function own(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** Types whose text is shown. */
const textTypes: ReadonlySet<unknown> = new Set([
  'text',
  'input_text',
  'output_text',
  'refusal',
  'message',
  'compaction',
  undefined,
])

/** True for the type of a part whose text is shown. */
export const isWordsType = (type: string): boolean => textTypes.has(type)

/** What is shown for a part without words. */
const media: Readonly<Record<string, string>> = {
  image: '[image]',
  image_url: '[image]',
  'image-url': '[image]',
  input_image: '[image]',
  audio: '[audio]',
  input_audio: '[audio]',
  'audio-url': '[audio]',
  video: '[video]',
  'video-url': '[video]',
  file: '[file]',
  input_file: '[file]',
  uri: '[file]',
  blob: '[file]',
  document: '[file]',
  'document-url': '[file]',
  binary: '[file]',
}

/** The words of a list of parts, one line each; reasoning, tool calls and results are left out. */
export function textOfParts(parts: readonly unknown[], level = 0): string {
  return parts
    .map(part => (typeof part === 'string' ? part : isObject(part) ? textOfPart(part, level) : ''))
    .filter(text => text !== '')
    .join('\n')
}

function textOfPart(part: JsonObject, level: number): string {
  const type = own(part, 'type')
  if (textTypes.has(type)) {
    // Gemini marks what the model thought to itself.
    if (own(part, 'thought') === true) return ''
    const text = own(part, 'text') ?? own(part, 'content') ?? own(part, 'refusal')
    if (typeof text === 'string') return text
    return Array.isArray(text) && level < MAX_LEVELS ? textOfParts(text, level + 1) : ''
  }
  const kind = typeof type === 'string' && Object.hasOwn(media, type) ? media[type] : undefined
  if (kind === undefined) return ''
  const transcript = own(part, 'transcript')
  if (typeof transcript === 'string' && transcript !== '') return transcript
  const modality = own(part, 'modality')
  return (typeof modality === 'string' && Object.hasOwn(media, modality) ? media[modality] : undefined) ?? kind
}

/** True for a call of a tool in any of its shapes. */
export function isCall(part: JsonObject): boolean {
  return nameOfCall(part) !== '' && !isResult(part)
}

/** A tool call as `[tool_call name(arguments)]`, '' for what is none. */
export function textOfCall(part: JsonObject): string {
  if (isResult(part)) return ''
  const name = nameOfCall(part)
  if (name === '') return ''
  const inner = innerCall(part)
  return textOfCallTo(name, own(inner, 'arguments') ?? own(inner, 'args') ?? own(inner, 'input'))
}

/** The same of a call whose parts are known. */
export const textOfCallTo = (name: string, args: unknown): string => `[tool_call ${name}(${textOfArguments(args)})]`

/** Arguments without blanks, however the framework wrote them. */
function textOfArguments(args: unknown): string {
  if (args === undefined) return ''
  if (typeof args !== 'string') return jsonText(args)
  const object = beyondDoubles.test(args) ? undefined : unwrapped(args)
  return isObject(object) ? jsonText(object) : args
}

function innerCall(part: JsonObject): JsonObject {
  return (
    [
      own(part, 'function'),
      own(part, 'toolUse'),
      own(part, 'function_call'),
      own(part, 'functionCall'),
      own(part, 'toolRequest'),
    ].find(isObject) ?? part
  )
}

function nameOfCall(part: JsonObject): string {
  const inner = innerCall(part)
  const name = own(inner, 'name') ?? own(inner, 'toolName') ?? own(inner, 'tool_name')
  const args = own(inner, 'arguments') ?? own(inner, 'args') ?? own(inner, 'input')
  const type = own(part, 'type')
  const typed = typeof type === 'string' && /call|tool_use|function/.test(type)
  return typeof name === 'string' && (typed || inner !== part || args !== undefined) ? name : ''
}

/** True for the result of a tool. */
export function isResult(part: JsonObject): boolean {
  const type = own(part, 'type')
  return typeof type === 'string' && /response|result|_output$/.test(type)
}

/** Tool calls among the entries of a list. */
export function callsOf(list: unknown): string[] {
  if (!Array.isArray(list)) return []
  return list
    .map(unwrapped)
    .filter(isObject)
    .map(textOfCall)
    .filter(text => text !== '')
}

/** Tool results among the entries of a list as `[tool_result …]`. */
export function textOfResults(list: unknown): string {
  if (!Array.isArray(list)) return ''
  return list
    .filter(isObject)
    .flatMap(part => {
      const held = [
        own(part, 'toolResult'),
        own(part, 'function_response'),
        own(part, 'functionResponse'),
        own(part, 'toolResponse'),
      ].find(isObject)
      const inner = held ?? (isResult(part) ? part : null)
      if (inner === null) return []
      const result = own(inner, 'response') ?? own(inner, 'result') ?? own(inner, 'output') ?? own(inner, 'content')
      return [`[tool_result ${typeof result === 'string' ? result : jsonText(result)}]`]
    })
    .join('\n')
}
