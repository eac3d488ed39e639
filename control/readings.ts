// What an organization says about reading its payloads: changes of it. The present record stands under one key; a copy under its
// hash stays a while longer, so that what was stored by it can be stored in the same way again.
import { hash } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import type { Reading, ReadingRecord } from '#control/records.ts'
import { readingCopyKey, readingKey } from '#control/records.ts'
import { ParleyError } from '#proto/errors.ts'

/** Earlier contents that are kept. A recipe lives for seconds: one that outlives this many changes is stored anew. */
const EARLIER_MAX = 8
/** Bytes of one organization's record: every process holds all of them. */
const RECORD_MAX_BYTES = 64 * 1024

/** What an organization says that never said anything. */
export const NOTHING_SAID: Reading = { prices: [], rules: [] }

/**
 * Changes what an organization says; `by` is kept with it. `edit` is asked again when somebody else changed it meanwhile.
 * @throws ParleyError REQ_BODY_INVALID when it would take too many bytes; whatever `edit` throws.
 */
export async function changeReading(
  control: KV,
  organization: string,
  by: string,
  edit: (reading: Reading) => Reading,
): Promise<ReadingRecord> {
  const key = readingKey(organization)
  for (;;) {
    const entry = await control.get(key)
    const before = entry?.operation === 'PUT' ? entry.json<ReadingRecord>() : undefined
    const { prices, rules } = edit(before ?? NOTHING_SAID)
    const text = JSON.stringify({ prices, rules })
    if (Buffer.byteLength(text) > RECORD_MAX_BYTES) {
      throw new ParleyError('REQ_BODY_INVALID', `prices and rules take more than ${RECORD_MAX_BYTES} bytes together`)
    }
    const name = hash('sha1', text, 'hex').slice(0, 16)
    const all = [...new Set([...(before ? [before.hash] : []), ...(before?.earlier ?? [])])].filter(
      each => each !== name,
    )
    const record: ReadingRecord = {
      prices,
      rules,
      hash: name,
      earlier: all.slice(0, EARLIER_MAX),
      updated_at: new Date().toISOString(),
      updated_by: by,
    }
    // The copy first: whoever reads by the record may have to do so again.
    await control.put(readingCopyKey(organization, name), text)
    try {
      await control.put(key, JSON.stringify(record), { previousSeq: entry?.revision ?? 0 })
    } catch (error) {
      const now = await control.get(key)
      if ((now?.revision ?? 0) === (entry?.revision ?? 0)) throw error
      continue
    }
    for (const gone of all.slice(EARLIER_MAX)) await control.purge(readingCopyKey(organization, gone))
    return record
  }
}

/** Forgets what an organization said, with everything that it said before: nothing of it will be read any more. May be repeated. */
export async function forgetReading(control: KV, organization: string): Promise<void> {
  for await (const key of await control.keys(readingCopyKey(organization, '*'))) await control.purge(key)
  await control.purge(readingKey(organization))
}
