// An end-of-call report -> a fingerprint of what it says, by which the same report is known when it comes again.
import { hash } from 'node:crypto'
import type { VoiceReport } from '#proto/voice/report.ts'
import { callerTraits, callMetadata } from './voice-metadata.ts'

/** Enough that two reports of one call are never taken for each other; a call only competes with itself. */
const HEX_CHARS = 24

/**
 * The fingerprint of everything a report is stored as, 24 hex characters. When it was sent and received is left out. Links count as they are: one
 * that is signed anew is good for longer than the one before, so the report that brings it takes the place of the earlier one.
 */
export function reportFingerprint(report: VoiceReport): string {
  const { message, recordingUrl, ...call } = report
  const { email, traits } = callerTraits(message)
  const metadata = Object.entries(callMetadata(report).finish())
  const said = [call, recordingUrl, email, sorted(Object.entries(traits.finish())), sorted(metadata)]
  return hash('sha1', JSON.stringify(said), 'hex').slice(0, HEX_CHARS)
}

function sorted(entries: [string, string][]): [string, string][] {
  return entries.sort(([a], [b]) => (a < b ? -1 : 1))
}
