// Which conversations of kept days a page is of: conditions on conversations as functions of their numbers.
import { boundTo, type KeyFilter } from '../filters.ts'
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import { eventValuesKind, valuesKind } from './columns.ts'
import type { Kind, OrganizationDays, ValuesKind } from './organization.ts'
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
  /** Something has to be read. */
  readonly asks: boolean
  /** Reads what days don't know of a window's edges; what comes back is asked once days are as the store is. */
  ask(reader: Reader, window: Window): Promise<(memory: OrganizationDays) => Meets>
}

/** A condition that memory alone knows. */
const known = (of: (memory: OrganizationDays) => Meets): KeptFilter => ({ kinds: [], asks: false, ask: async () => of })

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
    asks: true,
    async ask(reader, window) {
      const { from_day, to_day } = window.parameters
      const isWhole = (day: string): boolean => (day > from_day || window.fromMs === 0) && day < to_day
      const edges = await readEdges(reader, window, filters)
      return memory => {
        const atEdges = edges.map(edge => ({ ...edge, conversations: numbersOf(memory.ids, edge.ids) }))
        const each = filters.map((filter, place): Meets => {
          const marks = markSaying(memory, filters, place, isWhole)
          for (const { conversations, met } of atEdges) {
            conversations.forEach((conversation, i) => {
              if (conversation < marks.length && met[i]?.[place] === MET) marks[conversation] = 1
            })
          }
          const captured = capturedOneOf(memory, filter)
          return conversation => marks[conversation] === 1 || captured(conversation)
        })
        return conversation => each.every(meets => meets(conversation))
      }
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

/** Whether an event passes, by its conversation and by the number of what it says. */
export type Passes = (conversation: number, said: number) => boolean

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
  if (window.fromMs === 0 && !Number.isFinite(window.toMs)) return []
  const known = await knownSaidEdges(reader, filters, window)
  if (known !== undefined) {
    return known.map(({ ids, texts, said }) => ({ ids, met: said.map(place => texts[place - 1] as string) }))
  }
  const parameters = { ...window.parameters, ...boundTo(filters) }
  return reader.read<RaggedValues>('ragged_values', raggedValuesSql(filters), parameters)
}

/** Conversations with events on some days that meet the filter at a place. */
function markSaying(
  memory: OrganizationDays,
  filters: readonly KeyFilter[],
  place: number,
  isAsked: (day: string) => boolean,
): Uint8Array {
  const marks = new Uint8Array(memory.ids.size())
  const says = keptSays(memory, filters, place)
  for (const [day, { conversations, said }] of memory.saidOf(eventValuesKind(keysOf(filters))).days) {
    if (!isAsked(day)) continue
    for (let i = 0; i < conversations.length; i++) {
      if (says(said[i] as number)) marks[conversations[i] as number] = 1
    }
  }
  return marks
}

/** Conversations whose captures, or whose user's traits, say one of the values. */
export function capturedOneOf(memory: OrganizationDays, { key, values }: KeyFilter): Meets {
  const said = captureKindsOf(key).map(kind => saysOneOf(memory, kind, values))
  return conversation => said.some(says => says(conversation))
}

function saysOneOf(memory: OrganizationDays, kind: ValuesKind, values: readonly string[]): Meets {
  const { numbers, valueOf } = memory.valuesOf(kind)
  // By number of what was said, so that its JSON is read once; 0 says nothing.
  const known = new Map<number, boolean>([[0, false]])
  return conversation => {
    const number = numbers[conversation] ?? 0
    const found = known.get(number) ?? values.includes(valueOf(number))
    known.set(number, found)
    return found
  }
}

/** All of some conditions. */
export const allKept = (filters: readonly KeptFilter[]): KeptFilter => ({
  kinds: filters.flatMap(({ kinds }) => kinds),
  asks: filters.some(({ asks }) => asks),
  async ask(reader, window) {
    const asked = await Promise.all(filters.map(filter => filter.ask(reader, window)))
    return memory => {
      const all = asked.map(of => of(memory))
      return conversation => all.every(meets => meets(conversation))
    }
  },
})
