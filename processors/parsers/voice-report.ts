// An end-of-call report -> a fingerprint of what it says, by which the same report is known when it comes again.
import { hash } from 'node:crypto'
import type { VoiceReport } from '#proto/voice/report.ts'
import { callerTraits, callMetadata } from './voice-metadata.ts'

/** Enough that two reports of one call are never taken for each other; a call only competes with itself. */
const HEX_CHARS = 24

const LINK = /(\b(?:https?|s3|gs):\/\/[^\s"?\\]{1,4096})\?[^\s"\\]*/gi

/**
 * The fingerprint of everything a report is stored as, 24 hex characters. What differs from one sending to the next is left out:
 * when it was sent and received, and the query strings of links, which are signed anew each time.
 */
export function reportFingerprint(report: VoiceReport): string {
  const { message, recordingUrl, ...call } = report
  const { email, traits } = callerTraits(message)
  const metadata = Object.entries(callMetadata(report).finish())
  const said = [
    call,
    withoutQuery(recordingUrl),
    email,
    sorted(Object.entries(traits.finish())),
    sorted(metadata.map(([key, value]) => [key, withoutQuery(value)])),
  ]
  return hash('sha1', JSON.stringify(said), 'hex').slice(0, HEX_CHARS)
}

function sorted(entries: [string, string][]): [string, string][] {
  return entries.sort(([a], [b]) => (a < b ? -1 : 1))
}

/** A text whose links, alone or inside of JSON, end at their query strings. */
function withoutQuery(text: string): string {
  return text.includes('?') ? text.replace(LINK, '$1') : text
}
