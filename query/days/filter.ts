// Which conversations of kept days a page is of: conditions on conversations as functions of their numbers.
import { boundTo, type KeyFilter } from '../filters.ts'
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import { eventValuesKind, valuesKind } from './columns.ts'
import { type Edge, edgesOf, type Passes } from './edges.ts'
import { asOfNow, type Kind, type OrganizationDays, type Refresh, type ValuesKind } from './organization.ts'
import { numbersOf } from './rows.ts'
import { remembered } from './said.ts'
import { knownSaidEdges } from './said-edges.ts'
import { raggedValuesSql } from './said-sql.ts'

/** Whether a conversation, by number, meets a condition. */
export type Meets = (conversation: number) => boolean

/** A condition on conversations. */
export interface KeptFilter {
  /** What must be kept to know. */
  readonly kinds: readonly Kind[]
  /** Says who meets it, where memory alone knows. */
  readonly known?: (memory: OrganizationDays) => Meets
  /** Asks for a window's edges, of memory or at once of the store. */
  ask(
    reader: Reader,
    window: Window,
    of: AskedFilter,
  ): Promise<AskedFilter & { meets(memory: OrganizationDays): Meets }>
}

/** Days, and what is asked of them. */
export interface AskedFilter {
  readonly memory: OrganizationDays
  readonly asked: Refresh
}

/** A condition that memory alone knows. */
const known = (of: (memory: OrganizationDays) => Meets): KeptFilter => ({
  kinds: [],
  known: of,
  ask: async (_reader, _window, asked) => ({ ...asked, meets: of }),
})

/** Everything. */
export const EVERY: KeptFilter = known(() => () => true)

/** Conversations of a user; of nobody, where the name is empty. */
export const ofUser = (name: string): KeptFilter =>
  known(memory => {
    const user = memory.users.find(name)
    return user === undefined ? () => false : conversation => memory.userOf(conversation) === user
  })

/** Conversations by their ids. */
export const ofIds = (ids: readonly string[]): KeptFilter =>
  known(memory => {
    const wanted = new Set(ids.map(id => memory.ids.find(id)))
    return conversation => wanted.has(conversation)
  })

/** Keys of one question at most that are kept together. */
const KEYS_MAX = 3

/** Conversations of which an event of the window, or what captures say, has one of the values of each key; null: too many keys. */
export function withMetadata(filters: readonly KeyFilter[]): KeptFilter | null {
  if (filters.length === 0) return EVERY
  const kinds = kindsOf(filters)
  if (kinds === null) return null
  const { events, captures } = kinds
  return {
    kinds: [events, ...captures],
    async ask(reader, window, { memory, asked }) {
      const { from_day, to_day } = window.parameters
      const isWhole = (day: string): boolean => (day > from_day || window.fromMs === 0) && day < to_day
      const isAll = window.fromMs === 0 && !Number.isFinite(window.toMs)
      const edges = isAll ? [] : edgesOf(window)
      const days = edges.map(({ day }) => day)
      const inMemory = memory.keepsRowsOf(days, asked.maxBytes)
      const told = inMemory ? [] : await readEdges(reader, window, filters)
      const meets = (memory: OrganizationDays): Meets => {
        const each = filters.map((filter, place): Meets => {
          const marks = new Uint8Array(memory.ids.size())
          markSaying(marks, memory, { filters, place, isAsked: isWhole })
          if (inMemory) markWithin(marks, memory, { filters, place, edges })
          else markTold(marks, memory, { told, place })
          const captured = capturedOneOf(memory, filter)
          return conversation => marks[conversation] === 1 || captured(conversation)
        })
        return conversation => each.every(meets => meets(conversation))
      }
      const asking = inMemory ? { ...asked, edges: days, edgesOf: events } : asOfNow(memory, asked)
      return { memory, asked: isAll ? asked : asking, meets }
    },
  }
}

/** What must be kept of the keys of some filters; null: there are too many. */
export function kindsOf(filters: readonly KeyFilter[]): { events: ValuesKind; captures: readonly ValuesKind[] } | null {
  if (filters.length > KEYS_MAX) return null
  return { events: eventValuesKind(keysOf(filters)), captures: filters.flatMap(({ key }) => captureKindsOf(key)) }
}

/** What captures say of a key. */
export const captureKindsOf = (key: string): ValuesKind[] => SOURCES.map(source => valuesKind({ source, key }))

const SOURCES = ['conversation_metadata', 'user_metadata'] as const

/** In an order that does not depend on how they are asked for. */
const keysOf = (filters: readonly KeyFilter[]): string[] => filters.map(({ key }) => key).sort()

/** How the store tells that a filter is met. */
const MET = '1'

/** All of some filters; `says` tells by the number of what is said whether the filter at a place is met. */
export function passesOf(
  memory: OrganizationDays,
  filters: readonly KeyFilter[],
  says: (place: number) => (said: number) => boolean,
): Passes {
  const each = filters.map((filter, place) => ({ says: says(place), captured: capturedOneOf(memory, filter) }))
  return (conversation, said) => each.every(one => one.says(said) || one.captured(conversation))
}

