// LZ4 blocks in ClickHouse's frames, for the bench of compression: greedy, one hash table, no checksums (the setting that the bench sends
// along tells the store not to look for them).

const FRAME_BYTES = 1024 * 1024
/** Checksum, method, size in the frame with this header, size outside of it. */
const HEADER_BYTES = 16 + 9
const CHECKSUM_BYTES = 16
const LZ4 = 0x82
const MIN_MATCH = 4
/** The last bytes of a block are literals. */
const TAIL = 12
const LAST = 5
const TABLE_BITS = 14
const places = new Int32Array(1 << TABLE_BITS)

/** A body as frames. */
export function lz4Frames(body: Uint8Array): Uint8Array {
  const frames = Math.ceil(body.length / FRAME_BYTES)
  const out = Buffer.allocUnsafe(body.length + Math.ceil(body.length / 255) + frames * (HEADER_BYTES + 16))
  let at = 0
  for (let from = 0; from < body.length; from += FRAME_BYTES) {
    const part = Buffer.from(body.buffer, body.byteOffset + from, Math.min(FRAME_BYTES, body.length - from))
    const end = compressBlock(part, out, at + HEADER_BYTES)
    out.fill(0, at, at + CHECKSUM_BYTES)
    out[at + CHECKSUM_BYTES] = LZ4
    out.writeUInt32LE(end - at - CHECKSUM_BYTES, at + CHECKSUM_BYTES + 1)
    out.writeUInt32LE(part.length, at + CHECKSUM_BYTES + 5)
    at = end
  }
  return out.subarray(0, at)
}

function compressBlock(from: Buffer, into: Buffer, start: number): number {
  places.fill(-1)
  let at = start
  let literals = 0
  let i = 0
  const limit = from.length - TAIL
  while (i < limit) {
    const word = word32(from, i)
    const slot = Math.imul(word, 0x9e3779b1) >>> (32 - TABLE_BITS)
    const found = places[slot] as number
    places[slot] = i
    if (found < 0 || i - found > 0xffff || word32(from, found) !== word) {
      // The longer nothing is found, the larger the steps.
      i += 1 + ((i - literals) >> 6)
      continue
    }
    let length = MIN_MATCH
    const most = from.length - LAST - i
    while (length < most && from[found + length] === from[i + length]) length++
    at = sequence(from, literals, i, into, at, length - MIN_MATCH)
    into[at++] = (i - found) & 255
    into[at++] = (i - found) >> 8
    at = more(into, at, length - MIN_MATCH)
    i += length
    literals = i
  }
  return sequence(from, literals, from.length, into, at, 0)
}

/** A token and literals; what of the match does not fit the token follows its offset. */
function sequence(from: Buffer, start: number, end: number, into: Buffer, position: number, match: number): number {
  const count = end - start
  into[position] = (Math.min(count, 15) << 4) | Math.min(match, 15)
  const at = more(into, position + 1, count)
  from.copy(into, at, start, end)
  return at + count
}

function more(into: Buffer, position: number, length: number): number {
  if (length < 15) return position
  let at = position
  let rest = length - 15
  for (; rest >= 255; rest -= 255) into[at++] = 255
  into[at++] = rest
  return at
}

function word32(from: Buffer, at: number): number {
  const low = (from[at] as number) | ((from[at + 1] as number) << 8)
  return low | ((from[at + 2] as number) << 16) | ((from[at + 3] as number) << 24)
}
