// Attributes by which frameworks say that a span failed, and the exceptions by which they only steer.
import type { Value } from '#proto/otlp/span.ts'

const isTrue = (value: Value): boolean => value === true || value === 'true'
const isFalse = (value: Value): boolean => value === false || value === 'false'
const isNamed = (value: Value): boolean => typeof value === 'string' && value !== ''
const isOneOf =
  (...texts: string[]) =>
  (value: Value): boolean =>
    typeof value === 'string' && texts.includes(value.toLowerCase())

/** Attributes that say "failed", with the values that do. */
export const failureSigns: readonly (readonly [key: string, test: (value: Value) => boolean])[] = [
  ['exception.type', isNamed],
  ['error.type', isNamed],
  ['langfuse.observation.level', isOneOf('error')],
  ['gen_ai.tool.status', isOneOf('error')],
  ['lk.function_tool.is_error', isTrue],
  ['gen_ai.tool.success', isFalse],
  ['error', isTrue],
  ['gen_ai.task.status', isOneOf('failure')],
  ['gen_ai.response.status', isOneOf('failed', 'error')],
  ['success', isFalse],
]

export const failureKeys: ReadonlySet<string> = new Set(failureSigns.map(([key]) => key))

/** Exceptions by which frameworks steer: a run that waits for a person has not failed. */
export const steering =
  /^(?:[\w.]*\.)?(?:GraphInterrupt|NodeInterrupt|ParentCommand|CallDeferred|ApprovalRequired|Waiting for event)\b/
