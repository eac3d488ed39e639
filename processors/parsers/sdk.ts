// The bodies of capture-session and capture-event -> rows. Both shapes of the contract and what clients in the wild really send:
// values that are no strings become text, ids that are no uuids are mapped, unknown fields are left out.
import { conversationIdOf, NIL_UUID } from '#proto/ids.ts'
import { digitsOf, isObject, type JsonObject, jsonText, readExactJson } from '#proto/json.ts'
import type { EventKind, Source } from '#proto/rows.ts'
import { FORM_NOTES, type SaidText, type SentSide, saidText } from '#proto/sdk/sent-text.ts'
import { fromMs, type Instant } from '#proto/time.ts'
import type { FrameContext, FrameParser, ParseOutcome } from '../outcome.ts'
import { nanosOfMs } from './amounts.ts'
import { MetadataBuilder } from './metadata.ts'
import { eventRows, instantOfMs, sessionRow } from './rows.ts'
import { usageOfMetadata } from './sdk-usage.ts'

/** Traits that hold the user's address, the first that says something counts. */
export const emailNames = ['email', 'user_email', 'userEmail'] as const

/** A capture-session body -> one session row. It has no identity: the same capture again is an update, never a repeat. */
export const parseSession: FrameParser = (body, content, context) =>
  withObject(body, content, session => {
    const sessionId = textOf(session.session_id)
    if (sessionId === '') return dead('session_id is missing')
    const traits = isObject(session.user_data) ? session.user_data : {}
    const metadata = builderOf(session.metadata)
    const row = sessionRow(context, {
      source: typeof session.client_config === 'string' ? 'mcp' : 'sdk',
      conversationId: conversationIdOf(context.organization, sessionId),
      sessionId,
      userId: textOf(own(traits, 'user_id')) || textOf(own(traits, 'userId')),
      userEmail: emailNames.map(name => textOf(own(traits, name))).find(text => text !== '') ?? '',
      userData: builderOf(session.user_data),
      metadata,
      clientConfig: textOf(session.client_config),
      connectionType: textOf(session.connection_type),
      ip: textOf(session.ip),
      tools: firstOf(session.tools, 'tools', metadata).map(toolName),
      startedAt: timeOf(session.timestamp, context),
    })
    return { units: [{ identity: null, sessions: [row], texts: [], events: [] }] }
  })

/** A capture-event body -> one event. Its time is when it was sent to have happened, else when it arrived. */
export const parseEvent: FrameParser = (body, content, context) =>
  withObject(body, content, event => {
    const sessionId = textOf(event.session_id)
    if (sessionId === '') return dead('session_id is missing')
    const metadata = builderOf(event.metadata)
    const eventId = idOf(context, event.event_id, 'event_id', metadata)
    const id = eventId === NIL_UUID ? context.mintedId : eventId
    if (id === NIL_UUID) return dead('the event has no id and the receiver made none')
    const parent = textOf(event.parent_id) === '' ? metadata.get('parent_id') : event.parent_id
    const { kind, source } = kindOf(textOf(event.primitive_type), metadata)
    const input = captured(event.args, 'input', source)
    const output = captured(event.result, 'output', source)
    const failed = event.success === false
    const conversationId = conversationIdOf(context.organization, sessionId)
    const { event: row, texts } = eventRows(
      context,
      {
        source,
        kind,
        conversationId,
        sessionId,
        eventId: id,
        parentId: idOf(context, parent, 'parent_id', metadata),
        at: timeOf(event.timestamp, context),
        durationNs: nanosOfMs(event.latency),
        name: textOf(event.primitive_name),
        failed,
        errorType: metadata.get('error_type') || metadata.get('error.type'),
        errorMessage: metadata.get('error_message') || metadata.get('error') || (output?.text ?? ''),
        ...usageOfMetadata(metadata),
        input: noted(input, 'input', metadata),
        output: noted(output, 'output', metadata),
        checkpoints: checkpointsOf(firstOf(event.checkpoints, 'checkpoints', metadata)),
        metadata,
      },
      conversationId,
    )
    return { units: [{ identity: { kind: 'event', id }, sessions: [], texts, events: [row] }] }
  })

/** Entries of a list (tools, checkpoints) that are kept. */
export const MAX_ENTRIES = 1000

