// What may be missing of a page: an enrichment that fails makes the page partial, never the request an error.
import { isParleyError } from '#proto/errors.ts'
import type { Call } from './endpoint.ts'

/** What could not be read of a page that is answered all the same. */
export interface Missing {
  /** The value, or a substitute when reading it failed; then the page is partial. */
  readonly orElse: <T>(value: Promise<T>, substitute: T) => Promise<T>
  readonly any: () => boolean
}

/** Keeps the account of one page. */
export function createMissing(call: Call): Missing {
  let missing = false
  return {
    any: () => missing,
    orElse: async (value, substitute) => {
      try {
        return await value
      } catch (error) {
        // A client that left wants no partial page, and a defect must not look like one.
        if (!isParleyError(error) || (error.code !== 'QRY_STORE_FAILED' && error.code !== 'QRY_LIMIT')) throw error
        call.log.warn({ err: error }, 'a page is answered without all of its data')
        missing = true
        return substitute
      }
    },
  }
}
