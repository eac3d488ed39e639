// A stream as the server itself copies it: every message with its position, time and headers. What was copied can be put back, under the
// same name, where there is no such stream.
import type { NatsConnection } from '@nats-io/transport-node'
import { createInbox } from '@nats-io/transport-node'

/** What a copy says of its stream; what the server needs to put it back. */
export interface StreamCopy {
  readonly config: Readonly<Record<string, unknown>> & { readonly name: string }
  readonly state: StreamState
}

/** Where a copied stream begins and ends. */
export interface StreamState {
  readonly messages: number
  readonly bytes: number
  readonly first_seq: number
  readonly last_seq: number
}

interface Answer {
  readonly error?: { readonly description?: string }
}

const CHUNK_BYTES = 128 * 1024
const REQUEST_MS = 60_000
/** A server that sends nothing for so long sends nothing any more. */
const SILENCE_MS = 60_000
/** The end of a copy, where the server says so; an old one ends with an empty message. */
const ENDED = [0, 204]

/** Copies a stream piece by piece; the next piece comes once the last is written. @throws when the server can't. */
export async function copyStream(
  nc: NatsConnection,
  name: string,
  write: (chunk: Uint8Array) => Promise<void>,
): Promise<StreamCopy> {
  const inbox = createInbox()
  const chunks = nc.subscribe(inbox)
  let timer: NodeJS.Timeout | undefined
  let silent = false
  const listen = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      silent = true
      chunks.unsubscribe()
    }, SILENCE_MS)
  }
  try {
    const asked = { deliver_subject: inbox, no_consumers: true, chunk_size: CHUNK_BYTES }
    const copy = await request<StreamCopy>(nc, `$JS.API.STREAM.SNAPSHOT.${name}`, JSON.stringify(asked))
    listen()
    for await (const chunk of chunks) {
      if (chunk.data.length === 0) {
        const code = chunk.headers?.code ?? 0
        if (!ENDED.includes(code)) throw new Error(`the copy of ${name} was broken off (${code})`)
        return { config: copy.config, state: copy.state }
      }
      await write(chunk.data)
      chunk.respond()
      listen()
    }
    throw new Error(silent ? `the server stopped sending ${name}` : `the connection was lost while ${name} was copied`)
  } finally {
    clearTimeout(timer)
    chunks.unsubscribe()
  }
}

/** Puts a copy back. @throws when there is a stream of that name, or the server refuses what it is sent. */
export async function putStream(
  nc: NatsConnection,
  { config, state }: StreamCopy,
  bytes: AsyncIterable<Uint8Array>,
): Promise<void> {
  const { name } = config
  const begun = await request<{ deliver_subject: string }>(
    nc,
    `$JS.API.STREAM.RESTORE.${name}`,
    JSON.stringify({ config, state }),
  )
  for await (const piece of bytes) {
    for (let at = 0; at < piece.length; at += CHUNK_BYTES) {
      const chunk = piece.subarray(at, at + CHUNK_BYTES)
      const { data } = await nc.request(begun.deliver_subject, chunk, { timeout: REQUEST_MS })
      if (data.length > 0) throw new Error(`${name} cannot be put back: ${Buffer.from(data).toString()}`)
    }
  }
  // An empty piece is the end; its answer is that of a stream that was made.
  await request(nc, begun.deliver_subject, '')
}

async function request<T>(nc: NatsConnection, subject: string, body: string): Promise<T> {
  const answer = (await nc.request(subject, body, { timeout: REQUEST_MS })).json<T & Answer>()
  if (answer.error) throw new Error(`${subject}: ${answer.error.description ?? 'refused'}`)
  return answer
}
