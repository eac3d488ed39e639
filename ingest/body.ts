// Chunks of a request -> its whole body, inflated when it came compressed. Limits are counted while reading: on the wire, after
// inflating, and over all requests together (the budget).

import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import type { Budget } from '#ingest/budget.ts'
import type { ErrorCode } from '#proto/errors.ts'

/** A body over its limit is read and thrown away up to this many times the limit, so that the sender gets to read its 413. */
const DISCARD_FACTOR = 4
/**
 * Bodies inflated or compressed at a time: their inputs are counted by the budget, their outputs are bounded by this. One core is left
 * to the event loop: with four at a time on two cores it waited for its turn.
 */
const ZLIB_CONCURRENCY = Math.max(1, Math.min(4, availableParallelism() - 1))
const ZLIB_CHUNK_BYTES = 128 * 1024
/** Compressed better than this, a body of over FREE_BYTES is no telemetry but a bomb: real batches reach about 60. */
export const MAX_RATIO = 200
const FREE_BYTES = 1024 * 1024

/** A whole body. */
export interface Body {
  readonly bytes: Uint8Array
  /** Makes the bytes last beyond this call; false when the budget has no room for them. */
  keep(): boolean
  /** Gives reserved bytes back; safe to call twice. */
  release(): void
}

/** A body that lies in the socket's own buffer and is valid during the callback only: copied when it must be kept. */
export function borrowBody(budget: Budget, chunk: ArrayBuffer): Body {
  return new HeldBody(budget, new Uint8Array(chunk), 0, true)
}

/** A body of its own memory whose bytes are reserved already. */
function ownBody(budget: Budget, bytes: Uint8Array, reservedBytes: number): Body {
  return new HeldBody(budget, bytes, reservedBytes, false)
}

class HeldBody implements Body {
  bytes: Uint8Array
  readonly #budget: Budget
  #reserved: number
  #borrowed: boolean

  constructor(budget: Budget, bytes: Uint8Array, reserved: number, borrowed: boolean) {
    this.#budget = budget
    this.bytes = bytes
    this.#reserved = reserved
    this.#borrowed = borrowed
  }

  keep(): boolean {
    if (!this.#borrowed) return true
    if (!this.#budget.take(this.bytes.length)) return false
    this.#borrowed = false
    this.#reserved = this.bytes.length
    this.bytes = this.bytes.slice()
    return true
  }

  release(): void {
    if (this.#reserved > 0) this.#budget.give(this.#reserved)
    this.#reserved = 0
  }
}

/** What a collector says to a chunk. */
export type Collected = 'more' | 'refused' | 'cut'

/** Collects one body. */
export interface Collector {
  /**
   * Takes a copy of a chunk. `refused`: over a limit, go on reading and answer with `refusal()` at the end.
   * `cut`: far over it, answer now and close.
   */
  push(chunk: ArrayBuffer): Collected
  /** Why the body cannot be taken; null when it can. */
  refusal(): ErrorCode | null
  /** The whole body; from now on it is the body's to release. */
  finish(): Body
  /** Gives everything back: for a request that ends before its body. */
  drop(): void
}

/** A collector of at most `maxBytes`. What senders announce is not asked for: bytes count when they are there. */
export function createCollector(budget: Budget, maxBytes: number): Collector {
  let refusal: ErrorCode | null = null
  let parts: Uint8Array[] = []
  let length = 0
  let reserved = 0

  const release = (): void => {
    budget.give(reserved)
    reserved = 0
    parts = []
  }
  const refuse = (code: ErrorCode): void => {
    refusal = code
    release()
  }
  return {
    push: chunk => {
      length += chunk.byteLength
      if (refusal === null && length > maxBytes) refuse('REQ_BODY_TOO_LARGE')
      // Reserved as bytes arrive: announcing a large body and sending it slowly must not use up what others need.
      else if (refusal === null && !budget.take(chunk.byteLength)) refuse('ING_FULL')
      if (refusal !== null) return length > maxBytes * DISCARD_FACTOR ? 'cut' : 'refused'
      reserved += chunk.byteLength
      // The chunk dies with the callback that brought it: copy.
      parts.push(new Uint8Array(chunk.slice(0)))
      return 'more'
    },
    refusal: () => refusal,
    finish: () => {
      const bytes = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts, length)
      const body = ownBody(budget, bytes, reserved)
      parts = []
      reserved = 0
      return body
    },
    drop: release,
  }
}

/** How a body is packed on the wire. `deflate` is what exporters of Python send on request, in the zlib format that HTTP means. */
export type Packing = 'gzip' | 'deflate'

/** How a body is written on the wire; null = an encoding that is not known here. */
export function encodingOf(header: string): 'identity' | Packing | null {
  if (header === '') return 'identity'
  const name = header.trim().toLowerCase()
  if (name === 'gzip' || name === 'x-gzip') return 'gzip'
  return name === 'identity' || name === 'deflate' ? name : null
}

/** Outcome of inflating: the bytes, or why not. */
export type Inflated = { readonly ok: true; readonly body: Body } | { readonly ok: false; readonly code: ErrorCode }

/** Packed bodies in both directions, off the event loop. */
export interface Compression {
  /** Inflates a body (of gzip: any number of members) to at most `maxBytes` and releases it. */
  inflate(body: Body, packing: Packing): Promise<Inflated>
  /** Gzips a payload. */
  deflate(bytes: Uint8Array): Promise<Uint8Array>
}

const unpack = {
  gzip: promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gunzip),
  deflate: promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.inflate),
}
const gzip = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gzip)

