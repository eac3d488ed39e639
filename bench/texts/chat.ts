// Conversations in which every call of a model repeats the system prompt, the tools and all that was said before -> what their senders
// send, minute by minute. Nobody says the same thing twice; how much of it is naive to keep is counted as it is made.
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { jsonBytes, request, span } from '#proto/otlp/fixture.ts'
import { createRandom, type Random } from '#proto/scan/fuzz/random.ts'
import { WORDS } from '../query/words.ts'
import type { Arrival } from './arrive.ts'

/** What a set of conversations is like. */
export interface Chats {
  readonly surface: 'otlp' | 'sdk'
  readonly conversations: number
  readonly turns: number
  readonly organizations: number
  /** Bytes of one message, from and to. */
  readonly said: readonly [number, number]
}

/** A message in a history. */
interface Message {
  readonly role: 'user' | 'assistant'
  readonly text: string
}

interface Chat {
  readonly organization: Uint8Array
  readonly id: string
  readonly first: number
  readonly system: string
  readonly tools: string
  readonly history: Message[]
}

/** What arrives in one minute. */
export interface Minute extends Arrival {
  readonly calls: number
  /** Bytes of everything that the calls said, histories repeated, and of the requests around it. */
  readonly naiveBytes: number
  readonly sentBytes: number
  /** Bytes that nobody of the same organization had said before. */
  readonly newBytes: number
}

const KiB = 1024
const ENVELOPE_BYTES = 256 * KiB
const SYSTEM_BYTES = 3 * KiB
const TOOLS = 8
const STARTED_MS = 1_789_990_000_000
const MINUTE_MS = 60_000
/** A word in so many is a name or a number that nobody has said before. */
const RARE_EVERY = 12

/** The minutes of all conversations, which begin one after another within the length of one. */
export function* minutesOf(chats: Chats): Generator<Minute> {
  const random = createRandom(7)
  const shared = new Map<number, { system: string; tools: string }>()
  const all = Array.from({ length: chats.conversations }, (_, i): Chat => {
    const owner = i % chats.organizations
    const known = shared.get(owner) ?? { system: sentence(random, SYSTEM_BYTES), tools: toolsOf(random) }
    shared.set(owner, known)
    const first = Math.floor((i * chats.turns) / chats.conversations)
    return { organization: organizationOf(owner), id: `chat-${i}`, first, ...known, history: [] }
  })
  const told = new Set<number>()
  for (let minute = 0; minute < 2 * chats.turns; minute++) {
    const now = all.filter(({ first }) => minute >= first && minute < first + chats.turns)
    if (now.length > 0) yield minuteOf(chats, now, minute, random, told)
  }
}

function minuteOf(chats: Chats, now: readonly Chat[], minute: number, random: Random, told: Set<number>): Minute {
  const atMs = STARTED_MS + minute * MINUTE_MS
  const counts = { naiveBytes: 0, sentBytes: 0, newBytes: 0 }
  const writer = new EnvelopeWriter(64 * KiB * KiB)
  const parts: Uint8Array[] = []
  const ends: number[] = []
  let size = 0
  const close = (): void => {
    if (writer.length === 0) return
    const part = Uint8Array.from(writer.finish())
    parts.push(part)
    size += part.length
    ends.push(size)
    writer.reset()
  }
  for (const chat of now) {
    const asked = sentence(random, between(random, chats.said))
    const answer = sentence(random, between(random, chats.said))
    const owner = chat.organization[0] as number
    if (!told.has(owner)) counts.newBytes += chat.system.length + chat.tools.length
    told.add(owner)
    counts.newBytes += asked.length + answer.length
    chat.history.push({ role: 'user', text: asked })
    const said = chat.history.reduce((sum, { text }) => sum + text.length, 0)
    counts.naiveBytes += chat.system.length + chat.tools.length + said + answer.length
    const body = chats.surface === 'otlp' ? exportOf(chat, answer, minute) : eventOf(chat, answer, atMs)
    counts.sentBytes += body.length
    const kind = chats.surface === 'otlp' ? FrameKind.otlp : FrameKind.event
    const id = uuidBytes(uuidOf(chat.id, minute))
    writer.append(kind, FrameEncoding.json, chat.organization, atMs + 100, id, body)
    chat.history.push({ role: 'assistant', text: answer })
    if (writer.length >= ENVELOPE_BYTES) close()
  }
  close()
  return { bytes: new Uint8Array(Buffer.concat(parts)), ends: Float64Array.from(ends), calls: now.length, ...counts }
}

/** A call of a model as a span by OpenTelemetry's conventions. */
function exportOf(chat: Chat, answer: string, minute: number): Uint8Array {
  const message = ({ role, text }: Message) => ({ role, parts: [{ type: 'text', content: text }] })
  const values = {
    ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-4o' },
    ...{ 'gen_ai.conversation.id': chat.id, 'gen_ai.usage.input_tokens': 900, 'gen_ai.usage.output_tokens': 120 },
    'gen_ai.system_instructions': JSON.stringify([{ type: 'text', content: chat.system }]),
    'gen_ai.tool.definitions': chat.tools,
    'gen_ai.input.messages': JSON.stringify(chat.history.map(message)),
    'gen_ai.output.messages': JSON.stringify([message({ role: 'assistant', text: answer })]),
  }
  const nanos = (ms: number): string => `${STARTED_MS + minute * MINUTE_MS + ms}000000`
  const times = { startTimeUnixNano: nanos(0), endTimeUnixNano: nanos(900) }
  const number = Number(chat.id.slice(5)) * 1000 + minute + 1
  return jsonBytes(request([span(number, number, { name: 'chat gpt-4o', ...times }, values)]))
}

/** The same as an event of the SDK: what went to the model is its arguments. */
function eventOf(chat: Chat, answer: string, atMs: number): Uint8Array {
  const messages = [
    { role: 'system', content: chat.system },
    ...chat.history.map(({ role, text }) => ({ role, content: text })),
  ]
  const args = JSON.stringify({ model: 'gpt-4o', tools: JSON.parse(chat.tools) as unknown, messages })
  const ids = { session_id: uuidOf(chat.id, -1), timestamp: atMs }
  const event = { ...ids, primitive_name: 'gpt-4o', args, result: answer, latency: 900 }
  return Buffer.from(JSON.stringify(event))
}

function toolsOf(random: Random): string {
  const tools = Array.from({ length: TOOLS }, (_, i) => ({
    type: 'function',
    function: {
      name: `tool_${i}`,
      description: sentence(random, 200),
      parameters: { type: 'object', properties: { id: { type: 'string', description: sentence(random, 80) } } },
    },
  }))
  return JSON.stringify(tools)
}

/** Words by chance, the first ones often, up to a number of bytes. */
function sentence(random: Random, bytes: number): string {
  let text = ''
  while (text.length < bytes) {
    const rare = random.below(RARE_EVERY) === 0
    const drawn = random.below(65_536) / 65_536
    const word = rare ? random.below(2 ** 31).toString(36) : (WORDS[Math.floor(drawn * drawn * WORDS.length)] as string)
    text += text === '' ? word : ` ${word}`
  }
  return text
}

const between = (random: Random, [from, to]: readonly [number, number]): number => from + random.below(to - from + 1)
const organizationOf = (i: number): Uint8Array =>
  uuidBytes(`${(i + 1).toString(16).padStart(2, '0')}111111-1111-4111-8111-111111111111`)
const uuidOf = (chat: string, minute: number): string =>
  `${Number(chat.slice(5)).toString(16).padStart(8, '0')}-0000-4000-8000-${(minute + 1).toString(16).padStart(12, '0')}`
