// One partition's stream, in order, from a position on: messages are kept in a buffer bounded by bytes until a block is cut.
// Nothing is acknowledged: the cursor is the only memory of what was read. A lost connection, a restarted server or a hole in
// the delivery makes a new consumer at the next position, so that no message is skipped and none comes twice.

import type { JetStreamManager } from '@nats-io/jetstream'
import { AckPolicy, DeliverPolicy, jetstreamManager, ReplayPolicy } from '@nats-io/jetstream'
import type { Msg, NatsConnection, Status, Subscription } from '@nats-io/transport-node'
import { createInbox } from '@nats-io/transport-node'
import { isNewerEnvelope } from '#proto/envelope.ts'
import { FOLLOWING, RENEW_MS } from '#runtime/following.ts'
import type { Log } from '#runtime/log.ts'
import { Outage } from '#runtime/outage.ts'
import { within } from './pause.ts'
import { envelopeWeight } from './weight.ts'

/** One message. `data` is a copy of its own, whose memory whoever is done with it may free at once. */
export interface StreamMessage {
  readonly sequence: number
  /** When the server stored it, Unix ms. */
  readonly storedAtMs: number
  readonly data: Uint8Array
  /** Bytes of the payloads once they are inflated: what a block is measured by. */
  readonly weight: number
}

/** A running reader. */
export interface Reader {
  /** Messages in the buffer, and their weight. */
  readonly length: number
  readonly weight: number
  /** Messages in the stream behind the last one that arrived. */
  readonly pending: number
  /** When the oldest message of the buffer was stored; undefined when it is empty. */
  readonly oldestMs: number | undefined
  /** The messages of the buffer. */
  readonly waiting: readonly StreamMessage[]
  /** Bytes of the messages behind the last one that arrived, as far as their number tells. */
  readonly pendingBytes: number
  /**
   * Takes messages from the front: at least one, then up to `maxWeight`, none beyond `through`. One of a newer version is only
   * ever taken alone, so that what stands before it is stored first.
   */
  take(maxWeight: number, through?: number): StreamMessage[]
  /** Called whenever the buffer grew. */
  onArrival: () => void
  close(): Promise<void>
}

/** Headers, subject and protocol around the largest payload. */
const MESSAGE_OVERHEAD_BYTES = 128 * 1024
const PULL_EXPIRES_MS = FOLLOWING.expires
const HEARTBEAT_MS = 5_000
const SILENCE_MS = 12_000
/** How long a goodbye may take. */
const CLOSE_MS = 500
const NS_PER_MS = 1_000_000
const BATCH = 50_000

/** Reads `stream` from sequence `from` on. `bufferBytes`: how much may wait here. */
export function openReader(options: ReaderOptions): Reader {
  return new PullReader(options)
}

interface ReaderOptions {
  readonly nc: NatsConnection
  readonly stream: string
  readonly from: number
  readonly bufferBytes: number
  readonly log: Log
  /** A pull gets no older; for tests. */
  readonly renewMs?: number
}

class PullReader implements Reader {
  readonly #nc: NatsConnection
  readonly #stream: string
  readonly #limit: number
  readonly #log: Log
  readonly #outage: Outage
  readonly #inbox = createInbox()
  readonly #statuses: AsyncIterable<Status> & { stop?: () => void }
  #jsm: JetStreamManager | undefined
  #consumer = ''
  #subscription: Subscription | undefined
  #serial = 0
  /** Next stream sequence, and next delivery number of this consumer. */
  #next: number
  #delivery = 1
  #wanted = 0
  #heardAt = performance.now()
  #askedAt = performance.now()
  #watchdog: NodeJS.Timeout
  #closed = false
  #opening = false
  #queue: StreamMessage[] = []
  #head = 0
  #bytes = 0
  #arrived = 0
  #arrivedBytes = 0
  weight = 0
  pending = 0
  onArrival: () => void = () => {}

  constructor(options: ReaderOptions) {
    this.#nc = options.nc
    this.#stream = options.stream
    this.#next = options.from
    this.#log = options.log
    this.#outage = new Outage(options.log, `reading ${options.stream}`)
    this.#limit = Math.max(options.bufferBytes, (options.nc.info?.max_payload ?? 0) + MESSAGE_OVERHEAD_BYTES)
    const { renewMs = RENEW_MS } = options
    this.#watchdog = setInterval(
      () => {
        const now = performance.now()
        // The server may forget a pull whose time is over without a word (see RENEW_MS).
        if (this.#wanted > 0 && (now - this.#heardAt > SILENCE_MS || now - this.#askedAt > renewMs)) this.#restart()
      },
      Math.min(2_000, renewMs),
    )
    this.#watchdog.unref()
    this.#statuses = options.nc.status()
    void this.#followReconnects()
    this.#restart()
  }

  get length(): number {
    return this.#queue.length - this.#head
  }

  get waiting(): readonly StreamMessage[] {
    return this.#queue.slice(this.#head)
  }

  get oldestMs(): number | undefined {
    return this.#queue[this.#head]?.storedAtMs
  }

