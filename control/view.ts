// A live copy of the control bucket in memory: filled and kept by a watch, asked without I/O. A change made by any process is seen
// here within the watch's latency (milliseconds). Look-ups by organization and by user cost what they find, not what there is.
import type { KV } from '@nats-io/kv'
import type {
  ApiKey,
  ApiKeyUse,
  EmailClaim,
  Guard,
  Invitation,
  Membership,
  Organization,
  Reading,
  ReadingRecord,
  SignInSession,
  SigningKey,
  User,
} from '#control/records.ts'
import {
  apiKeyKey,
  apiKeyUseKey,
  emailKey,
  GUARD_KEY,
  invitationKey,
  membershipKey,
  organizationKey,
  readingCopyKey,
  readingKey,
  sessionKey,
  signingKeyKey,
  userKey,
} from '#control/records.ts'
import type { Log } from '#runtime/log.ts'

/** Look-ups over the live copy. */
export interface ControlView {
  organization(id: string): Organization | undefined
  organizations(): Iterable<Organization>
  user(id: string): User | undefined
  /** The user of an address, however it is written. */
  userByEmail(email: string): User | undefined
  apiKey(hash: string): ApiKey | undefined
  /** The keys of an organization with the hashes they stand under. */
  apiKeysOf(organization: string): { hash: string; record: ApiKey }[]
  apiKeyUse(id: string): ApiKeyUse | undefined
  membership(organization: string, user: string): Membership | undefined
  membershipsOf(user: string): Membership[]
  membersOf(organization: string): Membership[]
  invitation(organization: string, email: string): Invitation | undefined
  invitationsOf(organization: string): Invitation[]
  /** The invitations of an address, of all organizations. */
  invitationsTo(email: string): Invitation[]
  session(id: string): SignInSession | undefined
  sessionsOf(user: string): SignInSession[]
  signingKey(kid: string): SigningKey | undefined
  signingKeys(): SigningKey[]
  /** What an organization says about reading its payloads; undefined when it never said anything. */
  reading(organization: string): ReadingRecord | undefined
  /** The organizations that say something. */
  readings(): Iterable<readonly [organization: string, record: ReadingRecord]>
  /** What an organization said when it had this hash; undefined when it is no longer kept. */
  readingOf(organization: string, hash: string): Reading | undefined
  /** Undefined where nobody watches a disk. */
  guard(): Guard | undefined
  /** Resolves once the copy has seen this revision of the bucket; after a while in any case, should the watch be lost. */
  reached(revision: number): Promise<void>
  /** Called after every change of an organization. */
  onOrganization(listener: (organization: Organization | undefined, id: string) => void): void
  /** Called after every change of an API key. */
  onApiKey(listener: () => void): void
  /** Called after every change of what organizations say about reading. */
  onReading(listener: () => void): void
  close(): void
}

const REACHED_WAIT_MS = 20_000

/** First words of keys: `organization` of `organization.<id>`. */
const kindOf = (key: string): string => key.slice(0, key.indexOf('.'))
const restOf = (key: string): string => key.slice(key.indexOf('.') + 1)

/** Opens the copy and waits until it holds everything that stood in the bucket. */
export async function openControlView(bucket: KV, log: Log): Promise<ControlView> {
  const copy = createCopy()
  const reached = createMark()
  const watch = await bucket.watch()
  // The watch delivers what is there first, then changes; `delta` counts what of the first part is still to come.
  const filled = new Promise<void>((resolve, reject) => {
    void (async () => {
      const status = await bucket.status()
      if (status.values === 0) resolve()
      for await (const entry of watch) {
        try {
          copy.apply(entry.key, entry.operation === 'PUT' ? entry.json<unknown>() : undefined)
        } catch (error) {
          log.error({ err: error, key: entry.key }, 'a control record cannot be read; the last good one stays')
        }
        reached.move(entry.revision)
        if (entry.delta === 0) resolve()
      }
    })().catch(reject)
  })
  await filled
  const { get, all, lists } = copy
  return {
    organization: id => get<Organization>(organizationKey(id)),
    organizations: () => all<Organization>('organization').map(([, record]) => record),
    user: id => get<User>(userKey(id)),
    userByEmail: email => get<User>(userKey(get<EmailClaim>(emailKey(email))?.user ?? '')),
    apiKey: hash => get<ApiKey>(apiKeyKey(hash)),
    apiKeysOf: organization =>
      lists.of<ApiKey>('apikey', organization).map(([key, record]) => ({ hash: restOf(key), record })),
    apiKeyUse: id => get<ApiKeyUse>(apiKeyUseKey(id)),
    membership: (organization, user) => get<Membership>(membershipKey(organization, user)),
    membershipsOf: user => lists.of<Membership>('member-of', user).map(([, record]) => record),
    membersOf: organization => lists.of<Membership>('member', organization).map(([, record]) => record),
    invitation: (organization, email) => get<Invitation>(invitationKey(organization, email)),
    invitationsOf: organization => lists.of<Invitation>('invitation', organization).map(([, record]) => record),
    invitationsTo: email => lists.of<Invitation>('invitation-to', restOf(emailKey(email))).map(([, record]) => record),
    session: id => get<SignInSession>(sessionKey(id)),
    sessionsOf: user => lists.of<SignInSession>('session', user).map(([, record]) => record),
    signingKey: kid => get<SigningKey>(signingKeyKey(kid)),
    signingKeys: () => all<SigningKey>('signing').map(([, record]) => record),
    reading: organization => get<ReadingRecord>(readingKey(organization)),
    readings: () => all<ReadingRecord>('reading').map(([key, record]) => [restOf(key), record] as const),
    readingOf: (organization, hash) => get<Reading>(readingCopyKey(organization, hash)),
    guard: () => get<Guard>(GUARD_KEY),
    reached: reached.wait,
    onOrganization: listener => copy.on('organization', (value, id) => listener(value as Organization | undefined, id)),
    onApiKey: listener => copy.on('apikey', listener),
    onReading: listener => copy.on('reading', listener),
    close: () => watch.stop(),
  }
}

