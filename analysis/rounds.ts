// Rounds of work: every so often and when asked for, one at a time among all processes. A round that fails is said and tried again.
import type { KV } from '@nats-io/kv'
import type { Log } from '#runtime/log.ts'
import { takeTurn } from '#streams/turn.ts'

/** What rounds are made of. */
export interface RoundsOptions {
  readonly leases: KV
  /** Unique to this process. */
  readonly holder: string
  readonly everyMs: number
  /** What the work is called where turns are taken. */
  readonly turn?: string
  readonly work: (signal: AbortSignal) => Promise<void>
  readonly log: Log
}

/** Running rounds. */
export interface Rounds {
  /** Begins a round, or another one after that which is under way. */
  now(): void
  /** Waits for the step that is under way, not for the round. */
  stop(): Promise<void>
}

/** After a round that could not be held: somebody else has the turn, or an engine is away. */
const RETRY_MS = 2_000
/** A statement that goes on in the store when the process ends does no harm: it is found and finished by the next round. */
const STOP_MS = 3_000

/** Begins with a round at once. */
export function createRounds(options: RoundsOptions): Rounds {
  const { leases, holder, everyMs, turn: name = 'analysis', work, log } = options
  const stopped = new AbortController()
  let asked = true
  let wake: () => void = () => {}
  let told = false

  const round = async (): Promise<boolean> => {
    const turn = await takeTurn(leases, name, holder)
    if (!turn) return false
    try {
      await work(AbortSignal.any([stopped.signal, turn.lost]))
      return true
    } finally {
      await turn.release()
    }
  }
  const running = (async () => {
    while (!stopped.signal.aborted) {
      const wanted = asked
      asked = false
      let ended = false
      try {
        ended = await round()
        if (told) log.info({ work: name }, 'scheduled work is done again')
        told = false
      } catch (error) {
        if (stopped.signal.aborted) return
        if (!told) log.warn({ err: error, work: name }, 'scheduled work failed; trying again')
        told = true
      }
      // What was asked for and could not be done is still asked for.
      if (!ended && wanted) asked = true
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, ended ? (asked ? 0 : everyMs) : Math.min(RETRY_MS, everyMs))
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
        if (stopped.signal.aborted) wake()
      })
    }
  })()
  return {
    now: () => {
      asked = true
      wake()
    },
    stop: async () => {
      stopped.abort()
      wake()
      await Promise.race([running, new Promise(resolve => setTimeout(resolve, STOP_MS).unref())])
    },
  }
}
