// What captures that came to an open day say, as one statement answers it -> whom they name, and what they say of a key: each is what the
// shelf's own statement would say of the same rows.
import * as held from './rows.ts'
import type { StoreVersions } from './shelves.ts'
import type { Users } from './users.ts'

/** By place of a conversation, as the store answers it: see `capturesArrivedSql`. */
export interface CapturesRow extends held.Versioned {
  readonly key: string
  readonly proof: string
  readonly ids: string
  readonly users: readonly string[]
  /** By key that was asked for; empty: nothing. */
  readonly said: readonly (readonly string[])[]
}

/** The same, with numbers of its conversations, and what replaced captures, which is part of their version. */
export interface CapturesArrived extends Pick<StoreVersions, 'replaced'> {
  readonly row: CapturesRow
  readonly conversations: Uint32Array
}

/** Conversations, and whom captures name. */
export const namedIn = (users: Users, { row, conversations, replaced }: CapturesArrived): held.Pairs =>
  held.namesOnly(held.captureVersion(row, replaced), conversations, users.numbersOf(row.users))

/** Those of which captures say anything of the key at a place; `texts` number it. */
export function saidIn(texts: Users, { row, conversations, replaced }: CapturesArrived, place: number): held.Pairs {
  const all = texts.numbersOf(row.said[place] as readonly string[])
  return held.namesOnly(
    held.captureVersion(row, replaced),
    conversations.filter((_, i) => all[i] !== 0),
    all.filter(said => said !== 0),
  )
}
