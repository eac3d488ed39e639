// Random events, captures and corrections, and what stands of them: for tests that recount every answer without SQL.
import type { TimeRange } from '#proto/dashboard/shared.ts'
import { NIL_UUID } from '#proto/ids.ts'
import type { SessionRow } from '#proto/rows.ts'
import { Present } from '#proto/rows.ts'
import { fractionsOf } from '#runtime/seeded.ts'
import type { Store } from '#store/client.ts'
import { aggregateInserts } from '#test/folding.ts'
import type { StoredEvent } from './fixture.ts'
import {
  id,
  insertEvents,
  insertMove,
  insertMoves,
  insertSessions,
  NOW_MS,
  storedEvent,
  storedSession,
} from './fixture.ts'

/** Chances of one seed. */
export interface Dice {
  readonly random: () => number
  readonly below: (n: number) => number
  readonly pick: <T>(values: readonly T[]) => T
  /** The value, two times of five. */
  readonly maybe: <T>(value: T) => T | undefined
}

export function createDice(seed: number): Dice {
  const random = fractionsOf(seed)
  const below = (n: number): number => Math.floor(random() * n)
  return {
    random,
    below,
    pick: <T>(values: readonly T[]): T => values[below(values.length)] as T,
    maybe: value => (random() < 0.4 ? value : undefined),
  }
}

export const NAMES = ['ask', 'find', 'plan']
const PLANS = ['free', 'pro', 'team']
/** What is said of plans: a list says each of its members. */
const SAID_PLANS = [...PLANS, '["pro","team"]', '["team",7]', '[]', '["free"']
export const USERS = ['', 'ada', 'bob', 'cyd']
const WORDS = ['refund', 'invoice', 'refund', 'delivery', 'password', 'the', 'of', 'Grün']
/** Odd ones: half an hour and three quarters beside UTC's, behind it, and beyond a day ahead of it. */
const ZONES = ['Asia/Kathmandu', 'America/St_Johns', 'Pacific/Kiritimati', 'Pacific/Marquesas', 'Europe/Berlin']
/** Of several types. */
const WEIGHTS = ['12', '-0.5', 'heavy', 'true']
const ERRORS = ['', 'no answer after 30 s', 'no answer after 7 s', 'order 12 is gone']

/** What was written, and what stands after all corrections. */
export interface RandomData {
  readonly conversations: readonly string[]
  /** What is known from captures: conversation -> user and plan. */
  readonly captured: ReadonlyMap<string, { readonly user: string; readonly plan: string }>
  readonly standing: readonly StoredEvent[]
}

/** Whose events are drawn, and how many. */
interface Share {
  readonly organization: string
  readonly count: number
  readonly dice: Dice
}

/** What was drawn for an organization. */
interface Drawn extends RandomData {
  readonly captures: readonly SessionRow[]
  readonly events: readonly StoredEvent[]
  readonly removed: readonly StoredEvent[]
  /** Conversation -> what moved there. */
  readonly moves: ReadonlyMap<string, readonly StoredEvent[]>
}

/** Corrections are several inserts, each of so many conversations. */
const MOVED_AT_ONCE = 10

/**
 * Writes events of some organizations, of which a third is corrected, into an `events` whose inserts have their projections at once;
 * merges should be stopped before.
 */
export async function writeRandomData(store: Store, shares: readonly Share[]): Promise<RandomData[]> {
  const drawn = shares.map(drawData)
  // Half of it has been merged once and has projections, the other half has rows alone; of the moves, too.
  for (const { captures, events } of drawn) {
    await insertSessions(store, captures)
    await insertEvents(store, events.slice(0, events.length / 2))
  }
  await aggregateInserts(store, false)
  for (const { events, removed } of drawn) {
    await insertEvents(store, events.slice(events.length / 2))
    await insertMove(store, removed, null)
  }
  await aggregateInserts(store)
  for (const { moves } of drawn) {
    const all = [...moves].map(([conversation_id, events]) => ({ events, change: { conversation_id } }))
    for (let i = 0; i < all.length; i += MOVED_AT_ONCE) await insertMoves(store, all.slice(i, i + MOVED_AT_ONCE))
  }
  return drawn
}

