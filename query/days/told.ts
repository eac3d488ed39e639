// Versions of days as the store told them last -> whether a question may go by them: it may if it came before the store was asked.
import type { Reader } from '../reader.ts'
import { type Shelf, type StoreVersions, type VersionRow, versionsOf } from './shelves.ts'
import { VERSIONS_SQL } from './sql.ts'

/** Versions of one moment. */
export interface Told {
  readonly versions: StoreVersions
  /** Shelves that hold what the store did then, or later. */
  readonly brought: Set<Shelf>
}

/** What the store said last. */
export interface Telling {
  /** How often the store was asked so far: what it is asked from now on is no older than this. */
  now(): number
  /** Versions of now. */
  again(reader: Reader): Promise<Told>
  /** Versions of no earlier than `since`, or of what the same request began with: a reader is made for one request. */
  versions(reader: Reader, since?: number): Promise<Told>
  /** Whether the store would be asked for them. */
  asks(reader: Reader, since?: number): boolean
  /** Shelves may be anything from now on. */
  forget(): void
  /** The same for an error, which it throws. */
  fail(error: unknown): never
}

/** Nothing was told yet. */
export function createTelling(): Telling {
  let asked = 0
  let last: { readonly told: Told; readonly nth: number } | undefined
  const requests = new WeakMap<Reader, number>()
  const again = async (reader: Reader): Promise<Told> => {
    const nth = ++asked
    const versions = versionsOf(await reader.read<VersionRow>('day_versions', VERSIONS_SQL))
    last = { told: { versions, brought: new Set() }, nth }
    return last.told
  }
  const beganOf = (reader: Reader, since = asked): number => Math.min(requests.get(reader) ?? since, since)
  const forget = (): void => {
    last = undefined
  }
  return {
    now: () => asked,
    again,
    async versions(reader, since) {
      const began = beganOf(reader, since)
      requests.set(reader, began)
      return last !== undefined && last.nth > began ? last.told : again(reader)
    },
    asks: (reader, since) => last === undefined || last.nth <= beganOf(reader, since),
    forget,
    fail(error) {
      forget()
      throw error
    },
  }
}
