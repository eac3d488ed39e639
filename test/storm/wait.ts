// Waiting for what comes in its own time, through engines that come and go.
import { setTimeout as delay } from 'node:timers/promises'

const PAUSE_MS = 100

/** Asks until the answer is true, also when asking fails meanwhile. @throws after `timeoutMs`, with the last error as its cause. */
export async function patiently(what: string, probe: () => Promise<boolean>, timeoutMs = 300_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (let cause: unknown; ; await delay(PAUSE_MS)) {
    try {
      if (await probe()) return
      cause = undefined
    } catch (error) {
      cause = error
    }
    if (performance.now() > deadline) throw new Error(`not seen within ${timeoutMs / 1000} s: ${what}`, { cause })
  }
}

/** Asks again until an answer comes. */
export async function insist<T>(what: string, ask: () => Promise<T>): Promise<T> {
  const answers: T[] = []
  await patiently(what, async () => answers.push(await ask()) > 0)
  return answers[0] as T
}
