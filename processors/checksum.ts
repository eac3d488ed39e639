// The bytes of a block -> its checksum in a recipe. It tells an owner that reads a range again whether this build makes of it what was
// promised: a guard against builds and machines that differ, not against anybody who chooses the bytes.
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** Small enough that a difference is seldom spread over one piece alone, large enough that calls are few. */
const PIECE_BYTES = 64 * 1024

/**
 * Of each piece the CRC-32, of all of these SHA-1: a third of what SHA-1 of every byte costs. What differs in one piece passes unseen once
 * in 2^32 times, and never when it is 32 bits long or shorter; what differs in more of them, as whatever moves bytes does, hardly ever.
 */
export function checksumOf(bytes: Uint8Array): string {
  const sums = new Uint32Array(Math.ceil(bytes.length / PIECE_BYTES) + 1)
  sums[0] = bytes.length
  for (let at = 0, i = 1; at < bytes.length; at += PIECE_BYTES, i++) {
    sums[i] = crc32(bytes.subarray(at, at + PIECE_BYTES))
  }
  return hash('sha1', sums, 'hex').slice(0, 16)
}
