// Statements of an owner, from sending them to their answers, if any come; and whose turn it is.
import type { Row, Running, World } from './world.ts'

/** The owner finds that the partition is somebody else's. */
export class Gone extends Error {}
export type Steps<T> = Generator<void, T, void>

/** Waits until nothing of a range works or commits in the store; what was sent may still arrive. */
export function* calm(world: World, prefix: string): Steps<void> {
  while (world.running.some(({ stage, token }) => stage !== 'sent' && token.startsWith(prefix))) {
    for (const insert of [...world.running]) {
      // A statement can be cancelled while it works, not while it commits.
      const works = insert.stage === 'begun' || insert.stage === 'half'
      if (works && insert.token.startsWith(prefix) && world.chance(0.3)) world.end(insert, 'error')
    }
    yield
  }
}

/** Sends a statement and waits for its answer. `begin`: see Running. @throws Gone. */
export function* send(
  { world, lease }: { readonly world: World; readonly lease: number },
  token: string,
  begin: () => readonly Row[],
  together = 1,
): Generator<void, 'inserted' | 'unknown', void> {
  // The guard: an owner whose lease is old renews it first, and learns that it is gone.
  if (!world.mode.zombies && world.lease !== lease) throw new Gone()
  const insert: Running = { token, begin, together, rows: [], stage: 'sent', answer: 'none' }
  world.running.push(insert)
  for (;;) {
    yield
    if (insert.answer === 'ok') return world.chance(0.1) ? 'unknown' : 'inserted'
    // A time-out leaves the statement to its fate: it may still run, or arrive only now.
    if (insert.answer === 'error' || world.chance(0.03)) return 'unknown'
  }
}

/** One at a time. */
export class Turns {
  #taken = false;

  /** Waits for its turn, and ends it. */
  *alone(steps: () => Steps<void>): Steps<void> {
    while (this.#taken) yield
    this.#taken = true
    yield* steps()
    this.#taken = false
  }
}
