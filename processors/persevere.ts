// Work on the store that has to succeed -> its result, however long that takes; only a stop or the loss of the partition ends it.
import type { Outage } from '#runtime/outage.ts'
import { Lost, Stopped } from './cursor.ts'
import { Backoff } from './pause.ts'

/**
 * As `insist` does, of work that may itself find out that there is no use in going on; `check` says so before each try, by throwing.
 * @throws Lost, Stopped.
 */
export async function persevere<T>(
  work: () => Promise<T>,
  { check, outage, signal }: { readonly check: () => void; readonly outage: Outage; readonly signal: AbortSignal },
): Promise<T> {
  const backoff = new Backoff()
  for (;;) {
    check()
    try {
      const done = await work()
      outage.over()
      return done
    } catch (error) {
      if (error instanceof Stopped || error instanceof Lost) throw error
      check()
      outage.failed(error)
    }
    await backoff.pause(signal)
  }
}
