// POST /api/v1/capture-session: raw body -> a session frame; the answer echoes the session id as it was sent.
import { conversationOf, idJson, refusalOf, scannerOf } from '#ingest/surfaces/sdk/scanners.ts'
import type { Surface } from '#ingest/verdict.ts'
import { FrameKind } from '#proto/envelope.ts'

export const captureSession: Surface = (bytes, context) => {
  const scanner = scannerOf(context.ids)
  if (!scanner.scanSession(bytes)) return refusalOf(scanner)
  // Copied: it is learnt once the session is durable.
  const conversation = conversationOf(scanner, context.organization.id).slice()
  return {
    ok: true,
    kind: FrameKind.session,
    content: 'json',
    identity: conversation,
    requires: null,
    creates: conversation,
    mintedId: null,
    answer: `{"session_id":${idJson(bytes, scanner, scanner.sessionId)}}`,
  }
}
