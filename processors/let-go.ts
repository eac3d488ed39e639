// Large bytes that nobody needs any more -> memory that is free at once. Left to the garbage collector, what one range holds (payloads,
// and columns for the store: 40 MB) would be its reason to look at everything that the thread holds, several times a second.

/** Memory that something outside of JavaScript may still read. */
const lent = new WeakSet<ArrayBufferLike>()

/** Says that a request which failed had these bytes: its socket may read them yet, and they are left to the garbage collector. */
export function leave({ buffer }: Uint8Array): void {
  lent.add(buffer)
}

/** Shared memory that somebody waits for: how many views of it are in use. */
const awaited = new WeakMap<ArrayBufferLike, { views: number; readonly back: () => void }>()

/** Calls `back` when so many views of shared memory have been let go; never, when one of them was left. */
export function backFrom(buffer: SharedArrayBuffer, views: number, back: () => void): void {
  awaited.set(buffer, { views, back })
}

/**
 * Frees the memory under each of these, or gives it back. Preconditions: nobody else has a view of it; what is empty afterwards, or
 * another's, is read by nobody; a view of shared memory is let go once.
 */
export function letGo(all: Iterable<Uint8Array>): void {
  for (const { buffer } of all) {
    if (lent.has(buffer)) continue
    if (buffer instanceof ArrayBuffer) {
      if (!buffer.detached) buffer.transfer(0)
      continue
    }
    const waiting = awaited.get(buffer)
    if (waiting === undefined || --waiting.views > 0) continue
    awaited.delete(buffer)
    waiting.back()
  }
}
