// The scanners of SDK bodies, one per id policy, shared by the SDK surfaces: a scanner is a piece of working memory, used from the
// first byte of a body to its verdict and by one body at a time.
import type { Refused } from '#ingest/verdict.ts'
import { conversationIdOf, uuidBytes } from '#proto/ids.ts'
import type { ScannedId } from '#proto/scan/scanned-id.ts'
import { SdkScanner } from '#proto/scan/sdk.ts'
import type { IdPolicy } from '#proto/sdk/fields.ts'

const scanners: Readonly<Record<IdPolicy, SdkScanner>> = {
  strict: new SdkScanner('strict'),
  map: new SdkScanner('map'),
}

/** The scanner of a policy. What it found is valid until it is used again. */
export function scannerOf(ids: IdPolicy): SdkScanner {
  return scanners[ids]
}

/** The conversation of a session id: a view that is valid until the scanner is used again. */
export function conversationOf(scanner: SdkScanner, organization: string): Uint8Array {
  const { sessionId } = scanner
  return sessionId.isUuid ? sessionId.bytes : uuidBytes(conversationIdOf(organization, scanner.textOf(sessionId)))
}

/** Characters of a uuid that was sent without escapes. */
const UUID_CHARS = 36

/** True for a uuid with nothing to decode: its text in the body is its text. */
export function isPlain(id: ScannedId): boolean {
  return id.isUuid && id.end - id.start === UUID_CHARS
}

/** An id of the body that was scanned last, as JSON, as it was sent. */
export function idJson(scanner: SdkScanner, id: ScannedId): string {
  return JSON.stringify(scanner.textOf(id))
}

/** The refusal of the body that was scanned last. */
export function refusalOf(scanner: SdkScanner): Refused {
  const { code, detail } = scanner.refusal()
  return { ok: false, code, detail }
}
