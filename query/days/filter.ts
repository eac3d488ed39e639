// Which conversations of kept days a page is of: conditions on conversations as functions of their numbers.
import type { KeyFilter } from '../filters.ts'
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import { valuesKind } from './columns.ts'
import type { Kind, OrganizationDays, ValuesKind } from './organization.ts'
import { numbersOf } from './rows.ts'
import { RAGGED_VALUES_SQL } from './sql.ts'

/** Whether a conversation, by number, meets a condition. */
export type Meets = (conversation: number) => boolean

/** A condition on conversations. */
export interface KeptFilter {
  /** What must be kept to know. */
  readonly kinds: readonly Kind[]
  /** Reads what days don't know of a window's edges; what comes back is asked once days are as the store is. */
  ask(reader: Reader, window: Window): Promise<(memory: OrganizationDays) => Meets>
}

/** A condition that memory alone knows. */
const known = (of: (memory: OrganizationDays) => Meets): KeptFilter => ({ kinds: [], ask: async () => of })

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

/** Keys of one page at most whose values are kept. */
const KEYS_MAX = 2

/** Conversations of which an event of the window, or what captures say, has one of the values of each key; null: too many keys. */
export function withMetadata(filters: readonly KeyFilter[]): KeptFilter | null {
  return filters.length > KEYS_MAX ? null : allKept(filters.map(withKey))
}

/** What must be kept of a key. */
export function kindsOf(key: string): { events: ValuesKind; captures: readonly ValuesKind[] } {
  return {
    events: valuesKind({ source: 'event', key }),
    captures: SOURCES.map(source => valuesKind({ source, key })),
  }
}

function withKey({ key, values }: KeyFilter): KeptFilter {
  const { events, captures } = kindsOf(key)
  return {
    kinds: [events, ...captures],
    async ask(reader, window) {
      const { from_day, to_day } = window.parameters
      const isWhole = (day: string): boolean => (day > from_day || window.fromMs === 0) && day < to_day
      const edges = await readEdges(reader, window, { key, values })
      return memory => {
        const marks = markSaying(memory, events, values, isWhole)
        const atEdges = edges === undefined ? new Uint32Array(0) : numbersOf(memory.ids, edges)
        for (const conversation of atEdges) if (conversation < marks.length) marks[conversation] = 1
        const captured = capturedOneOf(memory, { key, values })
        return conversation => marks[conversation] === 1 || captured(conversation)
      }
    },
  }
}

const SOURCES = ['conversation_metadata', 'user_metadata'] as const

/** Ids of conversations whose events say so on the window's first and last day, which it does not hold whole. */
async function readEdges(reader: Reader, window: Window, { key, values }: KeyFilter): Promise<string | undefined> {
  if (window.fromMs === 0 && !Number.isFinite(window.toMs)) return undefined
  const parameters = { ...window.parameters, key_0: key, values_0: values }
  const [found] = await reader.read<{ ids: string }>('ragged_values', RAGGED_VALUES_SQL, parameters)
  return found?.ids
}

/** Conversations with events on some days that say one of the values. */
function markSaying(
  memory: OrganizationDays,
  kind: ValuesKind,
  values: readonly string[],
  isAsked: (day: string) => boolean,
): Uint8Array {
  const marks = new Uint8Array(memory.ids.size())
  const { days, numbersOf: numbers } = memory.saidOf(kind)
  const wanted = numbers(values)
  if (wanted.size === 0) return marks
  for (const [day, { conversations, said }] of days) {
    if (!isAsked(day)) continue
    for (let i = 0; i < conversations.length; i++) {
      if (wanted.has(said[i] as number)) marks[conversations[i] as number] = 1
    }
  }
  return marks
}

/** Conversations whose captures, or whose user's traits, say one of the values. */
export function capturedOneOf(memory: OrganizationDays, { key, values }: KeyFilter): Meets {
  const said = kindsOf(key).captures.map(kind => saysOneOf(memory, kind, values))
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
  async ask(reader, window) {
    const asked = await Promise.all(filters.map(filter => filter.ask(reader, window)))
    return memory => {
      const all = asked.map(of => of(memory))
      return conversation => all.every(meets => meets(conversation))
    }
  },
})
