// One call, told by several spans: a tool's by the agent, the client and the server of MCP; a model's by a framework, a gateway and
// an SDK; Claude Code's by the call and its execution. One of them stays the call and takes over what only the others know; the
// others become steps.
import { lend, type Neighbour } from './reading.ts'
import type { Family } from './tree.ts'

/** Joins the spans of one call. */
export function joinCalls(families: readonly Family[]): void {
  for (const family of families) {
    const { reading } = family
    if (reading.kind.kind === 'tool') {
      const outer = outermost(family)
      if (outer !== null) join(outer.reading, reading)
    } else if (isExecution(reading) && family.parent?.reading.kind.kind === 'tool') {
      takeOver(family.parent.reading, reading)
      reading.carried ||= reading.failure !== null
    }
  }
  joinModelCalls(families)
}

function join(call: Neighbour, other: Neighbour): void {
  takeOver(call, other)
  other.sameAs = call.facts.span.spanId
  other.carried ||= other.failure !== null
  other.kind = { ...other.kind, kind: 'other' }
}

function takeOver(call: Neighbour, other: Neighbour): void {
  if (call.input === null) lend(call, 'input', other)
  if (call.output === null) lend(call, 'output', other)
  call.failure ??= other.failure
}

// ---- tools -------------------------------------------------------------------------------------------------------------

/** The outermost span above that tells the same call, null when none does. */
function outermost(family: Family): Family | null {
  let found: Family | null = null
  for (let above = family.parent; above !== null; above = above.parent) {
    const { kind } = above.reading.kind
    if (kind === 'agent' || kind === 'llm') break
    if (isSameTool(above.reading, family.reading)) found = above
  }
  return found
}

/** The same tool, told again by MCP or under the same call id. A tool that calls itself does so through an agent. */
function isSameTool(outer: Neighbour, inner: Neighbour): boolean {
  if (outer.kind.type !== 'tool' || outer.kind.name !== inner.kind.name) return false
  const id = inner.facts.text('gen_ai.tool.call.id')
  return inner.facts.has('mcp.method.name') || (id !== '' && id === outer.facts.text('gen_ai.tool.call.id'))
}

/** The part of Claude Code's spans that knows how a call ended. */
function isExecution({ facts }: Neighbour): boolean {
  return facts.span.name === 'claude_code.tool.execution'
}

// ---- models ------------------------------------------------------------------------------------------------------------

/** Model calls directly inside of a model call: with one it is the same call, with several it is their loop. */
function joinModelCalls(families: readonly Family[]): void {
  const inside = new Map<Family, Family[]>()
  for (const family of families) {
    const outer = isModelCall(family) ? enclosingCall(family) : null
    if (outer !== null) inside.set(outer, [...(inside.get(outer) ?? []), family])
  }
  // Inner ones first, so that what they know travels outwards: a chain of spans ends as one call.
  const outers = [...inside.keys()].sort((a, b) => depthOf(b) - depthOf(a))
  for (const outer of outers) {
    const inner = inside.get(outer) as Family[]
    const [only] = inner
    if (inner.length === 1 && only !== undefined) joinPair(outer.reading, only.reading)
    else if (outer.reading.reported === null || inner.some(({ reading }) => reading.reported !== null)) {
      outer.reading.kind = { ...outer.reading.kind, kind: 'other' }
    }
  }
}

function isModelCall({ reading }: Family): boolean {
  return reading.kind.kind === 'llm' && reading.kind.type === 'llm'
}

/** The nearest model call above; what is called by a tool or an agent in between is another call. */
function enclosingCall(family: Family): Family | null {
  for (let above = family.parent; above !== null; above = above.parent) {
    if (isModelCall(above)) return above
    if (above.reading.kind.kind !== 'other') return null
  }
  return null
}

/** The outer span stays the call, unless it knows neither model nor usage: then it is only a wrapper. */
function joinPair(outer: Neighbour, inner: Neighbour): void {
  const wrapper = outer.reported === null && outer.model === ''
  const [call, other] = wrapper ? [inner, outer] : [outer, inner]
  join(call, other)
  call.reported ??= other.reported
  if (call.model === '') call.model = other.model
  if (call.provider === '') call.provider = other.provider
}

function depthOf(family: Family): number {
  let depth = 0
  for (let above = family.parent; above !== null; above = above.parent) depth++
  return depth
}
