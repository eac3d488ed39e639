// Reads and changes of single records of the control bucket, safe against everybody else's. Lists that the dashboard keeps for an
// organization (charts, metadata keys) are one record each, so that changing their order is one write and their length is bounded.

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

/** Writes a record where none stands; false when there is one. This is what makes things unique. */
export async function createRecord(bucket: KV, key: string, value: unknown): Promise<boolean> {
  try {
    await bucket.create(key, JSON.stringify(value))
    return true
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === WRONG_REVISION) return false
    throw error
  }
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
