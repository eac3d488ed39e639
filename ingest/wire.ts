// The publisher's own line to JetStream: one inbox for all acknowledgements, a number per envelope as the reply subject. Costs a map
// look-up per envelope where the client's request/reply costs a promise, a timer and a random token. Nothing here retries.

import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { createInbox, headers } from '@nats-io/transport-node'
import { SESSIONS_HEADER } from '#proto/streams.ts'
import type { Log } from '#runtime/log.ts'

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

/** A line over a connection of its own. */
export function createWire(nc: NatsConnection, log: Log): Wire {
  const inbox = createInbox()
  let up = true
  let maxPayloadBytes = nc.info?.max_payload ?? 1024 * 1024
  let answered: (number: number, answer: WireAnswer) => void = () => {}
  let wentDown: () => void = () => {}
  let cameUp: () => void = () => {}

  const subscription = nc.subscribe(`${inbox}.*`, {
    callback: (error, message) => {
      if (error) return log.error({ err: error }, 'the inbox of acknowledgements is gone')
      answered(Number(message.subject.slice(inbox.length + 1)), readAnswer(message))
    },
  })
  void (async () => {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect') {
        up = false
        wentDown()
      }
      if (status.type === 'reconnect') {
        up = true
        maxPayloadBytes = nc.info?.max_payload ?? maxPayloadBytes
        cameUp()
      }
    }
  })()
  return {
    maxPayloadBytes: () => maxPayloadBytes,
    isUp: () => up && !nc.isClosed(),
    send: (number, message) => {
      const fields = headers()
      fields.set('Nats-Msg-Id', message.messageId)
      if (message.sessions !== '') fields.set(SESSIONS_HEADER, message.sessions)
      nc.publish(message.subject, message.bytes, { reply: `${inbox}.${number}`, headers: fields })
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
    close: () => subscription.unsubscribe(),
  }
}

function readAnswer(message: Msg): WireAnswer {
  // An empty message with a status header is the server saying that nobody listens: no such stream, or JetStream not up yet.
  if (message.data.length === 0) return { kind: 'refused', status: 503, code: 0, description: 'no responders' }
  let answer: {
    seq?: number
    duplicate?: boolean
    error?: { code?: number; err_code?: number; description?: string }
  }
  try {
    answer = message.json()
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