function withObject(body: Uint8Array, content: string, parse: (object: JsonObject) => ParseOutcome): ParseOutcome {
  if (content !== 'json') return dead(`a ${content} body where JSON belongs`)
  const read = readExactJson(body)
  if ('reason' in read) return dead(read.reason)
  return isObject(read.value) ? parse(read.value) : dead('the body is no object')
}

function dead(reason: string): ParseOutcome {
  return { dead: 'DEAD_PARSE', reason }
}

/** A field of an object whose keys a sender chose: inherited ones such as `constructor` are not there. */
function own(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** A scalar as text; '' for everything that is none. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : (digitsOf(value) ?? '')
}

/** A finite number, also from text. */
function numberOf(value: unknown): number | null {
  const text = digitsOf(value) ?? value
  const number = typeof text === 'string' && text.trim() !== '' ? Number(text) : text
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

/** args or result: absent is null, what is no string is written as JSON. */
function captured(value: unknown, side: SentSide, source: Source): SaidText | null {
  if (value === undefined || value === null) return null
  const sent = typeof value === 'string' ? value : jsonText(value)
  return saidText(sent.toWellFormed(), side, writesObjects(source))
}

/** The text, with a remark about the form in which it was sent. */
function noted(said: SaidText | null, side: SentSide, metadata: MetadataBuilder): string | null {
  if (said !== null && said.form !== 'plain') metadata.note(FORM_NOTES[side], said.form)
  return said?.text ?? null
}

/** True for senders whose SDK writes objects around texts: arguments of a tool that is called by MCP are its own. */
const writesObjects = (source: Source): boolean => source === 'sdk'

/** Metadata or traits: an object by key; anything else under `value`, so that it is not lost. */
function builderOf(value: unknown): MetadataBuilder {
  const builder = new MetadataBuilder()
  if (isObject(value)) for (const key of Object.keys(value)) builder.put(key, value[key])
  else if (value !== undefined && value !== null && value !== '') builder.put('value', value)
  return builder
}

function timeOf(timestamp: unknown, context: FrameContext): Instant {
  const ms = numberOf(timestamp)
  return ms === null ? fromMs(context.receivedAtMs) : instantOfMs(ms)
}

/** The uuid of an id as it was sent, NIL_UUID when there is none. A mapped id is noted as it was sent. */
function idOf(context: FrameContext, sent: unknown, field: string, metadata: MetadataBuilder): string {
  const id = textOf(sent)
  if (id === '') return NIL_UUID
  const uuid = conversationIdOf(context.organization, id)
  if (uuid !== id.toLowerCase()) metadata.note(`sent_${field}`, id)
  return uuid
}

/** The server-primitive shape names its type; in the conversation shape a tool call says so in its metadata. */
function kindOf(type: string, metadata: MetadataBuilder): { kind: EventKind; source: Source } {
  if (type === 'tool' || type === 'resource' || type === 'prompt') return { kind: type, source: 'mcp' }
  if (type !== '') {
    metadata.note('sent_primitive_type', type)
    return { kind: 'other', source: 'mcp' }
  }
  return { kind: metadata.get('event_type') === 'tool_call' ? 'tool' : 'agent', source: 'sdk' }
}

/** The first entries of a list; how many there were besides is noted. */
function firstOf(list: unknown, field: string, metadata: MetadataBuilder): unknown[] {
  if (!Array.isArray(list)) return []
  if (list.length > MAX_ENTRIES) metadata.note(`${field}_omitted`, String(list.length - MAX_ENTRIES))
  return list.slice(0, MAX_ENTRIES)
}

export function toolName(tool: unknown): string {
  return textOf(tool) || (isObject(tool) ? textOf(own(tool, 'name')) : '') || jsonText(tool)
}

/** Checkpoints as JSON [{name, timestamp, metadata}]; '' when there are none. An entry without a name or time is left out. */
export function checkpointsOf(list: readonly unknown[]): string {
  const checkpoints = list.filter(isObject).flatMap(entry => {
    const name = textOf(own(entry, 'name'))
    const timestamp = numberOf(own(entry, 'timestamp'))
    if (name === '' || timestamp === null) return []
    return [{ name: name.toWellFormed(), timestamp, metadata: builderOf(own(entry, 'metadata')).finish() }]
  })
  return checkpoints.length === 0 ? '' : jsonText(checkpoints)
}
