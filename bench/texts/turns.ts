// A number of turns -> what was said in each, in the order of time: a question, a call of a model that calls a tool, the tool, a second call
// that answers. Texts are those of the case's realistic events; every call repeats system prompt, tools and the two turns before.
import { createRandom, type Random } from '#proto/scan/fuzz/random.ts'
import { WORDS } from '../query/words.ts'

/** A question and its answer. */
export interface Said {
  readonly question: string
  readonly answer: string
}

/** A tool as a model is told of it. */
export interface Tool {
  readonly name: string
  readonly description: string
  readonly parameters: {
    readonly type: 'object'
    readonly properties: Readonly<Record<'id' | 'about', { readonly type: 'string'; readonly description: string }>>
    readonly required: readonly string[]
  }
}

/** What one call of a model took and gave in tokens, and the id of its answer. */
export interface Answered {
  readonly id: string
  readonly fingerprint: string
  readonly input: number
  readonly cached: number
  readonly output: number
}

/** From when to when, in Unix nanoseconds. */
export interface Period {
  readonly from: bigint
  readonly to: bigint
}

/** One turn of a conversation. */
export interface Turn extends Said {
  readonly service: number
  readonly trace: string
  /** Ids for as many spans as a form makes of a turn. */
  readonly spans: readonly string[]
  readonly conversation: string
  readonly user: string
  readonly plan: string
  readonly agent: string
  readonly model: string
  readonly system: string
  readonly tools: readonly Tool[]
  readonly history: readonly Said[]
  readonly call: { readonly id: string; readonly name: string; readonly args: string; readonly result: string }
  readonly calls: readonly [Answered, Answered]
  readonly whole: Period
  readonly first: Period
  readonly used: Period
  readonly second: Period
  /** Bytes that nobody of the same service had said before. */
  readonly newBytes: number
}

/** Services, each of which is an organization with one exporter. */
export const SERVICES = 8
const SPANS = 8
const STARTED_MS = 1_789_990_000_000
/** Turns that begin in a second, over all services: their exporters send some dozens of spans every five seconds. */
const TURNS_PER_S = 12
const PAUSE_S = [20, 100] as const
const LONGEST = 8
const HISTORY = 2
/** Questions that are asked again and again, of each service; a third of all is one of them. */
const COMMON_QUESTIONS = 300
const MODELS = ['gpt-4o', 'gpt-4o-mini', 'gpt-4.1']
const AGENTS = ['support', 'sales', 'billing', 'returns', 'travel', 'research', 'onboarding', 'planner']
const NOUNS = ['order', 'refund', 'ticket', 'invoice', 'stock', 'price', 'route', 'mail']
const VERBS = ['find', 'get', 'list', 'update']
const PLANS = ['free', 'team', 'pro', 'enterprise']
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const NS_PER_MS = 1_000_000n

interface Conversation {
  readonly random: Random
  readonly id: string
  readonly service: number
  readonly agent: string
  readonly user: string
  readonly plan: string
  readonly history: Said[]
}

interface Begun {
  readonly conversation: number
  readonly atMs: number
}

/** Turns in the order in which they begin; each call of a model is told of `tools` tools. */
export function* turnsOf(count: number, tools: number): Generator<Turn> {
  const known = new Map<number, Conversation>()
  const told = new Set<string>()
  const remember = (text: string): number => {
    if (told.has(text)) return 0
    told.add(text)
    return text.length
  }
  for (const { conversation: number, atMs } of begun(count)) {
    const conversation = known.get(number) ?? conversationOf(number)
    known.set(number, conversation)
    yield turnOf(conversation, atMs, tools, text => remember(`${conversation.service} ${text}`))
  }
}

/** When turns begin: conversations of one to some turns, one after another. */
function begun(count: number): Begun[] {
  const random = createRandom(3)
  const all: Begun[] = []
  for (let conversation = 0; all.length < count; conversation++) {
    let atMs = STARTED_MS + Math.floor((all.length / TURNS_PER_S) * 1000) + random.below(1000)
    for (let left = 1 + random.below(LONGEST); left > 0 && all.length < count; left--) {
      all.push({ conversation, atMs })
      atMs += between(random, PAUSE_S) * 1000 + random.below(1000)
    }
  }
  return all.sort((a, b) => a.atMs - b.atMs)
}

function conversationOf(number: number): Conversation {
  const random = createRandom(1_000_003 * (number + 1))
  const service = random.below(SERVICES)
  const user = `user-${random.below(5_000)}`
  const [agent, plan] = [random.pick(AGENTS), random.pick(PLANS)]
  return { random, id: `chat-${number}-${hex(random, 8)}`, service, agent, user, plan, history: [] }
}

