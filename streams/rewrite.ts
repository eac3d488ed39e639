// A bucket's file -> the same without what no longer counts. The server takes a value out of its index when a later one replaces it; the bytes stay
// until it writes the block of the file anew. It does so when a message leaves a block that is written to no more and of which less than a
// quarter counts. So blocks are filled up, and what they were filled with leaves last.
import type { JetStreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { bucketStreamOf } from '#proto/streams.ts'
import { isNotFound } from './dead-letters.ts'

const KEY = 'filler'
/** A server takes messages of a megabyte unless it is told otherwise. */
const FILLER_CHARS = 512 * 1024
/** Two blocks of a bucket have 16 MiB: at the end none of those that held anything before is written to. */
const TIMES = 40

/** Writes what a bucket's file holds anew, but for blocks of which a quarter and more counts. Whoever watches all keys sees one come and go. */
export async function rewriteBucket(jsm: JetStreamManager, bucket: KV, name: string): Promise<void> {
  const filler = JSON.stringify(' '.repeat(FILLER_CHARS))
  let before = 0
  for (let i = 0; i < TIMES; i++) {
    const revision = await bucket.put(KEY, filler)
    if (before > 0) await dropMessage(jsm, name, before, { overwrite: false })
    before = revision
  }
  await bucket.purge(KEY)
}

/** Takes a revision out of a bucket, with `overwrite` its bytes too; one that is gone already is no failure. */
export async function dropMessage(
  jsm: JetStreamManager,
  bucket: string,
  revision: number,
  { overwrite }: { readonly overwrite: boolean },
): Promise<void> {
  await jsm.streams.deleteMessage(bucketStreamOf(bucket), revision, overwrite).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
  })
}
