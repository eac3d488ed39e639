// Lists that the dashboard keeps for an organization (charts, metadata keys): one record a list, so that changing its order is one
// write, its length can be bounded, and who reads after writing sees what was written.

import { JetStreamApiError } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { ParleyError } from '#proto/errors.ts'

/** Times that a change is tried again when someone else wrote in between. */
const ATTEMPTS = 20
/** JetStream: the key's revision is not the expected one. */
const WRONG_REVISION = 10071

/** The record under a key; undefined when there is none. */
export async function readRecord<T>(bucket: KV, key: string): Promise<T | undefined> {
  const entry = await bucket.get(key)
  return entry?.operation === 'PUT' ? entry.json<T>() : undefined
}

/**
 * Changes the record under a key: `change` is given what stands there and says what should, possibly more than once.
 * @throws ParleyError STREAM_CONFLICT when others write all the time; whatever `change` throws.
 */
export async function changeRecord<T>(bucket: KV, key: string, change: (now: T | undefined) => T): Promise<T> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const entry = await bucket.get(key)
    const next = change(entry?.operation === 'PUT' ? entry.json<T>() : undefined)
    try {
      // 0: nothing may stand there yet.
      await bucket.put(key, JSON.stringify(next), { previousSeq: entry?.revision ?? 0 })
      return next
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.code !== WRONG_REVISION) throw error
    }
  }
  throw new ParleyError('STREAM_CONFLICT', key)
}
