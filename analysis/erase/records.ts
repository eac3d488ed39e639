// Records of an organization that people or receivers have made of what users sent: saved views, charts, exports that wait, requests that were refused.
// What says one of the names of who is erased goes, and the bytes of what was said before are overwritten.
import type { JetStreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { changeRecord } from '#control/lists.ts'
import { chartsKey, ticketsKey, viewsKey } from '#control/records.ts'
import { CONTROL_BUCKET, CURSORS_BUCKET, REJECTS_BUCKET } from '#proto/streams.ts'
import { dropMessage, rewriteBucket } from '#streams/rewrite.ts'

/** The buckets in which a user may be named. */
export interface NamingBuckets {
  readonly jsm: JetStreamManager
  readonly control: KV
  readonly cursors: KV
  readonly rejects: KV
}

/** A name that is shorter counts only where it is a whole value: in a longer text it may be any word. */
const WORD_CHARS = 6
/** Fields of these records that hold words and ids of ours, and that a user may be called by chance. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  ...['id', 'page', 'shared', 'created_by', 'created_at', 'updated_at', 'chart_type', 'metric', 'position'],
  ...[
    'time_range',
    'sort',
    'search_field',
    'group_level',
    'page_size',
    'source',
    'hash',
    'by',
    'kind',
    'expires_at_ms',
  ],
  ...['at', 'endpoint', 'status', 'code', 'body_bytes'],
])

/** Lists of an organization, by what they are called in a certificate. Nothing else in the buckets holds what users have sent. */
const listsOf = ({ control, rejects }: NamingBuckets, organization: string) =>
  [
    ['views', CONTROL_BUCKET, control, viewsKey(organization)],
    ['charts', CONTROL_BUCKET, control, chartsKey(organization)],
    ['waiting_exports', CONTROL_BUCKET, control, ticketsKey(organization)],
    ['rejected_requests', REJECTS_BUCKET, rejects, organization],
  ] as const

/** Removes entries that say one of the names; returns how many, by list. Safe to repeat. @throws when the server does not answer. */
export async function eraseRecords(
  buckets: NamingBuckets,
  organization: string,
  names: readonly string[],
): Promise<Record<string, number>> {
  const erased: Record<string, number> = {}
  if (names.length === 0) return erased
  const saysOne = sayingOneOf(names)
  for (const [list, bucket, kv, key] of listsOf(buckets, organization)) {
    const now = await kv.get(key)
    if (now?.operation === 'PUT' && now.json<unknown[]>().some(saysOne)) {
      let gone = 0
      await changeRecord<unknown[]>(kv, key, (entries = []) => {
        const kept = entries.filter(entry => !saysOne(entry))
        gone = entries.length - kept.length
        return kept
      })
      erased[list] = gone
    }
    // What replaced values said is still there, in as many revisions as the bucket keeps, and in the file.
    const said: number[] = []
    for await (const entry of await kv.history({ key })) {
      if (entry.operation === 'PUT' && entry.json<unknown[]>().some(saysOne)) said.push(entry.revision)
    }
    if (now?.operation === 'PUT' && erased[list] !== undefined && !said.includes(now.revision)) said.push(now.revision)
    for (const revision of said) await dropMessage(buckets.jsm, bucket, revision, { overwrite: true })
  }
  return erased
}

/** Writes the files of these buckets anew. */
export async function rewriteBuckets({ jsm, control, cursors, rejects }: NamingBuckets): Promise<void> {
  await rewriteBucket(jsm, control, CONTROL_BUCKET)
  await rewriteBucket(jsm, cursors, CURSORS_BUCKET)
  await rewriteBucket(jsm, rejects, REJECTS_BUCKET)
}

/** Whether an entry of a list says one of the names: as a whole value, or as a word of a longer one. */
export function sayingOneOf(names: readonly string[]): (entry: unknown) => boolean {
  const whole = new Set(names)
  const words = names.filter(name => name.length >= WORD_CHARS)
  const says = (value: unknown): boolean => {
    if (typeof value === 'string') return whole.has(value) || words.some(word => hasWord(value, word))
    if (typeof value === 'number') return whole.has(String(value))
    if (typeof value !== 'object' || value === null) return false
    return Object.entries(value).some(([key, one]) => !OWN_FIELDS.has(key) && says(one))
  }
  return says
}

/** Letters or digits beside it make it another word. */
function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    const [before, after] = [text.slice(0, at), text.slice(at + word.length)]
    if (!/[\p{L}\p{N}]$/u.test(before) && !/^[\p{L}\p{N}]/u.test(after)) return true
  }
  return false
}