/** Whether what is kept says one of the values of the filter at a place. */
export function keptSays(memory: OrganizationDays, filters: readonly KeyFilter[], place: number) {
  const keys = keysOf(filters)
  const { key, values } = filters[place] as KeyFilter
  return memory.saidOf(eventValuesKind(keys)).meets(keys.indexOf(key), values)
}

/** The same of what the store has told, as its digits. */
export const toldSays = (place: number, textOf: (said: number) => string, texts: number) =>
  remembered(texts, said => textOf(said)[place] === MET)

interface RaggedValues {
  readonly ids: string
  readonly met: readonly string[]
}

/** Conversations whose events meet some filters on the window's first and last day, which it does not hold whole. */
async function readEdges(
  reader: Reader,
  window: Window,
  filters: readonly KeyFilter[],
): Promise<readonly RaggedValues[]> {
  const known = await knownSaidEdges(reader, filters, window)
  if (known !== undefined) {
    return known.map(({ ids, texts, said }) => ({ ids, met: said.map(place => texts[place - 1] as string) }))
  }
  const parameters = { ...window.parameters, ...boundTo(filters) }
  return reader.read<RaggedValues>('ragged_values', raggedValuesSql(filters), parameters)
}

/** Which filter of a question is looked at. */
interface OneFilter {
  readonly filters: readonly KeyFilter[]
  readonly place: number
}

/** Marks conversations with events on whole days that meet a filter. */
function markSaying(
  marks: Uint8Array,
  memory: OrganizationDays,
  { filters, place, isAsked }: OneFilter & { isAsked: (day: string) => boolean },
): void {
  const says = keptSays(memory, filters, place)
  for (const [day, { conversations, said }] of memory.saidOf(eventValuesKind(keysOf(filters))).days) {
    if (!isAsked(day)) continue
    for (let i = 0; i < conversations.length; i++) {
      if (says(said[i] as number)) marks[conversations[i] as number] = 1
    }
  }
}

/** The same of the edges of a window, from rows that are kept. */
function markWithin(
  marks: Uint8Array,
  memory: OrganizationDays,
  { filters, place, edges }: OneFilter & { edges: readonly Edge[] },
): void {
  const says = keptSays(memory, filters, place)
  for (const { day, from, to } of edges) {
    for (const { conversations, instants, said } of memory.rowsOf(day, eventValuesKind(keysOf(filters)))) {
      for (let i = 0; i < instants.length; i++) {
        const at = instants[i] as number
        if (at >= from && at < to && says(said?.[i] ?? 0)) marks[conversations[i] as number] = 1
      }
    }
  }
}

/** The same as the store has told it. */
function markTold(
  marks: Uint8Array,
  memory: OrganizationDays,
  { told, place }: { told: readonly RaggedValues[]; place: number },
): void {
  for (const { ids, met } of told) {
    numbersOf(memory.ids, ids).forEach((conversation, i) => {
      if (conversation < marks.length && met[i]?.[place] === MET) marks[conversation] = 1
    })
  }
}

/** Conversations whose captures, or whose user's traits, say one of the values. */
export function capturedOneOf(memory: OrganizationDays, { key, values }: KeyFilter): Meets {
  const said = captureKindsOf(key).map(kind => saysOneOf(memory, kind, values))
  return conversation => said.some(says => says(conversation))
}

function saysOneOf(memory: OrganizationDays, kind: ValuesKind, values: readonly string[]): Meets {
  const { numbers, valueOf, groupsOf } = memory.valuesOf(kind)
  // By number of what was said, so that its JSON is read once; 0 says nothing.
  const known = new Map<number, boolean>([[0, false]])
  return conversation => {
    const number = numbers[conversation] ?? 0
    const found = known.get(number) ?? [valueOf(number), ...groupsOf(number)].some(value => values.includes(value))
    known.set(number, found)
    return found
  }
}

/** All of some conditions; one alone is asked without a detour for each conversation. */
export function allKept(all: readonly KeptFilter[]): KeptFilter {
  const filters = all.filter(filter => filter !== EVERY)
  const [one = EVERY, ...others] = filters
  return others.length === 0 ? one : conjunction(filters)
}

const conjunction = (filters: readonly KeptFilter[]): KeptFilter => ({
  kinds: filters.flatMap(({ kinds }) => kinds),
  async ask(reader, window, of) {
    const all: ((memory: OrganizationDays) => Meets)[] = []
    let { asked } = of
    for (const filter of filters) {
      const found = await filter.ask(reader, window, { ...of, asked })
      all.push(found.meets)
      asked = found.asked
    }
    const meets = (memory: OrganizationDays): Meets => {
      const each = all.map(one => one(memory))
      return conversation => each.every(meets => meets(conversation))
    }
    return { ...of, asked, meets }
  },
})
