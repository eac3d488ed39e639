// Messages that are spread over numbered attributes -> the list they were:
//
//   llm.input_messages.0.message.role                       gen_ai.prompt.0.content
//   llm.input_messages.0.message.contents.1.message_content.text   gen_ai.prompt.1.tool_calls.0.name
//
// Indices are sorted as numbers, may begin anywhere and have gaps; siblings without a number are left alone.
import type { JsonObject } from '#proto/json.ts'
import type { Attributes, Value } from '#proto/otlp/span.ts'

/** Steps in a key that only give the thing below them a name. */
const envelopes: ReadonlySet<string> = new Set([
  'message',
  'message_content',
  'tool_call',
  'prompt',
  'completion',
  'document',
])

/** Deepest key that is taken apart. */
const MAX_STEPS = 12

type Node = Map<string, Node | Value>

/** A family: the messages, and the attributes that they were. */
export interface Family {
  readonly messages: readonly unknown[]
  readonly keys: readonly string[]
}

/** The messages below `prefix` (which ends in a dot), null when there are none. */
export function readFamily(attributes: Attributes, prefix: string): Family | null {
  const root: Node = new Map()
  const keys: string[] = []
  for (const [key, value] of attributes) {
    if (!key.startsWith(prefix)) continue
    const steps = key.slice(prefix.length).split('.')
    if (!isIndex(steps[0] as string) || steps.length < 2 || steps.length > MAX_STEPS) continue
    keys.push(key)
    place(root, steps, value)
  }
  return keys.length === 0 ? null : { messages: listOf(root), keys }
}

function place(root: Node, steps: readonly string[], value: Value): void {
  let node = root
  for (const step of steps.slice(0, -1)) {
    const next = node.get(step)
    if (next instanceof Map) node = next
    else {
      const made: Node = new Map()
      node.set(step, made)
      node = made
    }
  }
  const last = steps.at(-1) as string
  // A key that is also the beginning of others keeps what is below it.
  if (!(node.get(last) instanceof Map)) node.set(last, value)
}

function isIndex(step: string): boolean {
  if (step.length === 0 || step.length > 6) return false
  for (let i = 0; i < step.length; i++) {
    const code = step.charCodeAt(i)
    if (code < 0x30 || code > 0x39) return false
  }
  return true
}

function listOf(node: Node): unknown[] {
  return [...node]
    .filter(([step]) => isIndex(step))
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([, inner]) => build(inner))
}

function build(node: Node | Value): unknown {
  if (!(node instanceof Map)) return node
  const steps = [...node.keys()]
  if (steps.every(isIndex)) return listOf(node)
  const [only] = steps
  if (steps.length === 1 && envelopes.has(only as string)) return build(node.get(only as string) as Node | Value)
  const object: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const [step, inner] of node) object[step === 'contents' ? 'content' : step] = build(inner)
  return object satisfies JsonObject
}
