// Who has how many requests at the query node -> may there be one more. All together, each address and each holder of credentials have a share, so
// that nobody's requests, however many, keep those of others waiting.
import type { ErrorCode } from '#proto/errors.ts'

/** The most requests that the query node answers at a time. */
export interface ShareLimits {
  readonly all: number
  readonly ofAddress: number
  readonly ofCredential: number
}

export interface Shares {
  /** Counts a request in; the code says why it may not come in, null = it has. */
  enter(address: string, credential: string): ErrorCode | null
  /** Precondition: what entered leaves once. */
  leave(address: string, credential: string): void
  /** Requests that are in. */
  open(): number
}

/** Shares of which nothing is taken. */
export function createShares(limits: ShareLimits): Shares {
  const addresses = createCounts(limits.ofAddress)
  const credentials = createCounts(limits.ofCredential)
  let open = 0
  return {
    enter: (address, credential) => {
      if (open >= limits.all) return 'REQ_CROWDED'
      if (addresses.isFull(address) || credentials.isFull(credential)) return 'REQ_SHARE'
      open++
      addresses.add(address, 1)
      credentials.add(credential, 1)
      return null
    },
    leave: (address, credential) => {
      open--
      addresses.add(address, -1)
      credentials.add(credential, -1)
    },
    open: () => open,
  }
}

function createCounts(most: number): { isFull(key: string): boolean; add(key: string, by: 1 | -1): void } {
  const counts = new Map<string, number>()
  return {
    isFull: key => (counts.get(key) ?? 0) >= most,
    add: (key, by) => {
      const count = (counts.get(key) ?? 0) + by
      if (count === 0) counts.delete(key)
      else counts.set(key, count)
    },
  }
}
