// What a span is: an agent turn, a model call, a tool call … by the type that its framework gives it, by attributes that only one
// kind has, by its name, or by its place in the trace.
import type { Value } from '#proto/otlp/span.ts'
import type { EventKind } from '#proto/rows.ts'
import { asName } from './accept.ts'
import type { Dialect, Type } from './dialect.ts'
import { dialects } from './dialects.ts'
import type { Facts } from './facts.ts'
import { Sign, typeByName } from './keys.ts'
import { modelOf } from './model.ts'
import type { Rule } from './rules.ts'

/** What a span is, and how that was found. */
export interface SpanKind {
  readonly kind: EventKind
  readonly name: string
  /** The type behind the kind: embeddings are model calls of another sort. */
  readonly type: Type
  /** True when its framework says so itself. */
  readonly typed: boolean
  /** What told: an attribute, or one of `reasons`. */
  readonly by: string
}

/** What else than an attribute tells a kind. */
export const reasons = {
  contractName: 'the span name begins with tool.',
  name: 'the span name',
  toolAttributes: 'attributes that only tool calls have',
  modelAttributes: 'attributes that only model calls have',
  plumbing: 'attributes of requests and queries',
  root: 'a root',
  child: 'no root',
} as const

const kindOfType: Readonly<Record<Exclude<Type, 'span' | 'step'>, EventKind>> = {
  around: 'other',
  protocol: 'other',
  agent: 'agent',
  llm: 'llm',
  // A model call too: it has a model and tokens of its own.
  embedding: 'llm',
  tool: 'tool',
  // A look-up of documents is an access to a resource.
  resource: 'resource',
  prompt: 'prompt',
  other: 'other',
}

const typesOf: ReadonlyMap<Dialect, ReadonlyMap<string, Type>> = new Map(
  dialects.map(dialect => {
    const pairs = Object.entries(dialect.types ?? {}) as [Type, readonly string[]][]
    return [dialect, new Map(pairs.flatMap(([type, values]) => values.map(value => [value, type] as const)))]
  }),
)
const kinds: ReadonlySet<string> = new Set(Object.keys(kindOfType))

/** A value of a `kind` attribute as a type. */
function asType(value: Value, rule: Rule): Type | null {
  if (typeof value !== 'string') return null
  const word = value.toLowerCase()
  // An organization's own rule says the kind itself.
  if (rule.dialect === null) return kinds.has(word) ? (word as Type) : null
  return typesOf.get(rule.dialect)?.get(word) ?? null
}

/** Kind and name of a span. */
export function kindOf(facts: Facts): SpanKind {
  const { name } = facts.span
  // The contract's own sign of a tool call, before anything a framework says.
  if (name.startsWith('tool.') && name.length > 5) return tool(facts, true, reasons.contractName)
  for (const dialect of facts.dialects) {
    const request = requestOf(facts, dialect)
    if (request !== null) return { kind: 'other', name, type: request, typed: true, by: dialect.requests?.method ?? '' }
    const type = dialect.names === undefined ? null : typeByName(dialect, name)
    if (type !== null) return ofType(facts, type, reasons.name)
  }
  const found = facts.find('kind', asType)
  return found === null ? ofType(facts, 'span', '') : ofType(facts, found.value, found.rule.label)
}

function ofType(facts: Facts, type: Type, by: string): SpanKind {
  if (type === 'span') return untyped(facts, by)
  if (type === 'tool') return tool(facts, true, by)
  if ((type === 'agent' && isPartOfTurn(facts)) || (type === 'llm' && isPartOfCall(facts))) {
    return { kind: 'other', name: facts.span.name, type: 'step', typed: true, by }
  }
  if (type !== 'step') return { kind: kindOfType[type], name: nameOf(type, facts), type, typed: true, by }
  if (facts.isRoot && !isAroundAgents(facts)) {
    return { kind: 'agent', name: nameOf('agent', facts), type, typed: true, by: by || reasons.root }
  }
  return { kind: 'other', name: facts.span.name, type, typed: true, by }
}

/** A request that is no call, or a call that the other end tells: null for any other span. */
function requestOf(facts: Facts, { requests }: Dialect): 'protocol' | 'step' | null {
  if (requests === undefined || !facts.has(requests.method)) return null
  if (!requests.calls.includes(facts.text(requests.method).toLowerCase())) return 'protocol'
  if (facts.isRoot || !isOfServer(facts, requests)) return null
  // Unless its organization says what it is.
  return facts.find('kind', asType)?.rule.dialect === null ? null : 'step'
}

