// Envelopes -> JetStream over a line of the publisher's own, and its acknowledgements back under the envelope's number. Costs a map
// look-up per envelope where the client's request/reply costs a promise, a timer and a random token. Nothing here retries.

import { SESSIONS_HEADER } from '#proto/streams.ts'
import type { Line } from '#streams/line.ts'

/** Remembered by the server for its window of repeats. */
const MESSAGE_ID_HEADER = 'Nats-Msg-Id'

/** What the server said to an envelope. */
export type WireAnswer =
  | { readonly kind: 'stored'; readonly sequence: number; readonly duplicate: boolean }
  /** `status` is HTTP-like; `code` is JetStream's own number, 0 when nobody listened on the subject. */
  | { readonly kind: 'refused'; readonly status: number; readonly code: number; readonly description: string }

/** An envelope on its way. */
export interface WireMessage {
  readonly subject: string
  /** Remembered by the server: the same message sent again is stored once. */
  readonly messageId: string
  /** Entries of the sessions header, joined; '' = none. */
  readonly sessions: string
  readonly bytes: Uint8Array
}

/** The line. */
export interface Wire {
  /** Largest message the server takes, headers included. */
  maxPayloadBytes(): number
  /** False while the connection is known to be lost. */
  isUp(): boolean
  /** Sends without waiting; the answer comes to the listener under the same number, or never. */
  send(number: number, message: WireMessage): void
  onAnswer(listener: (number: number, answer: WireAnswer) => void): void
  /** Called when the connection is lost. */
  onDown(listener: () => void): void
  /** Called when a lost connection is back: whatever was under way may be lost. */
  onUp(listener: () => void): void
  close(): void
}

/** A wire over a line of its own. */
export function createWire(line: Line): Wire {
  let answered: (number: number, answer: WireAnswer) => void = () => {}
  let wentDown: () => void = () => {}
  let cameUp: () => void = () => {}
  line.listen({
    onAnswer: (number, data, hasHeaders) => answered(number, readAnswer(data, hasHeaders)),
    onDown: () => wentDown(),
    onUp: () => cameUp(),
  })
  return {
    maxPayloadBytes: () => line.maxPayloadBytes(),
    isUp: () => line.isUp(),
    send: (number, { subject, messageId, sessions, bytes }) => {
      const id = [MESSAGE_ID_HEADER, messageId] as const
      const headers = sessions === '' ? [id] : [id, [SESSIONS_HEADER, sessions] as const]
      line.publish({ subject, number, headers, bytes })
    },
    onAnswer: listener => {
      answered = listener
    },
    onDown: listener => {
      wentDown = listener
    },
    onUp: listener => {
      cameUp = listener
    },
    close: () => line.close(),
  }
}

function readAnswer(data: Uint8Array, hasHeaders: boolean): WireAnswer {
  // The server itself says that nobody listens: no such stream, or JetStream not up yet.
  if (hasHeaders || data.length === 0) return { kind: 'refused', status: 503, code: 0, description: 'no responders' }
  let answer: {
    seq?: number
    duplicate?: boolean
    error?: { code?: number; err_code?: number; description?: string }
  }
  try {
    answer = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString()) as typeof answer
  } catch {
    return { kind: 'refused', status: 503, code: 0, description: 'the acknowledgement is no JSON' }
  }
  if (answer.error || typeof answer.seq !== 'number') {
    return {
      kind: 'refused',
      status: answer.error?.code ?? 500,
      code: answer.error?.err_code ?? 0,
      description: answer.error?.description ?? 'an acknowledgement without a sequence',
    }
  }
  return { kind: 'stored', sequence: answer.seq, duplicate: answer.duplicate === true }
}