  take(maxWeight: number, through = Number.POSITIVE_INFINITY): StreamMessage[] {
    const taken: StreamMessage[] = []
    let weight = 0
    while (this.#head < this.#queue.length) {
      const message = this.#queue[this.#head] as StreamMessage
      if (message.sequence > through) break
      const newer = isNewerEnvelope(message.data)
      if (taken.length > 0 && (newer || weight + message.weight > maxWeight)) break
      taken.push(message)
      weight += message.weight
      this.#bytes -= message.data.length
      this.#head++
      if (newer) break
    }
    if (this.#head > 1024 && this.#head * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head)
      this.#head = 0
    }
    this.weight -= weight
    this.#pull()
    return taken
  }

  get pendingBytes(): number {
    return this.pending * (this.#arrived === 0 ? 0 : this.#arrivedBytes / this.#arrived)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#watchdog)
    this.#statuses.stop?.()
    this.#subscription?.unsubscribe()
    if (this.#consumer === '' || !this.#jsm) return
    // The server forgets an idle consumer by itself; this is only tidier.
    await within(CLOSE_MS, this.#jsm.consumers.delete(this.#stream, this.#consumer))
  }

  async #followReconnects(): Promise<void> {
    for await (const status of this.#statuses) {
      if (status.type === 'reconnect') this.#restart()
    }
  }

  /** Makes a new consumer at the next position; whatever the old one still delivers is ignored. */
  #restart(): void {
    if (this.#opening || this.#closed || this.#nc.isClosed()) return
    this.#opening = true
    const serial = ++this.#serial
    this.#subscription?.unsubscribe()
    this.#subscription = this.#nc.subscribe(`${this.#inbox}.${serial}`, {
      callback: (error, message) => {
        if (serial !== this.#serial || this.#closed) return
        if (error) this.#log.warn({ err: error, stream: this.#stream }, 'a delivery failed')
        else this.#receive(message)
      },
    })
    void this.#open().then(
      () => {
        this.#opening = false
        this.#outage.over()
        this.#pull()
      },
      (error: unknown) => {
        this.#opening = false
        this.#outage.failed(error)
        setTimeout(() => this.#restart(), 250).unref()
      },
    )
  }

  async #open(): Promise<void> {
    this.#wanted = 0
    this.#jsm ??= await jetstreamManager(this.#nc, { timeout: 3_000, checkAPI: false })
    const info = await this.#jsm.consumers.add(this.#stream, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: this.#next,
      replay_policy: ReplayPolicy.Instant,
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: 60_000 * NS_PER_MS,
    })
    this.#consumer = info.name
    this.#delivery = 1
    this.pending = info.num_pending
    this.#heardAt = performance.now()
  }

  /** Asks for more when nothing is on its way and half of the buffer is free. */
  #pull(): void {
    if (this.#closed || this.#opening || this.#consumer === '' || this.#wanted > 0) return
    if (this.#bytes * 2 > this.#limit) return
    this.#wanted = BATCH
    this.#heardAt = performance.now()
    this.#askedAt = this.#heardAt
    this.#nc.publish(
      `$JS.API.CONSUMER.MSG.NEXT.${this.#stream}.${this.#consumer}`,
      JSON.stringify({
        batch: BATCH,
        // The largest message must always fit, or the server refuses the pull again and again.
        max_bytes: this.#limit,
        expires: PULL_EXPIRES_MS * NS_PER_MS,
        idle_heartbeat: HEARTBEAT_MS * NS_PER_MS,
      }),
      { reply: `${this.#inbox}.${this.#serial}` },
    )
  }

  #receive(message: Msg): void {
    this.#heardAt = performance.now()
    const reply = message.reply
    if (!reply?.startsWith('$JS.ACK.')) {
      this.#status(message)
      return
    }
    const tokens = reply.split('.')
    const at = tokens.length === 9 ? 5 : 7
    const sequence = Number(tokens[at])
    const delivery = Number(tokens[at + 1])
    if (delivery !== this.#delivery || sequence < this.#next) {
      // Something was lost between the server and here.
      this.#restart()
      return
    }
    if (sequence > this.#next && this.#delivery === 1) this.#missing(sequence)
    this.#delivery++
    this.#next = sequence + 1
    this.#wanted--
    this.pending = Number(tokens[at + 3])
    // Digits of nanoseconds: all but the last six are milliseconds.
    const storedAtMs = Number((tokens[at + 2] as string).slice(0, -6))
    const weight = envelopeWeight(message.data)
    // The client's own buffer, up to twice as large, dies young instead of waiting with the message.
    this.#queue.push({ sequence, storedAtMs, data: new Uint8Array(message.data), weight })
    this.#bytes += message.data.length
    this.#arrived++
    this.#arrivedBytes += message.data.length
    this.weight += weight
    this.onArrival()
    this.#pull()
  }

  /** The end of a pull, a heartbeat, or a refusal. */
  #status(message: Msg): void {
    const code = message.headers?.code ?? 0
    if (code === 100) return
    this.#wanted = 0
    // 404, 408: nothing came in time; 409 with a size: the next message waits for a new pull. Anything else: start over.
    const description = message.headers?.description ?? ''
    if (code === 404 || code === 408 || (code === 409 && /maxbytes/i.test(description.replaceAll(' ', '')))) {
      this.#pull()
      return
    }
    this.#consumer = ''
    setTimeout(() => this.#restart(), 100).unref()
  }

  #missing(sequence: number): void {
    this.#log.error(
      { stream: this.#stream, from: this.#next, to: sequence - 1 },
      'messages are gone from the stream before they were processed',
    )
  }
}