const [SERVER, CLIENT] = [2, 3]

const isOfServer = ({ span }: Facts, { servers }: NonNullable<Dialect['requests']>): boolean =>
  span.kind === SERVER || (span.kind !== CLIENT && servers.some(beginning => span.scope.name.startsWith(beginning)))

/**
 * True for protocol that belongs to nobody's conversation: what begins a trace, or stands at the server's end. What a client says within a
 * trace is a step of that.
 */
export const isNobodys = ({ type }: SpanKind, facts: Facts): boolean =>
  type === 'protocol' && (facts.isRoot || facts.span.kind === SERVER)

const lacksAll = (facts: Facts, keys: readonly string[] | undefined): boolean =>
  keys?.some(key => facts.has(key)) === false

/** What a dialect marks as an agent, and what is a part of a turn that another of its spans tells. */
function isPartOfTurn(facts: Facts): boolean {
  return (
    isAroundAgents(facts) ||
    facts.dialects.some(dialect => lacksAll(facts, dialect.namesAgents) || isInner(facts, dialect))
  )
}

function isAroundAgents(facts: Facts): boolean {
  return facts.dialects.some(({ aroundAgents }) => aroundAgents?.some(key => facts.has(key)) === true)
}

function isInner(facts: Facts, { innerAgents }: Dialect): boolean {
  if (innerAgents === undefined || facts.isRoot) return false
  const { turn, own, scopes } = innerAgents
  return (
    scopes.some(beginning => facts.span.scope.name.startsWith(beginning)) ||
    (facts.has(turn) && facts.text(turn) !== facts.text(own))
  )
}

/** The same of model calls. */
function isPartOfCall(facts: Facts): boolean {
  return facts.dialects.some(
    ({ namesCalls, innerCalls }) => lacksAll(facts, namesCalls) || innerCalls?.every(key => facts.has(key)) === true,
  )
}

function untyped(facts: Facts, by: string): SpanKind {
  const typed = by !== ''
  if ((facts.signs & Sign.tool) !== 0 || facts.name.tool !== '') {
    return tool(facts, typed, facts.name.tool === '' ? reasons.toolAttributes : reasons.name)
  }
  const turn = facts.isRoot && (facts.has('input') || facts.has('output'))
  if (!turn && (facts.signs & Sign.model) !== 0) {
    return { kind: 'llm', name: nameOf('llm', facts), type: 'llm', typed, by: reasons.modelAttributes }
  }
  const isPlumbing = !turn && (facts.signs & Sign.plumbing) !== 0
  if (!facts.isRoot && !isPlumbing) {
    return { kind: 'other', name: facts.span.name, type: 'span', typed, by: by || reasons.child }
  }
  if (isPlumbing) {
    return { kind: 'other', name: facts.span.name, type: 'span', typed, by: reasons.plumbing }
  }
  return { kind: 'agent', name: nameOf('agent', facts), type: 'agent', typed, by: by || reasons.root }
}

function nameOf(type: Type, facts: Facts): string {
  const { name } = facts.span
  if (type === 'agent') {
    const found = facts.find('agent_name', asName)?.value
    return found ?? /^(?:invoke_agent|agent run|invoke_workflow) (.+)$/.exec(name)?.[1] ?? name
  }
  if (type === 'llm' || type === 'embedding') return modelOf(facts) || name
  if (type === 'resource') return facts.text('mcp.resource.uri') || name
  return type === 'prompt' ? facts.text('gen_ai.prompt.name') || name : name
}

/** The name of a tool ends in these words in the names of some spans. */
const toolEnd = /^(.+)\.(?:tool|run|__call__)$/

function tool(facts: Facts, typed: boolean, by: string): SpanKind {
  const { name } = facts.span
  // Frameworks whose own prefixes begin like the contract's are not meant by it.
  const contractName = name.startsWith('tool.') && facts.name.tool === name.slice('tool.'.length) ? facts.name.tool : ''
  const found = contractName || facts.find('tool_name', asName)?.value
  const named = found || facts.name.tool || toolEnd.exec(name)?.[1] || name
  return { kind: 'tool', name: named, type: 'tool', typed, by }
}
