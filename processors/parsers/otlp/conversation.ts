// Whose conversation a span belongs to: the session and user it names itself, else the trace it is part of, provisionally, until
// another span of the trace tells.
import { conversationIdOf, NIL_UUID } from '#proto/ids.ts'
import { jsonText } from '#proto/json.ts'
import type { Span, Value } from '#proto/otlp/span.ts'
import type { SessionRow } from '#proto/rows.ts'
import { fromMs } from '#proto/time.ts'
import type { FrameContext } from '../../outcome.ts'
import { MetadataBuilder } from '../metadata.ts'
import { sessionRow } from '../rows.ts'
import { asId, asName } from './accept.ts'
import type { Facts } from './facts.ts'
import { carriedValue, isContent } from './keys.ts'
import { isNobodys, type SpanKind } from './kinds.ts'

/** What a span says about its conversation. */
export interface Belonging {
  readonly conversationId: string
  /** The session as it was sent; the trace id in hex while there is none. */
  readonly sessionId: string
  readonly provisional: boolean
  /** '' when the span names none. */
  readonly userId: string
  readonly email: string
}

/** What belongs to no conversation: its row stands under no id, and lists of conversations leave it out. */
const NOBODYS: Belonging = {
  ...{ conversationId: NIL_UUID, sessionId: '', provisional: false, userId: '', email: '' },
}

/** Reads session and user of a span. */
export function belongingOf(facts: Facts, kind: SpanKind, organization: string): Belonging {
  if (isNobodys(kind, facts)) return NOBODYS
  const session = facts.take('session_id', asId)
  const user = facts.take('user_id', asId)
  const sessionId = session?.value ?? facts.span.traceId
  return {
    conversationId: conversationOf(organization, sessionId),
    sessionId,
    provisional: session === null,
    userId: user?.value ?? '',
    email: facts.find('user_email', asName)?.value ?? '',
  }
}

/** The conversation that came last: the spans of a trace follow each other, and an id costs a hash. */
let last = { organization: '', sessionId: '', id: '' }

function conversationOf(organization: string, sessionId: string): string {
  if (last.sessionId !== sessionId || last.organization !== organization) {
    last = { organization, sessionId, id: conversationIdOf(organization, sessionId) }
  }
  return last.id
}

/** What a span says about a conversation and its user, as a capture that is built when it is new. */
export interface Revealed {
  /** Equal for spans that reveal the same. */
  readonly key: string
  readonly capture: () => SessionRow
}

/** What a span reveals: null when it names neither session nor user. Call after session and user were read. */
export function revealedBy(facts: Facts, belonging: Belonging, context: FrameContext): Revealed | null {
  if (belonging.conversationId === NIL_UUID || (belonging.provisional && belonging.userId === '')) return null
  const { span } = facts
  const traits: [string, Value][] = []
  const attached: [string, Value][] = []
  let i = 0
  for (const [key, value] of span.attributes) {
    if (key.startsWith('user.')) traits.push([key.slice('user.'.length), value])
    const known = facts.keys[i++]
    const name = known?.carried ?? null
    if (name === null || known?.ofSpan !== false || facts.used.has(key) || isContent(known, facts.dialects)) continue
    attached.push([name, carriedValue(known, value)])
  }
  return revealedOf({ belonging, traits, attached, span }, context)
}

/** What a revelation is made of. */
export interface Revealing {
  readonly belonging: Belonging
  /** What the span says about the user, by the name of the trait. */
  readonly traits: readonly (readonly [string, Value])[]
  /** What the application attached to the conversation. */
  readonly attached: readonly (readonly [string, Value])[]
  readonly span: Pick<Span, 'resource' | 'start' | 'end'>
}

/** The revelation itself. */
export function revealedOf(revealing: Revealing, context: FrameContext): Revealed {
  return { key: revealedKey(revealing), capture: () => revealedCapture(revealing, context) }
}

/** A text that is equal for those who reveal the same. */
export function revealedKey({ belonging, traits, attached, span }: Revealing): string {
  const { conversationId, userId, email } = belonging
  return jsonText([conversationId, userId, email, traits, withService(attached, span)])
}

/** The capture of a revelation. */
export function revealedCapture({ belonging, traits, attached, span }: Revealing, context: FrameContext): SessionRow {
  const { conversationId, sessionId, userId, email } = belonging
  return sessionRow(context, {
    source: 'otlp',
    conversationId,
    sessionId,
    userId,
    userEmail: email,
    userData: builderOf(traits),
    metadata: builderOf(withService(attached, span)),
    startedAt: span.start ?? span.end ?? fromMs(context.receivedAtMs),
  })
}

function withService(attached: Revealing['attached'], { resource }: Revealing['span']): Revealing['attached'] {
  const service = resource.attributes.get('service.name') ?? null
  return service === null ? attached : [...attached, ['service.name', service] as const]
}

function builderOf(entries: readonly (readonly [string, Value])[]): MetadataBuilder {
  const builder = new MetadataBuilder()
  for (const [key, value] of entries) builder.put(key, value)
  return builder
}