/** Compression with a limit after inflating. */
export function createCompression(budget: Budget, maxBytes: number): Compression {
  const slot = createSlots(ZLIB_CONCURRENCY)
  return {
    inflate: (body, packing) =>
      slot(async (): Promise<Inflated> => {
        try {
          const limit = Math.min(maxBytes, Math.max(FREE_BYTES, body.bytes.length * MAX_RATIO))
          const options = { maxOutputLength: limit, chunkSize: inflateChunkBytes(body.bytes, packing, limit) }
          const bytes = await unpack[packing](body.bytes, options)
          if (!budget.take(bytes.length)) return { ok: false, code: 'ING_FULL' }
          return { ok: true, body: ownBody(budget, bytes, bytes.length) }
        } catch (error) {
          const tooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
          return { ok: false, code: tooLarge ? 'REQ_BODY_TOO_LARGE' : 'REQ_ENCODING_INVALID' }
        } finally {
          body.release()
        }
      }),
    deflate: bytes => slot(() => gzip(bytes, { chunkSize: ZLIB_CHUNK_BYTES })),
  }
}

/** Of a gzip member, behind its bytes: how many they were. */
const TRAILER_BYTES = 4
const LEAST_CHUNK_BYTES = 4 * 1024
/** Deflate packs 1,032 bytes into one at the best: with this many times the body's size at a time there are never more than 129 pieces. */
const CHUNK_SHARE = 8

/**
 * How much to inflate at a time: all of it, as the body itself says. Then there is one piece, which comes back to the event loop once and
 * is not copied; a bomb is over its limit with the first. What a body says of itself is only believed up to `limit`, and whoever says too
 * little, or nothing as in zlib's format, is inflated in more pieces.
 */
export function inflateChunkBytes(packed: Uint8Array, packing: Packing, limit: number): number {
  const { buffer, byteOffset, length } = packed
  const isSaid = packing === 'gzip' && length >= TRAILER_BYTES
  const said = !isSaid ? 0 : new DataView(buffer, byteOffset).getUint32(length - TRAILER_BYTES, true)
  const least = Math.max(LEAST_CHUNK_BYTES, Math.min(length * CHUNK_SHARE, ZLIB_CHUNK_BYTES))
  // One more than fits: the end is seen without another round.
  return Math.min(limit, Math.max(least, said)) + 1
}

/** Runs at most `count` tasks at a time, the others in order of arrival. */
function createSlots(count: number): <T>(task: () => Promise<T>) => Promise<T> {
  let free = count
  const waiting: (() => void)[] = []
  return async task => {
    if (free > 0) free--
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free++
    }
  }
}
