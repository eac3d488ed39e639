// A connection to NATS that publishes and hears its own inbox, nothing else: messages go to the socket as they lie in memory, answers
// are read where they arrived. The client library, which every other connection uses, copies each message into zeroed memory and makes
// promises and timers on the way: a tenth of a receiver's CPU at 64 senders. It connects again for ever; who sends learns of a loss.
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { ParleyError } from '#proto/errors.ts'
import type { Log } from '#runtime/log.ts'
import type { NatsAddress } from '#streams/address.ts'
import { addressesOf, serversOf } from '#streams/address.ts'
import { dialLine } from '#streams/line-dial.ts'

const REDIAL_MS = 200
const REDIAL_JITTER_MS = 100
/** A server that is killed leaves half-open sockets: found out within seconds. */
const PING_MS = 5_000
const MAX_PINGS_OUT = 2
const CRLF = Buffer.from('\r\n')

/** A message to publish. Names and values are ASCII. */
export interface LineMessage {
  readonly subject: string
  /** Comes back with what is answered. */
  readonly number: number
  readonly headers: readonly (readonly [string, string])[]
  /** Not copied: must stay as they are until the server has answered, or the connection is lost. */
  readonly bytes: Uint8Array
}

/** Who hears of a line. */
export interface LineListener {
  /** `data` is valid during the call. `hasHeaders`: the server itself says something, mostly that nobody listens. */
  onAnswer(number: number, data: Uint8Array, hasHeaders: boolean): void
  onDown(): void
  /** A lost connection is back: what was under way may be lost. */
  onUp(): void
}

/** The line. */
export interface Line {
  /** Largest message the server takes, headers included. */
  maxPayloadBytes(): number
  isUp(): boolean
  /** Sends without waiting. Precondition: `isUp()`. */
  publish(message: LineMessage): void
  listen(listener: LineListener): void
  close(): void
}

export interface LineOptions {
  /** One server, or several of a cluster separated by commas: the first that answers is taken. */
  readonly url: string
  /** Shows in the server's list of connections, and in the log. */
  readonly name: string
  readonly log: Log
  /** How long the first connection may take. */
  readonly timeoutMs?: number
}

/** Opens a line. Wrong credentials fail at once; a server that is being started is waited for. */
export async function openLine(options: LineOptions): Promise<Line> {
  const line = new NatsLine(options)
  const deadline = performance.now() + (options.timeoutMs ?? 10_000)
  for (;;) {
    try {
      await line.connect()
      return line
    } catch (error) {
      if (isRefusal(error) || performance.now() > deadline) throw error
    }
    await pause(REDIAL_JITTER_MS)
  }
}

class NatsLine implements Line {
  readonly #options: LineOptions
  readonly #configured: readonly [NatsAddress, ...NatsAddress[]]
  readonly #inbox = `_INBOX.${randomBytes(12).toString('hex')}`
  #servers: readonly [NatsAddress, ...NatsAddress[]]
  #attempts = 0
  #socket: Socket | null = null
  #closed = false
  #corked = false
  #maxPayloadBytes = 1024 * 1024
  #pingsOut = 0
  #listener: LineListener | null = null

  constructor(options: LineOptions) {
    this.#options = options
    this.#configured = addressesOf(options.url)
    this.#servers = this.#configured
  }

  maxPayloadBytes(): number {
    return this.#maxPayloadBytes
  }

  isUp(): boolean {
    return this.#socket !== null && !this.#closed
  }

  publish({ subject, number, headers, bytes }: LineMessage): void {
    const socket = this.#socket
    if (socket === null) throw new ParleyError('BUG', 'published on a lost connection')
    let fields = 'NATS/1.0\r\n'
    for (const [name, value] of headers) fields += `${name}: ${value}\r\n`
    const size = fields.length + CRLF.length
    const head = `HPUB ${subject} ${this.#inbox}.${number} ${size} ${size + bytes.length}\r\n${fields}\r\n`
    if (!this.#corked) {
      // What is published in one go, to several partitions, leaves in one call into the kernel.
      this.#corked = true
      socket.cork()
      queueMicrotask(() => {
        this.#corked = false
        socket.uncork()
      })
    }
    socket.write(Buffer.from(head, 'latin1'))
    socket.write(bytes)
    socket.write(CRLF)
  }

  listen(listener: LineListener): void {
    this.#listener = listener
  }

  close(): void {
    this.#closed = true
    // What was published is written before the connection ends.
    this.#socket?.end()
  }

  /** One attempt, at the next server of the cluster. From then on a lost connection is opened again. */
  async connect(): Promise<void> {
    const server = this.#servers[this.#attempts++ % this.#servers.length] ?? this.#servers[0]
    const { name, log } = this.#options
    const socket = await dialLine(
      { server, name, inbox: this.#inbox },
      {
        info: ({ max_payload, connect_urls }) => {
          this.#maxPayloadBytes = max_payload ?? this.#maxPayloadBytes
          this.#servers = serversOf(this.#configured, connect_urls ?? [])
        },
        pong: () => {
          this.#pingsOut = 0
        },
        error: reason => log.warn({ connection: name, reason }, 'NATS error'),
        message: (number, data, hasHeaders) => this.#listener?.onAnswer(number, data, hasHeaders),
      },
    )
    this.#pingsOut = 0
    const pinging = setInterval(() => this.#ping(socket), PING_MS)
    socket.once('close', () => {
      clearInterval(pinging)
      this.#lost()
    })
    this.#socket = socket
    if (this.#closed) socket.end()
  }

  #lost(): void {
    this.#socket = null
    if (this.#closed) return
    this.#options.log.warn({ connection: this.#options.name }, 'NATS connection lost; reconnecting')
    this.#listener?.onDown()
    void this.#reconnect()
  }

  async #reconnect(): Promise<void> {
    const { log, name } = this.#options
    while (!this.#closed) {
      await pause(REDIAL_MS + Math.random() * REDIAL_JITTER_MS)
      try {
        await this.connect()
        if (!this.#closed) log.info({ connection: name }, 'NATS connection back')
        if (!this.#closed) this.#listener?.onUp()
        return
      } catch (error) {
        // Whoever refuses may be put right; everything else is a server that is away.
        if (isRefusal(error)) log.warn({ connection: name, err: error }, 'NATS refuses the connection')
      }
    }
  }

  #ping(socket: Socket): void {
    if (this.#pingsOut++ >= MAX_PINGS_OUT) socket.destroy()
    else socket.write('PING\r\n')
  }
}

/** True when the server does not want this client: trying again at once does not help. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && /authorization|authentication/i.test(error.message)
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
