// One count of the bytes that a receiver holds for requests it has not answered: collected bodies, inflated bodies, held requests,
// open envelopes and envelopes in flight. What does not fit is refused, so that memory stays bounded whatever senders do.

/** A bounded count of bytes. */
export interface Budget {
  /** Reserves `bytes`; false (and nothing reserved) when they do not fit. */
  take(bytes: number): boolean
  give(bytes: number): void
  used(): number
}

/** A budget of `maxBytes`. */
export function createBudget(maxBytes: number): Budget {
  let used = 0
  return {
    take: bytes => {
      if (used + bytes > maxBytes) return false
      used += bytes
      return true
    },
    give: bytes => {
      used -= bytes
    },
    used: () => used,
  }
}
