// SHA-1 of short messages -> five 32-bit words, without a call into the runtime or a text in hex. Those that come in numbers are
// hashed by fours (hashes.ts).
// Its ids stand in blocks that are compared with those of node:crypto in pack.test.ts.

/** The message to hash is written here, from its beginning. Precondition of `sha1`: it leaves 72 bytes for the padding. */
export const message = new Uint8Array(1024)

/** The digest of the last call, as unsigned words of the number. */
export const digest = new Uint32Array(5)

const schedule = new Int32Array(80)

/** Hashes the first `length` bytes of `message`; what stands behind them is overwritten. */
export function sha1(length: number): void {
  const bytes = message
  const end = ((length + 72) >> 6) << 6
  bytes[length] = 0x80
  bytes.fill(0, length + 1, end - 4)
  // Lengths are far below 2^29, so the count of bits is one word.
  const bits = length << 3
  bytes[end - 4] = bits >>> 24
  bytes[end - 3] = bits >>> 16
  bytes[end - 2] = bits >>> 8
  bytes[end - 1] = bits
  digest[0] = 0x67452301
  digest[1] = 0xefcdab89
  digest[2] = 0x98badcfe
  digest[3] = 0x10325476
  digest[4] = 0xc3d2e1f0
  for (let at = 0; at < end; at += 64) compress(at)
}

function compress(at: number): void {
  const w = schedule
  const bytes = message
  for (let i = 0, p = at; i < 16; i++, p += 4) {
    w[i] =
      ((bytes[p] as number) << 24) |
      ((bytes[p + 1] as number) << 16) |
      ((bytes[p + 2] as number) << 8) |
      (bytes[p + 3] as number)
  }
  for (let i = 16; i < 80; i++) {
    const x = (w[i - 3] as number) ^ (w[i - 8] as number) ^ (w[i - 14] as number) ^ (w[i - 16] as number)
    w[i] = (x << 1) | (x >>> 31)
  }
  let a = (digest[0] as number) | 0
  let b = (digest[1] as number) | 0
  let c = (digest[2] as number) | 0
  let d = (digest[3] as number) | 0
  let e = (digest[4] as number) | 0
  // A loop for each of the four functions: one that chooses among them takes twice as long.
  for (let i = 0; i < 20; i++) {
    const next = (((a << 5) | (a >>> 27)) + ((b & c) | (~b & d)) + e + 0x5a827999 + (w[i] as number)) | 0
    e = d
    d = c
    c = (b << 30) | (b >>> 2)
    b = a
    a = next
  }
  for (let i = 20; i < 40; i++) {
    const next = (((a << 5) | (a >>> 27)) + (b ^ c ^ d) + e + 0x6ed9eba1 + (w[i] as number)) | 0
    e = d
    d = c
    c = (b << 30) | (b >>> 2)
    b = a
    a = next
  }
  for (let i = 40; i < 60; i++) {
    const next = (((a << 5) | (a >>> 27)) + ((b & c) | (b & d) | (c & d)) + e + 0x8f1bbcdc + (w[i] as number)) | 0
    e = d
    d = c
    c = (b << 30) | (b >>> 2)
    b = a
    a = next
  }
  for (let i = 60; i < 80; i++) {
    const next = (((a << 5) | (a >>> 27)) + (b ^ c ^ d) + e + 0xca62c1d6 + (w[i] as number)) | 0
    e = d
    d = c
    c = (b << 30) | (b >>> 2)
    b = a
    a = next
  }
  digest[0] = (digest[0] as number) + a
  digest[1] = (digest[1] as number) + b
  digest[2] = (digest[2] as number) + c
  digest[3] = (digest[3] as number) + d
  digest[4] = (digest[4] as number) + e
}
