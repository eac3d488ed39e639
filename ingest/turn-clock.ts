// The time of day, asked for once in a turn of the event loop: all that is read in one turn was received at the same time.

/** A clock of milliseconds since 1970 that stands still until the turn is over. */
export function createTurnClock(now: () => number = Date.now): () => number {
  let atMs = 0
  const forget = (): void => {
    atMs = 0
  }
  return () => {
    if (atMs === 0) {
      atMs = now()
      setImmediate(forget)
    }
    return atMs
  }
}
