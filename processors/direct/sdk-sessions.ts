// Bodies of capture-session -> one row each, whose maps are copied from the bytes. The row is the one that parsers/sdk.ts makes, byte for
// byte; bodies of a shape that is not read here are left to it, and counted by reason.
import { FRAME_HEADER_BYTES, frameFacts, ORGANIZATION_AT } from '#proto/envelope.ts'
import { conversationIdOf } from '#proto/ids.ts'
import type { Source } from '#proto/rows.ts'
import { JsonType } from '#proto/scan/json.ts'
import type { BlockEncoder } from '../encoder.ts'
import { emailNames, MAX_ENTRIES, toolName } from '../parsers/sdk.ts'
import { Entries, type Fallback } from './entries.ts'
import { BodyFields } from './fields.ts'
import { MetadataKeys } from './keys.ts'
import type { EventContext } from './sdk-events.ts'
import type { RowOrigin } from './sdk-rows.ts'

const FIELDS = [
  ...['session_id', 'user_data', 'client_config', 'metadata', 'timestamp', 'connection_type', 'ip', 'tools'],
] as const
const F = Object.fromEntries(FIELDS.map((name, i) => [name, i])) as Record<(typeof FIELDS)[number], number>
const body = new BodyFields(FIELDS)
const { types } = body
const traitKeys = new MetadataKeys(['user_id', 'userId', ...emailNames], [])
const metadataKeys = new MetadataKeys([], [])
const NONE = new Uint8Array(0)

/** A capture between its frame and its row. Sessions are far fewer than events: an object each is cheap. */
interface Places {
  readonly frame: number
  readonly retention: number
  readonly source: Source
  readonly conversationId: string
  readonly sessionId: string
  readonly userId: string
  readonly userEmail: string
  readonly clientConfig: string
  readonly connectionType: string
  readonly ip: string
  readonly tools: readonly string[]
  readonly startedAtMs: number
  readonly traits: readonly [from: number, to: number]
  readonly metadata: readonly [from: number, to: number]
}

/** The captures of one range. `bytes` holds its messages. */
export class SdkSessions {
  /** Why the last body was left to the other way. */
  fallback: Fallback = 'json'
  readonly #bytes: Uint8Array
  readonly #traits = new Entries(traitKeys)
  readonly #metadata = new Entries(metadataKeys)
  readonly #maps: readonly (Entries | undefined)[]
  readonly #places: Places[] = []

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    const maps: Readonly<Record<string, Entries>> = { user_data: this.#traits, metadata: this.#metadata }
    this.#maps = FIELDS.map(name => maps[name])
  }

  /** Takes the frame at `frame`; the number of its capture, -1 when it must be read the other way. */
  take(frame: number, length: number, context: EventContext): number {
    const traitsFrom = this.#traits.length
    const metadataFrom = this.#metadata.length
    this.#traits.begin()
    this.#metadata.begin()
    const base = frame + FRAME_HEADER_BYTES
    const view = new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset + base, length)
    const scanned = body.scan(view, base, this.#maps) || this.leave(body.fallback) >= 0
    const places = scanned ? this.#read(frame, context, traitsFrom, metadataFrom) : null
    if (places === null) {
      this.#traits.rewind(traitsFrom)
      this.#metadata.rewind(metadataFrom)
      return -1
    }
    return this.#places.push(places) - 1
  }

  /** Leaves a body to the other way. */
  leave(why: Fallback): -1 {
    this.fallback = why
    return -1
  }

  #refuse(why: Fallback): null {
    this.fallback = why
    return null
  }

  #read(frame: number, context: EventContext, traitsFrom: number, metadataFrom: number): Places | null {
    const { session_id, client_config, connection_type, ip, timestamp } = F
    if (types[session_id] !== JsonType.string || body.isEmpty(session_id)) return this.#refuse('id')
    for (const field of [client_config, connection_type, ip]) if (body.isScalar(field)) return this.#refuse('type')
    // What a map masks is still a user's id or address.
    if (this.#traits.isChanged) return this.#refuse('type')
    const at = body.instantOf(timestamp, context.receivedAtMs)
    if (at === null) return this.#refuse('time')
    const tools = this.#tools()
    if (tools === null) return this.#refuse('list')
    const sessionId = body.textOf(session_id)
    const { asked } = this.#traits
    return {
      frame,
      retention: context.retention,
      source: types[client_config] === JsonType.string ? 'mcp' : 'sdk',
      conversationId: conversationIdOf(context.organization, sessionId),
      sessionId,
      userId: asked.get('user_id') || asked.get('userId') || '',
      userEmail: emailNames.map(name => asked.get(name)).find(text => text) ?? '',
      clientConfig: textIn(client_config),
      connectionType: textIn(connection_type),
      ip: textIn(ip),
      tools,
      startedAtMs: at.ms,
      traits: [traitsFrom, this.#traits.length],
      metadata: [metadataFrom, this.#metadata.length],
    }
  }

  #tools(): readonly string[] | null {
    if (types[F.tools] !== JsonType.array) return []
    const list = body.valueOf(F.tools) as unknown[]
    return list.length > MAX_ENTRIES ? null : list.map(tool => toolName(tool).toWellFormed())
  }

  /** Adds the row of a capture. */
  write(session: number, origin: RowOrigin, encoder: BlockEncoder): void {
    const bytes = this.#bytes
    const places = this.#places[session] as Places
    const c = encoder.row('sessions', places.retention, 0)
    c.organization.addBytes(bytes, places.frame + ORGANIZATION_AT)
    c.conversation_id.add(places.conversationId)
    c.session_id.add(places.sessionId === places.conversationId ? '' : places.sessionId)
    c.source.add(places.source)
    c.user_id.add(places.userId)
    c.user_email.add(places.userEmail)
    this.#traits.write(c.user_data, bytes, ...places.traits)
    c.user_data.endRow()
    this.#metadata.write(c.metadata, bytes, ...places.metadata)
    c.metadata.endRow()
    c.client_config.add(places.clientConfig)
    c.connection_type.add(places.connectionType)
    c.ip.add(places.ip)
    c.tools.add(places.tools)
    c.started_at.addInstant(places.startedAtMs, 0)
    c.recording_url.addBytes(NONE, 0, 0)
    c.received_at.addInstant(frameFacts(bytes, places.frame).receivedAtMs, 0)
    c.retention.add(places.retention)
    c.report.addBytes(NONE, 0, 0)
    c.origin_partition.add(origin.partition)
    c.origin_generation.add(origin.generation)
    c.origin_sequence.add(origin.sequence)
    c.origin_frame.add(origin.frame)
    c.origin_index.add(0)
  }
}

function textIn(field: number): string {
  return types[field] === JsonType.string ? body.textOf(field) : ''
}