function drawData({ organization, count, dice }: Share): Drawn {
  const { random, below, pick } = dice
  const conversations = Array.from({ length: 40 }, (_, i) => id(1000 + i))
  const captured = new Map<string, { user: string; plan: string }>()
  for (const conversation_id of conversations) {
    if (random() >= 0.5) captured.set(conversation_id, { user: pick(USERS), plan: pick(SAID_PLANS) })
  }
  // Captures come late, long after events, and some say what an earlier one said otherwise.
  const captures = [...captured].flatMap(([conversation_id, { user, plan }]) => {
    const capture = (user_id: string, plan: string, beforeMs: number) =>
      storedSession({
        organization,
        conversation_id,
        user_id,
        user_data: { plan },
        at: new Date(NOW_MS - beforeMs).toISOString(),
      })
    // A capture without a user says nothing about it: then the earlier one would still count.
    const stale = user !== '' && random() < 0.5 ? [capture(pick(USERS), pick(SAID_PLANS), 86_400_000)] : []
    return [capture(user, plan, 1000), ...stale]
  })
  const events = Array.from({ length: count }, (_, i) => {
    const failed = pick([0, 0, 1] as const)
    return storedEvent({
      organization,
      conversation_id: pick(conversations),
      event_id: id(5000 + i),
      parent_id: random() < 0.4 ? id(5000 + below(count)) : NIL_UUID,
      // Quarter seconds of ten days, so that instants coincide.
      at: new Date(NOW_MS - below(10 * 86_400 * 4) * 250).toISOString(),
      kind: pick(['agent', 'tool', 'llm', 'prompt'] as const),
      name: pick(NAMES),
      user_id: pick(USERS),
      failed,
      error_type: failed === 1 ? pick(['', 'Timeout']) : '',
      error_message: failed === 1 ? pick(ERRORS) : '',
      duration_ns: random() < 0.2 ? -1 : below(3_000_000) * 1000,
      input_tokens: below(1000),
      ...(i % 3 === 0 ? { present: Present.inputTokens } : {}),
      metadata: {
        ...(random() < 0.3 ? { plan: pick(SAID_PLANS) } : {}),
        event_type: pick(['turn', 'call']),
        ...(i % 5 === 0 ? { weight: WEIGHTS[(i / 5) % WEIGHTS.length] as string } : {}),
      },
      input: `text ${i} ${pick(WORDS)} ${pick(WORDS)}`,
      output: pick(['', 'done 1', 'done 2']),
    })
  })
  const standing: StoredEvent[] = []
  const removed: StoredEvent[] = []
  const moves = new Map<string, StoredEvent[]>()
  for (const event of events) {
    const chance = random()
    const conversation_id = pick(conversations)
    if (chance < 0.1) removed.push(event)
    else if (chance < 0.3) {
      moves.set(conversation_id, [...(moves.get(conversation_id) ?? []), event])
      standing.push({ ...event, event: { ...event.event, conversation_id } })
    } else standing.push(event)
  }
  return { conversations, captured, captures, events, standing, removed, moves }
}

/** The filters that are drawn. */
export interface Filters {
  readonly time_range: TimeRange
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly timezone?: string | undefined
  readonly agent_name?: string | undefined
  readonly success?: boolean | undefined
  readonly metadata_filters?: { key: string; value: string }[] | undefined
}

/** A fixed window, whose ends often coincide with instants of events; sometimes with one end only. */
function between({ below, random }: Dice): { from?: string; to?: string } {
  const at = () => new Date(NOW_MS - below(11 * 96) * 900_000).toISOString()
  const [from = '', to = ''] = [at(), at()].sort()
  if (random() < 0.3 || from === to) return { to }
  return random() < 0.3 ? { from } : { from, to }
}

export function randomFilters(dice: Dice): Filters {
  const { pick, maybe, random } = dice
  return {
    time_range: pick(['1h', '1d', '1w', '1m', 'all'] as const),
    ...(random() < 0.5 ? between(dice) : {}),
    timezone: maybe(pick(ZONES)),
    agent_name: maybe(pick(NAMES)),
    success: maybe(random() < 0.5),
    metadata_filters: maybe([
      pick([
        { key: 'plan', value: random() < 0.8 ? pick(PLANS) : pick([...SAID_PLANS, '7', '[', '']) },
        { key: 'event_type', value: 'call' },
      ]),
    ]),
  }
}

const HOURS: Record<TimeRange, number> = { '1min': 1 / 60, '1h': 1, '1d': 24, '1w': 168, '1m': 720, all: Infinity }

/** First and last instant of a window, the last excluded. */
export function boundsOf({ time_range, from, to }: Filters): { start: number; end: number } {
  const end = to === undefined ? Number.POSITIVE_INFINITY : Date.parse(to)
  const start = from === undefined ? Math.min(end, NOW_MS) - HOURS[time_range] * 3_600_000 : Date.parse(from)
  return { start, end }
}

export const timeOf = ({ event }: StoredEvent): number => Date.parse(`${event.ts.replace(' ', 'T')}Z`)

export function inWindow(event: StoredEvent, filters: Filters): boolean {
  const { start, end } = boundsOf(filters)
  return timeOf(event) >= start && timeOf(event) < end
}

export const isTurnOf = ({ event }: StoredEvent, agent: string): boolean =>
  event.kind === 'agent' && event.name === agent

/** Whether a text is a value, or a list that has it as a member. */
function says(text: string | undefined, value: string): boolean {
  if (text === undefined || text === value) return text !== undefined
  const members: unknown = /^\[.*\]$/.test(text) ? JSON.parse(text) : []
  return (members as unknown[]).map(String).includes(value)
}

export const hasOwn = ({ event }: StoredEvent, key: string, value: string): boolean => says(event.metadata[key], value)

export const hasCaptured = (data: RandomData, conversation: string, key: string, value: string): boolean =>
  key === 'plan' && says(data.captured.get(conversation)?.plan, value)

/** Events that metadata filters let through. */
export const passesMetadata = (data: RandomData, stored: StoredEvent, filters: Filters): boolean =>
  (filters.metadata_filters ?? []).every(
    ({ key, value }) => hasOwn(stored, key, value) || hasCaptured(data, stored.event.conversation_id, key, value),
  )

/** Events that the base filters let through. */
export const eventsOf = (data: RandomData, filters: Filters): StoredEvent[] =>
  data.standing.filter(
    stored =>
      inWindow(stored, filters) &&
      (filters.agent_name === undefined || isTurnOf(stored, filters.agent_name)) &&
      (filters.success === undefined || (stored.event.failed === 0) === filters.success) &&
      passesMetadata(data, stored, filters),
  )

/** The user of a conversation: as captured, else the last in order of those that its events name; '' when nobody does. */
export function userOf(data: RandomData, conversation: string): string {
  const seen = data.standing
    .filter(({ event }) => event.conversation_id === conversation)
    .map(({ event }) => event.user_id)
  return data.captured.get(conversation)?.user || (seen.sort().at(-1) ?? '')
}
