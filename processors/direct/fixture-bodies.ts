// For tests and the bench: bodies of events, from what senders write to what nobody would, read from their bytes and as objects.
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { parseExactly } from '#proto/json.ts'
import { mutate } from '#proto/scan/fuzz/mutate.ts'
import { createRandom, type Random } from '#proto/scan/fuzz/random.ts'
import { randomOf } from '#runtime/seeded.ts'
import { type BlockInput, encodeRange, type Parsed, parseRange } from '../block.ts'
import { createEncoder } from '../encoder.ts'
import type { Parsers } from '../frames.ts'
import { bent } from '../parsers/fixture-odd.ts'
import { createReadings, type ReadingSettings } from '../readings.ts'
import { parsers } from '../registry.ts'

const SESSION = '22222222-2222-4222-8222-222222222222'
const EVENT = '33333333-3333-4333-8333-333333333333'
/** A number that a double would round. */
const LONG = parseExactly('-9007199254740993')
const base = { session_id: SESSION, event_id: EVENT, primitive_name: 'support-agent' }
const turn = { ...base, args: 'Where is it?', result: 'On its way,\nsaid "he". 請再寄一次發票 😀', latency: 812.5 }

/** What senders write. None of them needs an object. */
export const usualEvents: readonly object[] = [
  base,
  turn,
  { ...turn, timestamp: 1_789_999_990_000, metadata: { plan: 'team', region: 'eu-west', release: '2026.11.5' } },
  { ...turn, metadata: { plan: 'team', seats: 12, score: 0.5, trial: false, none: null, tags: ['a', { b: 1 }] } },
  { ...turn, session_id: 'conv_1', event_id: 'turn 1', parent_id: 'turn 0' },
  { ...turn, event_id: null, primitive_type: 'tool', success: false, latency: 3, result: 'ü'.repeat(2000) },
  { ...turn, event_id: '', primitive_type: 'resource', success: true, latency: 0, args: { a: [1] }, parent_id: EVENT },
  { ...turn, session_id: SESSION.replaceAll('2', 'A'), event_id: EVENT.replaceAll('3', 'B'), args: '', result: null },
  { ...turn, metadata: { event_type: 'tool_call', parent_id: EVENT, error_type: 'E', error: 'broke' }, success: false },
  {
    ...turn,
    metadata: { model: 'gpt-4o', provider: 'openai', input_tokens: 812, output_tokens: 64, total_tokens: 876 },
  },
  { ...turn, metadata: { model: 'unheard-of', input_tokens: '5', cost: '0.01', note: 'the key to "it"' } },
  { ...turn, metadata: { api_key: 'k', said: 'Bearer eyJhbGciOi.J9.sig', headers: { Cookie: 'a=b' }, secret: '' } },
  {
    ...turn,
    checkpoints: [
      { name: 'a', timestamp: 1.5, metadata: { n: 1 } },
      { name: 'b', timestamp: 2 },
    ],
    other: [{}],
  },
  {
    ...turn,
    args: 'a'.repeat(199) + '😀',
    primitive_type: 'prompt',
    success: true,
    checkpoints: [],
    timestamp: '1789999990000.25',
  },
  // Texts as SDKs write them: JSON, JSON of ASCII, an object around them.
  { ...turn, args: JSON.stringify('Grüße "😀"'), result: '"Gr\\u00fc\\u00dfe"' },
  { ...turn, args: JSON.stringify({ input: 'Grüße' }), result: JSON.stringify({ output: '' }) },
  { ...turn, args: { input: 'Grüße\n' }, result: '""', primitive_type: '', success: false },
  { ...turn, args: JSON.stringify({ input: 'its own' }), result: '"said"', primitive_type: 'tool' },
  { ...turn, args: '"Gr\\u00FC"', result: '{"output": "spaced"}' },
  // Numbers that a double would round.
  {
    ...turn,
    args: 'token 9007199254740993',
    metadata: {
      order: LONG,
      deep: { list: [LONG, 0.1], headers: { 'x-key': LONG } },
      error: LONG,
      model: 'gpt-4o',
      cost: LONG,
    },
    latency: LONG,
    checkpoints: [{ name: 'a', timestamp: LONG, metadata: { n: LONG } }],
  },
  { ...turn, primitive_name: 'né "x"', metadata: { 'gen_ai.usage.input_tokens': 'many', cost_usd: 'free' }, error: 1 },
]

