// POST /api/v1/capture-event: raw body -> an event frame; the answer carries the event id, made here when the client sent none.
import { conversationOf, idJson, refusalOf, scannerOf } from '#ingest/surfaces/sdk/scanners.ts'
import type { Surface } from '#ingest/verdict.ts'
import { FrameKind } from '#proto/envelope.ts'
import { mintId, uuidText } from '#proto/ids.ts'

export const captureEvent: Surface = (bytes, context) => {
  const scanner = scannerOf(context.ids)
  if (!scanner.scanEvent(bytes)) return refusalOf(scanner)
  const conversation = conversationOf(scanner, context.organization.id)
  const mintedId = scanner.mintsEventId ? mintId(context.receivedAtMs) : null
  const id = mintedId === null ? idJson(bytes, scanner, scanner.eventId) : `"${uuidText(mintedId)}"`
  return {
    ok: true,
    kind: FrameKind.event,
    content: 'json',
    identity: conversation,
    requires: conversation,
    creates: null,
    mintedId,
    answer: scanner.shape === 'conversation' ? `{"event_id":${id}}` : `{"success":true,"event_id":${id}}`,
  }
}
