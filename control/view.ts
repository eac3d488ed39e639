// A live copy of the control bucket in memory: filled and kept by a watch, asked without I/O. A change made by any process is seen
// here within the watch's latency (milliseconds).
import type { KV } from '@nats-io/kv'
import type {
  ApiKey,
  Guard,
  Membership,
  Organization,
  Reading,
  ReadingRecord,
  SigningKey,
  User,
} from '#control/records.ts'
import { GUARD_KEY, readingCopyKey, readingKey } from '#control/records.ts'
import type { Log } from '#runtime/log.ts'

/** Look-ups over the live copy. */
export interface ControlView {
  organization(id: string): Organization | undefined
  organizations(): Iterable<Organization>
  user(id: string): User | undefined
  apiKey(hash: string): ApiKey | undefined
  membership(organization: string, user: string): Membership | undefined
  membershipsOf(user: string): Membership[]
  membersOf(organization: string): Membership[]
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
  /** Called after every change of an organization. */
  onOrganization(listener: (organization: Organization | undefined, id: string) => void): void
  /** Called after every change of what organizations say about reading. */
  onReading(listener: () => void): void
  close(): void
}

const READING = readingKey('')

/** Opens the copy and waits until it holds everything that stood in the bucket. */
export async function openControlView(bucket: KV, log: Log): Promise<ControlView> {
  const records = new Map<string, unknown>()
  const listeners: ((organization: Organization | undefined, id: string) => void)[] = []
  const readers: (() => void)[] = []
  const apply = (key: string, value: unknown): void => {
    if (value === undefined) records.delete(key)
    else records.set(key, value)
    if (key.startsWith(READING)) for (const listener of readers) listener()
    if (key.startsWith('organization.')) {
      const id = key.slice('organization.'.length)
      for (const listener of listeners) listener(value as Organization | undefined, id)
    }
  }
  const watch = await bucket.watch()
  // The watch delivers what is there first, then changes; `delta` counts what of the first part is still to come.
  const filled = new Promise<void>((resolve, reject) => {
    void (async () => {
      const status = await bucket.status()
      if (status.values === 0) resolve()
      for await (const entry of watch) {
        try {
          apply(entry.key, entry.operation === 'PUT' ? entry.json<unknown>() : undefined)
        } catch (error) {
          log.error({ err: error, key: entry.key }, 'a control record cannot be read; the last good one stays')
        }
        if (entry.delta === 0) resolve()
      }
    })().catch(reject)
  })
  await filled
  const get = <T>(key: string): T | undefined => records.get(key) as T | undefined
  const withPrefix = <T>(prefix: string): T[] => {
    const found: T[] = []
    for (const [key, value] of records) if (key.startsWith(prefix)) found.push(value as T)
    return found
  }
  return {
    organization: id => get<Organization>(`organization.${id}`),
    organizations: () => withPrefix<Organization>('organization.'),
    user: id => get<User>(`user.${id}`),
    apiKey: hash => get<ApiKey>(`apikey.${hash}`),
    membership: (organization, user) => get<Membership>(`member.${organization}.${user}`),
    membershipsOf: user => withPrefix<Membership>('member.').filter(m => m.user === user),
    membersOf: organization => withPrefix<Membership>(`member.${organization}.`),
    signingKey: kid => get<SigningKey>(`signing.${kid}`),
    signingKeys: () => withPrefix<SigningKey>('signing.'),
    reading: organization => get<ReadingRecord>(readingKey(organization)),
    readings: function* () {
      for (const [key, value] of records) {
        if (key.startsWith(READING)) yield [key.slice(READING.length), value as ReadingRecord]
      }
    },
    readingOf: (organization, hash) => get<Reading>(readingCopyKey(organization, hash)),
    guard: () => get<Guard>(GUARD_KEY),
    onOrganization: listener => listeners.push(listener),
    onReading: listener => readers.push(listener),
    close: () => watch.stop(),
  }
}
