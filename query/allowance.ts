// What an organization may still take of the store, rows or seconds: an allowance that comes back evenly, a minute's worth at most. What a query reads is known
// when it has ended, so the last one before the limit may overdraw it; then the organization is told to come back.
import { ParleyError } from '#proto/errors.ts'

/** The allowances of all organizations. */
export interface Allowance {
  /** @throws ParleyError QRY_RATE while nothing is left, with the seconds until something is. */
  require(organization: string): void
  /** Takes what was read. */
  spend(organization: string, amount: number): void
}

interface Account {
  left: number
  at: number
}

const MINUTE_MS = 60_000

/** Allowances of equal size; 0 a minute = no limit. */
export function createAllowance(
  perMinute: number,
  unit: string,
  clock: () => number = () => performance.now(),
): Allowance {
  if (perMinute === 0) return { require: () => undefined, spend: () => undefined }
  const accounts = new Map<string, Account>()
  const refill = (account: Account): Account => {
    const now = clock()
    account.left = Math.min(perMinute, account.left + (perMinute * (now - account.at)) / MINUTE_MS)
    account.at = now
    return account
  }
  return {
    require: organization => {
      const account = accounts.get(organization)
      if (account === undefined) return
      if (refill(account).left >= perMinute) accounts.delete(organization)
      else if (account.left <= 0) {
        const afterS = Math.floor((-account.left * MINUTE_MS) / perMinute / 1_000) + 1
        throw new ParleyError('QRY_RATE', `${perMinute} ${unit} a minute`, { afterS })
      }
    },
    spend: (organization, amount) => {
      const account = accounts.get(organization) ?? { left: perMinute, at: clock() }
      refill(account).left -= amount
      accounts.set(organization, account)
    },
  }
}
