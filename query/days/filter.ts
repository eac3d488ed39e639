// Which conversations of kept days a page is of: conditions on conversations as functions of their numbers.
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import type { Kind, OrganizationDays } from './organization.ts'

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