function turnOf(conversation: Conversation, atMs: number, tools: number, told: (text: string) => number): Turn {
  const { random, service, agent, history } = conversation
  const offered = toolsOf(service, agent, tools)
  const system = words(createRandom(service * 100 + AGENTS.indexOf(agent) + 1), 80)
  const asked =
    random.below(3) === 0 ? createRandom(900_000 + service * COMMON_QUESTIONS + random.below(COMMON_QUESTIONS)) : random
  const said = { question: words(asked, 20 + asked.below(40)), answer: words(random, 60 + random.below(60)) }
  const about = words(createRandom(800_000 + random.below(500)), 8)
  const name = offered.length > 0 ? random.pick(offered).name : `${random.pick(VERBS)}_${random.pick(NOUNS)}`
  const call = {
    ...{ id: `call_${base62(random, 24)}`, name, args: JSON.stringify({ id: String(random.below(100_000)), about }) },
    result: JSON.stringify({ found: random.below(100), text: words(random, 30) }),
  }
  const newBytes = [system, JSON.stringify(offered), said.question, said.answer, call.args, call.result]
  const before = history.slice(-HISTORY)
  history.push(said)
  const length = [system, ...before.flatMap(each => [each.question, each.answer]), said.question].join(' ').length
  return {
    ...{ service, trace: hex(random, 32), spans: Array.from({ length: SPANS }, () => hex(random, 16)) },
    ...{
      conversation: conversation.id,
      user: conversation.user,
      plan: conversation.plan,
      agent,
      model: random.pick(MODELS),
    },
    ...{ system, tools: offered, history: before, ...said, call },
    calls: [
      answered(random, length, call.args.length),
      answered(random, length + call.args.length + call.result.length, said.answer.length),
    ],
    ...periods(random, atMs),
    newBytes: newBytes.reduce((sum, text) => sum + told(text), 0),
  }
}

/** The whole turn; both calls of the model and the tool between them. Nothing ends on a round number. */
function periods(random: Random, atMs: number): Pick<Turn, 'whole' | 'first' | 'used' | 'second'> {
  let at = BigInt(atMs) * NS_PER_MS
  const pass = (fromMs: number, toMs: number): bigint => {
    at += BigInt(between(random, [fromMs, toMs])) * NS_PER_MS + BigInt(random.below(1_000_000))
    return at
  }
  const from = pass(0, 1)
  const first = { from: pass(1, 3), to: pass(400, 3_000) }
  const used = { from: pass(0, 2), to: pass(5, 900) }
  const second = { from: pass(0, 2), to: pass(700, 6_000) }
  return { whole: { from, to: pass(0, 3) }, first, used, second }
}

function answered(random: Random, taken: number, given: number): Answered {
  const input = Math.ceil(taken / 6)
  return {
    id: `chatcmpl-${base62(random, 29)}`,
    fingerprint: `fp_${hex(createRandom(700 + random.below(5)), 10)}`,
    ...{ input, cached: random.below(2) * Math.floor(input / 2), output: Math.ceil(given / 6) },
  }
}

function toolsOf(service: number, agent: string, count: number): Tool[] {
  const random = createRandom(600_000 + service * 100 + AGENTS.indexOf(agent))
  const text = (length: number) => ({ type: 'string', description: words(random, length) }) as const
  return Array.from({ length: count }, (_, i) => ({
    name: `${VERBS[i % VERBS.length]}_${NOUNS[(i + random.below(2)) % NOUNS.length]}`,
    description: words(random, 12),
    parameters: { type: 'object', properties: { id: text(5), about: text(6) }, required: ['id'] },
  }))
}

/** Words by chance, the first ones often. */
function words(random: Random, count: number): string {
  const draw = (): string => {
    const drawn = random.below(65_536) / 65_536
    return WORDS[Math.floor(drawn * drawn * WORDS.length)] as string
  }
  return Array.from({ length: count }, draw).join(' ')
}

/** Hexadecimal digits by chance. */
export const hex = (random: Random, digits: number): string =>
  Array.from({ length: digits }, () => random.below(16).toString(16)).join('')
const base62 = (random: Random, digits: number): string =>
  Array.from({ length: digits }, () => BASE62[random.below(62)] as string).join('')
const between = (random: Random, [from, to]: readonly [number, number]): number => from + random.below(to - from + 1)
