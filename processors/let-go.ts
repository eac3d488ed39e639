// Large bytes that nobody needs any more -> memory that is free at once. Left to the garbage collector, what one range holds (payloads,
// and columns for the store: 40 MB) would be its reason to look at everything that the thread holds, several times a second.

/** Memory that something outside of JavaScript may still read. */
const lent = new WeakSet<ArrayBufferLike>()

/** Says that a request which failed had these bytes: its socket may read them yet, and they are left to the garbage collector. */
export function leave({ buffer }: Uint8Array): void {
  lent.add(buffer)
}

/** Frees the memory under each of these. Precondition: nobody else has a view of it; what is empty afterwards is read by nobody. */
export function letGo(all: Iterable<Uint8Array>): void {
  for (const { buffer } of all) {
    if (buffer instanceof ArrayBuffer && !buffer.detached && !lent.has(buffer)) buffer.transfer(0)
  }
}
