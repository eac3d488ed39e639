// Dead letters of a target: payloads that became no rows are looked into for what they may know it by, and removed.
import { gunzipSync } from 'node:zlib'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { FrameEncoding } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { DEAD_STREAM } from '#proto/streams.ts'
import { dropLetter, getLetter, type StoredLetter } from '#streams/dead-letters.ts'
import type { Target } from './conditions.ts'

/** A letter is decompressed up to here: receivers take no larger bodies. */
const MAX_BYTES = 64 * 1024 * 1024

/** Removes the letters of a target; returns how many. @throws when the server does not answer. */
export async function eraseLetters(
  nc: NatsConnection,
  target: Target,
  names: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const { state } = await (await jetstreamManager(nc)).streams.info(DEAD_STREAM)
  let erased = 0
  for (let id = Math.max(1, state.first_seq); id <= state.last_seq; id++) {
    signal.throwIfAborted()
    const letter = await getLetter(nc, id)
    if (letter && isOf(letter, target, names) && (await dropLetter(nc, id))) erased++
  }
  return erased
}

/** Whether a letter is the target's. A whole message that nobody could read is taken for it when it names it. */
export function isOf(letter: StoredLetter, target: Target, names: readonly string[]): boolean {
  const whole = letter.frame < 0
  if (!whole && letter.organization !== target.organization) return false
  const bytes = Buffer.from(letter.bytes.buffer, letter.bytes.byteOffset, letter.bytes.byteLength)
  if (whole && !bytes.includes(uuidBytes(target.organization))) return false
  return target.kind === 'organization' || mentions(plain(bytes, letter.encoding), names)
}

function plain(bytes: Buffer, encoding: number): Buffer {
  if (encoding !== FrameEncoding.jsonGzip && encoding !== FrameEncoding.protobufGzip) return bytes
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_BYTES })
  } catch {
    // A broken archive: what can be read of it says nothing.
    return bytes
  }
}

/**
 * Whether a payload says one of the names as a whole value: JSON as a string (also escaped, also where the rest is broken) or as a number
 * under a key that speaks of users; protobuf as a field of its length.
 */
export function mentions(payload: Buffer, names: readonly string[]): boolean {
  for (const name of names) {
    const text = Buffer.from(name)
    if (payload.includes(Buffer.concat([varint(text.length), text]))) return true
    if (payload.includes(JSON.stringify(name))) return true
  }
  const wanted = new Set(names)
  let found = false
  try {
    JSON.parse(payload.toString(), (key, value: unknown) => {
      if (typeof value === 'string') found ||= wanted.has(value)
      if (typeof value === 'number') found ||= /user|customer/i.test(key) && wanted.has(String(value))
      return value
    })
  } catch {
    // Not JSON, or broken: the bytes have been looked at.
  }
  return found
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  while (rest > 127) {
    bytes.push((rest & 127) | 128)
    rest >>>= 7
  }
  return Buffer.from([...bytes, rest])
}
