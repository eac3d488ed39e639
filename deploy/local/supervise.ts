// Keeps one process running: starts it, and starts it again when it ends without having been asked to, with back-off. Says in one
// line what ended and how.
import { setTimeout as delay } from 'node:timers/promises'
import type { Exit } from './child.ts'
import { describeExit } from './child.ts'

const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 5_000
/** A process that ran this long was well: the next end is not counted as a repeat. */
const STABLE_MS = 20_000

/** What a process looks like from here: an engine or a part. */
export interface Running {
  readonly pid: number
  readonly exited: Promise<Exit>
  /** SIGTERM, then SIGKILL after `graceMs`. */
  stop(graceMs: number): Promise<unknown>
  kill(signal: NodeJS.Signals): void
}

/** A process that is kept running. */
export interface Supervised {
  readonly name: string
  /** Resolves once it works for the first time; rejects when it does not, and it is not tried again then. */
  readonly ready: Promise<void>
  /** 0 while it is down. */
  pid(): number
  /** Ends it in order, by force after `graceMs`, for good. */
  stop(graceMs: number): Promise<void>
}

/** What is to be kept running. */
export interface SupervisedOptions {
  readonly name: string
  /** Starts it, hands it out through `spawned` as soon as it exists, and resolves once it works. */
  readonly start: (spawned: (running: Running) => void) => Promise<unknown>
  /** Called after every change of the pid. */
  readonly onChange: () => void
  /** Takes a line for the operator. */
  readonly say: (line: string) => void
}

/** Starts a process; once it has worked it is kept running until it is stopped. */
export function supervise(options: SupervisedOptions): Supervised {
  const { name, say } = options
  const stopping = new AbortController()
  let current: Running | undefined
  let up = false

  const begin = async (): Promise<void> => {
    await options.start(running => {
      current = running
      // Told to stop between the decision to start and the start.
      if (stopping.signal.aborted) running.kill('SIGKILL')
    })
    up = true
    options.onChange()
  }

  /** Tries until it works or is no longer wanted. */
  const bringBack = async (firstDelayMs: number): Promise<void> => {
    for (let delayMs = firstDelayMs; !stopping.signal.aborted; delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)) {
      await delay(delayMs, undefined, { signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted) return
      try {
        await begin()
        say(`${name} is back (process ${current?.pid})`)
        return
      } catch (error) {
        if (!stopping.signal.aborted) say(`${name} did not come back: ${messageOf(error)}`)
      }
    }
  }

  const watch = async (): Promise<void> => {
    let delayMs = FIRST_DELAY_MS
    while (current !== undefined && !stopping.signal.aborted) {
      const since = performance.now()
      const { pid, exited } = current
      const exit = await exited
      up = false
      if (stopping.signal.aborted) return
      delayMs = performance.now() - since > STABLE_MS ? FIRST_DELAY_MS : delayMs
      say(`${name} (process ${pid}) ${describeExit(exit)}; starting it again`)
      options.onChange()
      await bringBack(delayMs)
      delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)
    }
  }

  const ready = begin()
  const watching = ready.then(watch, () => {})
  return {
    name,
    ready,
    pid: () => (up ? (current?.pid ?? 0) : 0),
    stop: async graceMs => {
      stopping.abort()
      await current?.stop(graceMs)
      await watching
    },
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
