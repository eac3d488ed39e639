// Attempts to sign in -> let through, counted when they fail, refused when an account or an address has failed too often.
import type { Control } from '#control/members.ts'
import { hasPassword } from '#control/passwords.ts'
import type { SignInMethod, User } from '#control/records.ts'
import { isParleyError, ParleyError } from '#proto/errors.ts'
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'
import { createAttempts } from './attempts.ts'

/** The door that every attempt passes. */
export type Tries = ReturnType<typeof createTries>

const WINDOW_MS = 900_000
const OF_ACCOUNT_MAX = 10
const OF_ADDRESS_MAX = 100
/** Hashes that are computed at a time: each takes 32 MiB and a core. */
const HASHES_MAX = 4

/** Builds it; what it counts is this process's own. */
export function createTries(options: { control: Control; metrics: Metrics; log: Log; clock: () => number }) {
  const { control, metrics, log, clock } = options
  const byAccount = createAttempts({ most: OF_ACCOUNT_MAX, windowMs: WINDOW_MS, clock })
  const byAddress = createAttempts({ most: OF_ADDRESS_MAX, windowMs: WINDOW_MS, clock })
  const signIns = metrics.counter('query_sign_ins_total', 'attempts to sign in by way and outcome', [
    'method',
    'outcome',
  ])
  let hashing = 0
  return {
    /** Counts one that came in. */
    entered: (method: SignInMethod): void => signIns.inc({ method, outcome: 'ok' }),
    /** Forgets the failures of an account: it was the right one after all. */
    passed: (account: string): void => byAccount.passed(account),

    /** Lets one attempt through, and counts it when it fails. @throws ParleyError AUTH_ATTEMPTS, or what the work throws. */
    attempt: async <T>(by: { method: SignInMethod; address: string; account: string }, work: () => Promise<T>) => {
      const { method, address, account } = by
      const waitS = Math.max(byAddress.waitS(address), byAccount.waitS(account))
      if (waitS > 0) {
        signIns.inc({ method, outcome: 'limited' })
        throw new ParleyError('AUTH_ATTEMPTS', `in ${waitS} s`, { afterS: waitS })
      }
      try {
        return await work()
      } catch (error) {
        // Nobody has looked at the password: who is sent away from a crowd has guessed nothing.
        if (isParleyError(error) && error.code === 'AUTH_ATTEMPTS') {
          signIns.inc({ method, outcome: 'limited' })
          throw error
        }
        byAddress.failed(address)
        byAccount.failed(account)
        signIns.inc({ method, outcome: 'failed' })
        log.warn({ err: error, method, address }, 'a sign-in failed')
        throw error
      }
    },

    /** The user, if the password is theirs; it takes as long for users that do not exist. */
    checked: async (user: User | undefined, password: string): Promise<User> => {
      if (hashing >= HASHES_MAX) throw new ParleyError('AUTH_ATTEMPTS', 'in 1 s', { afterS: 1 })
      hashing++
      try {
        const right = await hasPassword(control.records, user?.id, password)
        if (user === undefined || !right) throw new ParleyError('AUTH_SIGN_IN_FAILED')
        return user
      } finally {
        hashing--
      }
    },
  }
}
