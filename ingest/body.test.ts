import { randomBytes } from 'node:crypto'
import { deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import type { Body, Packing } from '#ingest/body.ts'
import { borrowBody, createCollector, createCompression, encodingOf, inflateChunkBytes } from '#ingest/body.ts'
import { createBudget } from '#ingest/budget.ts'

const KiB = 1024
const chunkOf = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

t.test('random bodies in random chunks come out as they went in, and the budget ends at zero', async t => {
  const budget = createBudget(256 * KiB)
  for (let round = 0; round < 200; round++) {
    const sent = randomBytes(Math.floor(Math.random() * 4 * KiB))
    const collector = createCollector(budget, 4 * KiB)
    for (let at = 0; at < sent.length; ) {
      const size = 1 + Math.floor(Math.random() * 700)
      const chunk = chunkOf(sent.subarray(at, at + size))
      t.equal(collector.push(chunk), 'more')
      // The server takes the memory back after the callback.
      new Uint8Array(chunk).fill(0)
      at += size
    }
    collector.push(new ArrayBuffer(0))
    const body = collector.finish()
    t.equal(budget.used(), sent.length)
    t.ok(sent.equals(body.bytes))
    body.release()
    body.release()
    t.equal(budget.used(), 0)
  }
})

t.test('a body at the limit is taken, one byte more is refused, far more is cut', async t => {
  const budget = createBudget(256 * KiB)
  const exact = createCollector(budget, KiB)
  t.equal(exact.push(new ArrayBuffer(KiB)), 'more')
  t.equal(exact.refusal(), null)
  exact.drop()

  const over = createCollector(budget, KiB)
  t.equal(over.push(new ArrayBuffer(KiB)), 'more')
  t.equal(over.push(new ArrayBuffer(1)), 'refused')
  t.equal(over.refusal(), 'REQ_BODY_TOO_LARGE')
  t.equal(budget.used(), 0, 'what was collected is given back at once')
  t.equal(over.push(new ArrayBuffer(4 * KiB)), 'cut')
})

t.test('a body that does not fit the budget is refused as full, and a dropped one gives its bytes back', async t => {
  const budget = createBudget(KiB)
  const first = createCollector(budget, KiB)
  first.push(new ArrayBuffer(800))
  const second = createCollector(budget, KiB)
  t.equal(second.push(new ArrayBuffer(800)), 'refused')
  t.equal(second.refusal(), 'ING_FULL')
  first.drop()
  t.equal(budget.used(), 0)
})

t.test('a borrowed body is copied only when it is kept', async t => {
  const budget = createBudget(10)
  const memory = chunkOf(Buffer.from('hello'))
  const body = borrowBody(budget, memory)
  t.equal(budget.used(), 0)
  t.ok(body.keep())
  t.ok(body.keep(), 'twice is once')
  t.equal(budget.used(), 5)
  new Uint8Array(memory).fill(0)
  t.equal(Buffer.from(body.bytes).toString(), 'hello')
  t.notOk(borrowBody(budget, new ArrayBuffer(6)).keep())
  body.release()
  t.equal(budget.used(), 0)
})

t.test('packed bodies are inflated to the limit and not beyond', async t => {
  const budget = createBudget(1024 * KiB)
  const compression = createCompression(budget, 64 * KiB)
  const bodyOf = (bytes: Uint8Array): Body => {
    const body = borrowBody(budget, chunkOf(bytes))
    body.keep()
    return body
  }
  const f = async (bytes: Uint8Array, expected: string, packing: Packing = 'gzip'): Promise<void> => {
    const inflated = await compression.inflate(bodyOf(bytes), packing)
    t.equal(inflated.ok ? String(inflated.body.bytes.length) : inflated.code, expected)
    if (inflated.ok) inflated.body.release()
    t.equal(budget.used(), 0)
  }
  await f(gzipSync(randomBytes(64 * KiB)), String(64 * KiB))
  await f(gzipSync(Buffer.alloc(64 * KiB + 1)), 'REQ_BODY_TOO_LARGE')
  await f(Buffer.concat([gzipSync('one'), gzipSync('two')]), '6')
  await f(Buffer.concat([gzipSync(Buffer.alloc(40 * KiB)), gzipSync(Buffer.alloc(40 * KiB))]), 'REQ_BODY_TOO_LARGE')
  await f(Buffer.concat([gzipSync(randomBytes(60 * KiB)), gzipSync('x')]), String(60 * KiB + 1))
  await f(Buffer.concat([gzipSync('one'), Buffer.alloc(9)]), '3')
  await f(Buffer.from('no gzip at all'), 'REQ_ENCODING_INVALID')
  await f(gzipSync('cut in the middle').subarray(0, 20), 'REQ_ENCODING_INVALID')
  await f(new Uint8Array(0), 'REQ_ENCODING_INVALID')
  await f(deflateSync(randomBytes(64 * KiB)), String(64 * KiB), 'deflate')
  await f(deflateSync(Buffer.alloc(64 * KiB + 1)), 'REQ_BODY_TOO_LARGE', 'deflate')
  await f(deflateSync('cut in the middle').subarray(0, 12), 'REQ_ENCODING_INVALID', 'deflate')
  await f(gzipSync('another format'), 'REQ_ENCODING_INVALID', 'deflate')
  const bomb = gzipSync(Buffer.alloc(32 * 1024 * KiB))
  await Promise.all(
    Array.from({ length: 20 }, () => compression.inflate(bodyOf(bomb), 'gzip').then(r => t.notOk(r.ok))),
  )
  t.equal(budget.used(), 0)
  t.ok((await compression.deflate(Buffer.alloc(64 * KiB))).length < KiB)
})

t.test('a body is inflated in one piece, as large as it says, within its limit', async t => {
  const f = (gzip: Uint8Array, limit: number, expected: number) =>
    t.equal(inflateChunkBytes(gzip, 'gzip', limit), expected)
  f(gzipSync(randomBytes(300 * KiB)), 1024 * KiB, 300 * KiB + 1)
  f(gzipSync(Buffer.alloc(2048 * KiB)), 1024 * KiB, 1024 * KiB + 1)
  f(gzipSync('small'), 1024 * KiB, 4 * KiB + 1)
  // The last member is not all: no more pieces than a bomb of this size could ever fill in any case.
  f(Buffer.concat([gzipSync(randomBytes(90 * KiB)), gzipSync('x')]), 1024 * KiB, 128 * KiB + 1)
  f(new Uint8Array(2), 1024 * KiB, 4 * KiB + 1)
  t.equal(inflateChunkBytes(deflateSync('says nothing'), 'deflate', 1024 * KiB), 4 * KiB + 1)
})

t.test('content encodings', async t => {
  const f = (header: string, expected: string | null) => t.equal(encodingOf(header), expected, header)
  f('', 'identity')
  f('identity', 'identity')
  f('gzip', 'gzip')
  f(' GZIP ', 'gzip')
  f('x-gzip', 'gzip')
  f('Deflate', 'deflate')
  f('br', null)
  f('gzip, gzip', null)
})