type Listener = (value: unknown, rest: string) => void

/** Records by key, by kind, and in the lists that are asked for. */
function createCopy() {
  const records = new Map<string, unknown>()
  const kinds = new Map<string, Map<string, unknown>>()
  const listeners = new Map<string, Listener[]>()
  const lists = createLists()
  return {
    lists,
    get: <T>(key: string): T | undefined => records.get(key) as T | undefined,
    all: <T>(kind: string): [string, T][] => [...((kinds.get(kind) ?? []) as Map<string, T>)],
    on: (kind: string, listener: Listener): void => {
      listeners.set(kind, [...(listeners.get(kind) ?? []), listener])
    },
    apply: (key: string, value: unknown): void => {
      const kind = kindOf(key)
      lists.drop(key, records.get(key))
      if (value === undefined) {
        records.delete(key)
        kinds.get(kind)?.delete(key)
      } else {
        records.set(key, value)
        let same = kinds.get(kind)
        if (same === undefined) kinds.set(kind, (same = new Map()))
        same.set(key, value)
        lists.add(key, value)
      }
      for (const listener of listeners.get(kind) ?? []) listener(value, restOf(key))
    },
  }
}

/** The lists that a record stands in, each by name and owner. */
function placesOf(key: string, value: unknown): (readonly [list: string, owner: string])[] {
  switch (kindOf(key)) {
    case 'member': {
      const { organization, user } = value as Membership
      return [
        ['member', organization],
        ['member-of', user],
      ]
    }
    case 'apikey':
      return [['apikey', (value as ApiKey).organization]]
    case 'session':
      return [['session', (value as SignInSession).user]]
    case 'invitation': {
      const { organization, email } = value as Invitation
      return [
        ['invitation', organization],
        ['invitation-to', restOf(emailKey(email))],
      ]
    }
    default:
      return []
  }
}

function createLists() {
  const lists = new Map<string, Map<string, unknown>>()
  return {
    add: (key: string, value: unknown): void => {
      for (const [list, owner] of placesOf(key, value)) {
        const name = `${list} ${owner}`
        let entries = lists.get(name)
        if (entries === undefined) lists.set(name, (entries = new Map()))
        entries.set(key, value)
      }
    },
    drop: (key: string, value: unknown): void => {
      if (value === undefined) return
      for (const [list, owner] of placesOf(key, value)) {
        const name = `${list} ${owner}`
        const entries = lists.get(name)
        entries?.delete(key)
        if (entries?.size === 0) lists.delete(name)
      }
    },
    of: <T>(list: string, owner: string): [string, T][] => [
      ...((lists.get(`${list} ${owner}`) ?? []) as Map<string, T>),
    ],
  }
}

/** How far the copy is, and who waits for it to be further. */
function createMark() {
  let at = 0
  const waiting = new Set<{ revision: number; resolve: () => void }>()
  return {
    move: (revision: number): void => {
      at = Math.max(at, revision)
      for (const waiter of waiting) if (waiter.revision <= at) waiter.resolve()
    },
    wait: async (revision: number): Promise<void> => {
      if (revision <= at) return
      await new Promise<void>(resolve => {
        const timer = setTimeout(() => waiter.resolve(), REACHED_WAIT_MS)
        const waiter = {
          revision,
          resolve: () => {
            clearTimeout(timer)
            waiting.delete(waiter)
            resolve()
          },
        }
        waiting.add(waiter)
      })
    },
  }
}