const KEYS = [
  ...['event_id', 'session_id', 'primitive_name', 'args', 'result', 'timestamp', 'parent_id', 'metadata', 'success'],
  ...[
    'checkpoints',
    'primitive_type',
    'latency',
    'a',
    '',
    '__proto__',
    '0',
    'parley.x',
    'model',
    'input_tokens',
    'cost',
  ],
  ...[
    'token',
    'error',
    'event_type',
    'error.type',
    'name',
    'user_id',
    'userId',
    'email',
    'user_email',
    'userEmail',
    'tools',
    'client_config',
    'user_data',
  ],
]
/** What senders write of sessions. */
export const usualSessions: readonly object[] = [
  {
    session_id: SESSION,
    user_data: { user_id: 'u-1', email: 'a@b.c', user_email: 'd@e.f', age: 30, tags: ['x'] },
    metadata: { channel: 'web' },
  },
  { session_id: 'conv_9', user_data: { userId: 'tok "1"', user_id: '' }, timestamp: 1_789_999_990_000, metadata: null },
  { session_id: SESSION.replaceAll('2', 'A'), client_config: 'my server 1.0', connection_type: 'http', ip: '10.0.0.1' },
  { session_id: SESSION, user_data: { user_id: 'u-2', email: '', userEmail: 'g@h.i', user_email: 7 } },
  { session_id: SESSION, user_data: { user_id: LONG, email: LONG, age: [LONG] }, metadata: { n: LONG }, tools: [LONG] },
  { session_id: SESSION, client_config: '', tools: ['a', { name: 'b' }, 7], metadata: { authorization: 'x', n: 1.5 } },
]
const bytesOf = (body: object): Buffer => Buffer.from(JSON.stringify(body))
const seeds = { event: usualEvents.map(bytesOf), session: usualSessions.map(bytesOf) }

/** A body of either kind. */
export interface Body {
  readonly kind: 'event' | 'session'
  readonly bytes: Uint8Array
}

/** A source of bodies by seed: as they are, with strange values, with changed bytes. */
export function oddBodies(seed: number): () => Body {
  const random: Random = createRandom(seed)
  const below = randomOf(seed)
  return () => {
    const kind = random.below(4) === 0 ? 'session' : 'event'
    const usual = random.pick(kind === 'event' ? usualEvents : usualSessions)
    const choice = random.below(8)
    if (choice === 0) return { kind, bytes: bytesOf(usual) }
    if (choice < 4) return { kind, bytes: Buffer.from(JSON.stringify(bent(usual, below, 6 + random.below(30)))) }
    return { kind, bytes: mutate(random.pick(seeds[kind]), KEYS, random) }
  }
}

const RECEIVED_AT_MS = 1_790_000_000_000
const ORGANIZATIONS = ['11111111-1111-4111-8111-111111111111', '22222222-1111-4111-8111-111111111111'] as const
const MINTED = uuidBytes('01a0c4f2-0000-7000-8000-000000000001')

/** Prices of one model. */
const reading: ReadingSettings = createReadings(
  {
    version: 'test',
    entries: [
      { model: 'gpt-4o', provider: 'openai', prices: { input: 2.5, output: 10 }, version: '1', source: 'test' },
    ],
  },
  { readings: () => new Map(), readingOf: () => undefined, onReading: () => {} },
).now()

/** A range of one message for every ten bodies. */
export function rangeOf(bodies: readonly Body[]): BlockInput {
  const parts: Uint8Array[] = []
  for (let i = 0; i < bodies.length; i += 10) {
    const writer = new EnvelopeWriter(64 * 1024 * 1024)
    for (const [k, { kind, bytes }] of bodies.slice(i, i + 10).entries()) {
      const organization = uuidBytes(ORGANIZATIONS[(i + k) % 17 === 0 ? 1 : 0] as string)
      const minted = (i + k) % 5 === 4 ? null : MINTED
      writer.append(FrameKind[kind], FrameEncoding.json, organization, RECEIVED_AT_MS + i, minted, bytes)
    }
    parts.push(Uint8Array.from(writer.finish()))
  }
  let end = 0
  const ends = Float64Array.from(parts, part => (end += part.length))
  return {
    bytes: new Uint8Array(Buffer.concat(parts)),
    ends,
    sequences: ends.map((_, i) => 2 ** 33 + i),
    ...{ partition: 3, generation: 7, classes: { [ORGANIZATIONS[1]]: 2 }, reading, dead: [], scope: {} },
  }
}

/** Everything that comes of a range, in a form that can be compared. */
function comparable(input: BlockInput, use: Parsers): { readonly text: string; readonly parsed: Parsed } {
  const parsed = parseRange(input, use, () => {})
  const { prints, dead, classes, readings, unpriced, loose, units } = parsed
  // Some are left out, as repeats are.
  const repeats = Array.from(
    { length: Math.floor(units.length / 7) },
    (_, i) => [i * 7, i * 7 + (i % 2)] as [number, number],
  )
  const blocks = encodeRange(parsed, input, repeats, createEncoder())
  const made = blocks.map(({ body, ...block }) => ({ ...block, bytes: body.length }))
  const list = Buffer.from(prints.list).toString('hex')
  const rest = {
    list,
    sequences: Array.from(prints.sequences),
    dead,
    classes,
    readings,
    unpriced,
    loose,
    units: units.length,
  }
  return { text: JSON.stringify([made, rest]), parsed }
}

const asObjects: Parsers = { ...parsers, openBodies: undefined as never }

/** Reads a range both ways. `same` is false when anything differs, down to the bytes of a block. */
export function bothWays(bodies: readonly Body[]): {
  same: boolean
  fallbacks: Readonly<Record<string, number>>
  units: number
} {
  const input = rangeOf(bodies)
  const direct = comparable(input, parsers)
  const object = comparable(input, asObjects)
  return { same: direct.text === object.text, fallbacks: direct.parsed.fallbacks, units: direct.parsed.units.length }
}
