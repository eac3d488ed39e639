// Work of a bench -> the same, with everything that it has started gone at its end.
import type { Teardown } from '#test/rig.ts'

/** Does the work; what it gave to `t.teardown` is called afterwards, the last first, however it ended. Returns what the work returns. */
export async function withTeardown<T>(work: (t: Teardown) => Promise<T>): Promise<T> {
  const ends: (() => unknown)[] = []
  try {
    return await work({ teardown: end => ends.push(end) })
  } finally {
    for (const end of ends.reverse()) await end()
  }
}
