// POST /api/voice/v1/webhooks/voice-platform: raw end-of-call report -> a voice frame. The call becomes a conversation. What the
// platform says of a call that still runs is answered, counted and forgotten.

import { parseJson } from '#ingest/surfaces/json.ts'
import type { Surface, Verdict } from '#ingest/verdict.ts'
import { FrameKind } from '#proto/envelope.ts'
import { conversationIdOf, uuidBytes } from '#proto/ids.ts'
import { VoiceLiveScanner } from '#proto/scan/voice-live.ts'
import { liveKindOf } from '#proto/voice/kinds.ts'
import { readVoiceReport } from '#proto/voice/report.ts'

/** Working memory, used by one body at a time. */
const liveScanner = new VoiceLiveScanner()

export const voiceReport: Surface = (bytes, context) => {
  const scanned = liveScanner.kindOf(bytes)
  if (scanned !== null) return ignore(scanned)
  const body = parseJson(bytes)
  if (!body.ok) return body
  const kind = liveKindOf(body.value)
  if (kind !== null) return ignore(kind)
  const read = readVoiceReport(body.value)
  if (!read.ok) {
    const detail = read.code === 'REQ_BODY_INVALID' ? `${read.field} must be an object` : read.field
    return { ok: false, code: read.code, detail }
  }
  const { callId, number, eventCount } = read.report
  // Call ids are mapped under either id policy: the contract asks for no uuid here.
  const conversation = uuidBytes(conversationIdOf(context.organization.id, callId))
  return {
    ok: true,
    kind: FrameKind.voice,
    content: 'json',
    identity: conversation,
    requires: null,
    creates: conversation,
    mintedId: null,
    answer: JSON.stringify({ status: 'accepted', session_id: callId, user_id: number, event_count: eventCount }),
    echoAt: 0,
  }
}

function ignore(kind: string): Verdict {
  return { ok: 'empty', ignored: kind, answer: JSON.stringify({ status: 'ignored', type: kind }) }
}
