// Does an event's session exist? Known ones are answered at once. For others the event waits a moment: for its session to be created
// (senders overlap), for this receiver to read what another one stored, for the store to find an old one.
// "Unknown" is said only when it is proven; whatever cannot be told counts as known: a false accept costs nothing, a false 404 data.
import type { Follower } from '#ingest/follow.ts'
import type { KnownSessions } from '#ingest/known-sessions.ts'
import type { SessionLookup } from '#ingest/session-lookup.ts'
import { partitionOf } from '#proto/ids.ts'

/** Why an event was let through or not. */
export type SessionFinding = 'appeared' | 'undecided' | 'unknown'

export interface Sessions {
  /** True when the conversation is known without asking. */
  has(organization: Uint8Array, conversation: Uint8Array): boolean
  /** A conversation that is durable from now on. */
  learn(organization: Uint8Array, conversation: Uint8Array): void
  /** Decides about a conversation that is not known, within the waiting time. Call only after `has` said no. */
  find(organization: Uint8Array, conversation: Uint8Array): Promise<SessionFinding>
  /** Events that wait now. */
  waiting(): number
  /** Decides all that wait now. */
  close(): void
}

export interface SessionsOptions {
  readonly known: KnownSessions
  readonly follower: Pick<Follower, 'position' | 'end'>
  readonly lookup: SessionLookup
  readonly partitions: number
  /** Left out: one. */
  readonly shards?: number
  readonly waitMs: number
  readonly maxWaiting: number
  /** Told when the store could not answer. */
  readonly onLookupFailed: (error: unknown) => void
}

interface Wait {
  readonly decide: (finding: SessionFinding) => void
}

/** The sessions of one receiver. */
export function createSessions(options: SessionsOptions): Sessions {
  const { known, follower, lookup, waitMs } = options
  const waits = new Map<string, Set<Wait>>()
  let waiting = 0

  const decideAll = (key: string, finding: SessionFinding): void => {
    for (const wait of waits.get(key) ?? []) wait.decide(finding)
  }
  const learn = (organization: Uint8Array, conversation: Uint8Array): void => {
    known.add(organization, conversation)
    if (waiting > 0) decideAll(keyOf(organization, conversation), 'appeared')
  }

  const find = (organization: Uint8Array, conversation: Uint8Array): Promise<SessionFinding> => {
    if (waiting >= options.maxWaiting) return Promise.resolve('undecided')
    const key = keyOf(organization, conversation)
    const partition = partitionOf(organization, conversation, options.partitions, options.shards)
    return new Promise(resolve => {
      let absentInStore = false
      let end = Number.POSITIVE_INFINITY
      // The time is waited out even when both have answered: the session may be on its way on another connection.
      const timer = setTimeout(() => {
        wait.decide(absentInStore && follower.position(partition) >= end ? 'unknown' : 'undecided')
      }, waitMs)
      const wait: Wait = {
        decide: finding => {
          if (!waits.get(key)?.delete(wait)) return
          if (waits.get(key)?.size === 0) waits.delete(key)
          waiting--
          clearTimeout(timer)
          resolve(finding)
        },
      }
      const others = waits.get(key)
      if (others) others.add(wait)
      else waits.set(key, new Set([wait]))
      waiting++
      lookup.exists(organization, conversation).then(
        exists => {
          absentInStore = !exists
          if (exists) learn(organization, conversation)
        },
        (error: unknown) => {
          options.onLookupFailed(error)
          wait.decide('undecided')
        },
      )
      follower.end(partition).then(
        position => {
          end = position
        },
        () => wait.decide('undecided'),
      )
    })
  }
  return {
    has: known.has,
    learn,
    find,
    waiting: () => waiting,
    close: () => {
      for (const key of [...waits.keys()]) decideAll(key, 'undecided')
    },
  }
}

function keyOf(organization: Uint8Array, conversation: Uint8Array): string {
  return Buffer.from(organization).toString('latin1') + Buffer.from(conversation).toString('latin1')
}
