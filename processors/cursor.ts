// The cursor's I/O: one key a partition, written by compare-and-set only. A write whose answer was lost is decided by reading
// back; a write that somebody else overtook ends this owner.

import type { KV } from '@nats-io/kv'
import { cursorKeyOf } from '#proto/streams.ts'
import type { Outage } from '#runtime/outage.ts'
import { Backoff } from './pause.ts'
import type { Cursor } from './protocol.ts'
import { freshCursor, readCursor, takeOver } from './protocol.ts'

/** The partition belongs to somebody else now. */
export class Lost extends Error {}
/** The owner was told to stop and could not finish. */
export class Stopped extends Error {}

/** A cursor in the hands of one owner. */
export interface CursorKeeper {
  readonly value: Cursor
  /**
   * Writes what `edit` makes of the present state; resolves once the write is known to stand. Writes queue.
   * @throws Lost when another owner has written, Stopped when the signal aborts first.
   */
  write(edit: (cursor: Cursor) => Cursor): Promise<void>
}

/** What `openCursor` needs. */
export interface CursorOptions {
  readonly kv: KV
  readonly partition: number
  /** Unique to this owner. */
  readonly owner: string
  readonly signal: AbortSignal
  readonly outage: Outage
}

/**
 * Reads a partition's cursor and takes it over, so that whatever an earlier owner still writes fails.
 * @throws ParleyError RUN_CURSOR_NEWER when a newer build wrote it.
 */
export async function openCursor(options: CursorOptions): Promise<CursorKeeper> {
  const { kv, partition } = options
  const key = cursorKeyOf(partition)
  const found = await insist(options, () => kv.get(key))
  let value: Cursor = freshCursor()
  let revision = 0
  if (found && found.operation === 'PUT') {
    value = readCursor(found.json())
  }
  if (found) revision = found.revision
  // One write at a time: blocks that are healed side by side write too.
  let tail: Promise<void> = Promise.resolve()
  const keeper: CursorKeeper = {
    get value() {
      return value
    },
    write: edit => {
      const before = tail
      const written = (async () => {
        await before
        const next = edit(value)
        revision = await compareAndSet(options, key, JSON.stringify(next), revision)
        value = next
      })()
      tail = written.catch(() => {})
      return written
    },
  }
  await keeper.write(cursor => takeOver(cursor, options.owner))
  return keeper
}

/**
 * Writes `text`, which no other owner writes, over `revision` of a key and returns the new revision.
 * @throws Lost when somebody else has written, Stopped when the signal aborts first.
 */
export async function compareAndSet(
  options: Omit<CursorOptions, 'owner'>,
  key: string,
  text: string,
  revision: number,
): Promise<number> {
  const { kv, partition, outage } = options
  const backoff = new Backoff()
  for (;;) {
    try {
      // Revision 0: the key must not exist yet.
      const written = await kv.put(key, text, { previousSeq: revision })
      outage.over()
      return written
    } catch (error) {
      // Refused or unanswered: only what stands there tells which. The text holds the epoch, which no other owner has.
      const entry = await insist(options, () => kv.get(key))
      if (entry?.string() === text) return entry.revision
      if ((entry?.revision ?? 0) !== revision) throw new Lost(`partition ${partition} was taken over`)
      outage.failed(error)
    }
    await backoff.pause(options.signal)
    if (options.signal.aborted) throw new Stopped()
  }
}

async function insist<T>(options: Pick<CursorOptions, 'signal' | 'outage'>, ask: () => Promise<T>): Promise<T> {
  const backoff = new Backoff()
  for (;;) {
    if (options.signal.aborted) throw new Stopped()
    try {
      return await ask()
    } catch (error) {
      options.outage.failed(error)
    }
    await backoff.pause(options.signal)
  }
}
