// Rows that an organization may still read: an allowance that comes back evenly, a minute's worth at most. What a query reads is known
// when it has ended, so the last one before the limit may overdraw it; then the organization is told to come back.
import { ParleyError } from '#proto/errors.ts'

/** The allowances of all organizations. */
export interface Allowance {
  /** @throws ParleyError QRY_RATE while nothing is left. */
  require(organization: string): void
  /** Takes what was read. */
  spend(organization: string, rows: number): void
}

interface Account {
  left: number
  at: number
}

const MINUTE_MS = 60_000

/** Allowances of equal size; 0 rows a minute = no limit. */
export function createAllowance(rowsPerMinute: number, clock: () => number = () => performance.now()): Allowance {
  if (rowsPerMinute === 0) return { require: () => undefined, spend: () => undefined }
  const accounts = new Map<string, Account>()
  const refill = (account: Account): Account => {
    const now = clock()
    account.left = Math.min(rowsPerMinute, account.left + (rowsPerMinute * (now - account.at)) / MINUTE_MS)
    account.at = now
    return account
  }
  return {
    require: organization => {
      const account = accounts.get(organization)
      if (account === undefined) return
      if (refill(account).left >= rowsPerMinute) accounts.delete(organization)
      else if (account.left <= 0) throw new ParleyError('QRY_RATE', `${rowsPerMinute} rows a minute`)
    },
    spend: (organization, rows) => {
      const account = accounts.get(organization) ?? { left: rowsPerMinute, at: clock() }
      refill(account).left -= rows
      accounts.set(organization, account)
    },
  }
}
