// POST /api/v1/capture-event: raw body -> an event frame; the answer carries the event id, made here when the client sent none.
import { conversationOf, idJson, isPlain, refusalOf, scannerOf } from '#ingest/surfaces/sdk/scanners.ts'
import type { Surface } from '#ingest/verdict.ts'
import { Blank } from '#ingest/verdict.ts'
import { FrameKind } from '#proto/envelope.ts'
import { mintId, uuidText } from '#proto/ids.ts'

/** How the answers of the two shapes begin. */
const BEFORE = { conversation: '{"event_id":', 'server-primitive': '{"success":true,"event_id":' } as const
const BLANKS = {
  conversation: new Blank(`${BEFORE.conversation}"`, '"}'),
  'server-primitive': new Blank(`${BEFORE['server-primitive']}"`, '"}'),
} as const

export const captureEvent: Surface = (bytes, context) => {
  const scanner = scannerOf(context.ids)
  if (!scanner.scanEvent(bytes)) return refusalOf(scanner)
  const conversation = conversationOf(scanner, context.organization.id)
  const mintedId = scanner.mintsEventId ? mintId(context.receivedAtMs) : null
  const { shape, eventId } = scanner
  const isEcho = mintedId === null && isPlain(eventId)
  return {
    ok: true,
    kind: FrameKind.event,
    content: 'json',
    identity: conversation,
    requires: conversation,
    creates: null,
    mintedId,
    answer: isEcho
      ? BLANKS[shape]
      : `${BEFORE[shape]}${mintedId === null ? idJson(scanner, eventId) : `"${uuidText(mintedId)}"`}}`,
    echoAt: isEcho ? eventId.start : 0,
  }
}
