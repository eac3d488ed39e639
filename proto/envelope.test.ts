import { randomBytes } from 'node:crypto'
import t from 'tap'
import {
  ENVELOPE_HEADER_BYTES,
  EnvelopeWriter,
  FRAME_HEADER_BYTES,
  FrameEncoding,
  FrameKind,
  readEnvelope,
} from '#proto/envelope.ts'
import type { ErrorCode } from '#proto/errors.ts'
import { isParleyError } from '#proto/errors.ts'

const organization = randomBytes(16)
const minted = randomBytes(16)
const receivedAtMs = Date.UTC(2026, 10, 20, 1, 2, 3, 4)

const codeOf = (read: () => unknown): ErrorCode | 'none' => {
  try {
    read()
    return 'none'
  } catch (error) {
    if (!isParleyError(error)) throw error
    return error.code
  }
}

t.test('what is appended is read back, over growth and reuse of the buffer', async t => {
  const writer = new EnvelopeWriter(1_000_000, 64)
  for (let round = 0; round < 3; round++) {
    const bodies = Array.from({ length: 50 }, (_, i) => randomBytes(i * 37))
    bodies.forEach((body, i) => {
      const frame = writer.append(FrameKind.event, FrameEncoding.json, organization, receivedAtMs + i, minted, body)
      t.equal(frame, i)
    })
    const frames = readEnvelope(Buffer.from(writer.finish()))
    t.equal(frames.length, 50)
    frames.forEach((frame, i) => {
      t.strictSame(Buffer.from(frame.bytes), bodies[i])
      t.equal(frame.receivedAtMs, receivedAtMs + i)
    })
    t.strictSame(Buffer.from(frames[0]?.organization ?? []), organization)
    t.strictSame(Buffer.from(frames[0]?.mintedId ?? []), minted)
    writer.reset()
    t.equal(writer.count, 0)
  }
})

t.test('a payload fits up to the last byte of the limit and not beyond', async t => {
  const limit = ENVELOPE_HEADER_BYTES + FRAME_HEADER_BYTES + 10
  const writer = new EnvelopeWriter(limit)
  t.notOk(writer.fits(11))
  t.ok(writer.fits(10))
  writer.append(FrameKind.session, FrameEncoding.json, organization, receivedAtMs, null, Buffer.alloc(10))
  t.equal(writer.length, limit)
  t.notOk(writer.fits(0))
  const append = () => writer.append(FrameKind.session, FrameEncoding.json, organization, 0, null, Buffer.alloc(0))
  t.equal(codeOf(append), 'BUG')
  t.strictSame(Buffer.from(readEnvelope(writer.finish())[0]?.mintedId ?? []), Buffer.alloc(16))
})

t.test('another version is told apart from broken bytes', async t => {
  const writer = new EnvelopeWriter(1000)
  writer.append(FrameKind.otlp, FrameEncoding.protobuf, organization, receivedAtMs, null, Buffer.from('abc'))
  const good = Buffer.from(writer.finish())
  const newer = Buffer.from(good)
  newer[2] = 2
  t.equal(
    codeOf(() => readEnvelope(newer)),
    'DEAD_ENVELOPE_VERSION',
  )
  t.equal(
    codeOf(() => readEnvelope(Buffer.from('hello there'))),
    'DEAD_ENVELOPE_BROKEN',
  )
  t.equal(
    codeOf(() => readEnvelope(Buffer.concat([good, Buffer.from('x')]))),
    'DEAD_ENVELOPE_BROKEN',
  )
  for (let cut = 0; cut < good.length; cut++)
    t.equal(
      codeOf(() => readEnvelope(good.subarray(0, cut))),
      'DEAD_ENVELOPE_BROKEN',
    )
})

t.test('no bytes whatever make the reader throw anything but its two codes', async t => {
  const writer = new EnvelopeWriter(10_000)
  for (let i = 0; i < 5; i++)
    writer.append(FrameKind.event, FrameEncoding.json, organization, receivedAtMs, null, randomBytes(20))
  const good = Buffer.from(writer.finish())
  let rejected = 0
  for (let i = 0; i < 20_000; i++) {
    const bytes = Buffer.from(good)
    for (let flips = 0; flips < 3; flips++)
      bytes[Math.floor(Math.random() * bytes.length)] = Math.floor(Math.random() * 256)
    if (codeOf(() => readEnvelope(bytes)) !== 'none') rejected++
  }
  t.ok(rejected > 0)
})
