// POST /api/v1/capture-session: raw body -> a session frame; the answer echoes the session id as it was sent.
import { conversationOf, idJson, isPlain, refusalOf, scannerOf } from '#ingest/surfaces/sdk/scanners.ts'
import type { Surface } from '#ingest/verdict.ts'
import { Blank } from '#ingest/verdict.ts'
import { FrameKind } from '#proto/envelope.ts'

const BLANK = new Blank('{"session_id":"', '"}')

export const captureSession: Surface = (bytes, context) => {
  const scanner = scannerOf(context.ids)
  if (!scanner.scanSession(bytes)) return refusalOf(scanner)
  // Copied: it is learnt once the session is durable.
  const conversation = conversationOf(scanner, context.organization.id).slice()
  const { sessionId } = scanner
  return {
    ok: true,
    kind: FrameKind.session,
    content: 'json',
    identity: conversation,
    requires: null,
    creates: conversation,
    mintedId: null,
    answer: isPlain(sessionId) ? BLANK : `{"session_id":${idJson(scanner, sessionId)}}`,
    echoAt: sessionId.start,
  }
}
