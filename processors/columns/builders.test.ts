// The builders by themselves: 64-bit values against BigInt, bytes that do not depend on what was built before, bounded memory.
import t from 'tap'
import type { SessionRow } from '#proto/rows.ts'
import { sqlMillis, sqlNanos } from '#proto/time.ts'
import { randomOf } from '#runtime/seeded.ts'
import { createEncoder } from '../encoder.ts'
import { Bytes, KEPT_BYTES, KEPT_MOST_BYTES, Unfit, varintBytes, Words, writeVarint } from './column.ts'
import { half, halvesOfDecimal, halvesOfNumber, halvesOfTime } from './halves.ts'
import { MapColumn } from './nested.ts'
import { DictionaryColumn, TextColumn } from './text.ts'

const joined = (): bigint => BigInt.asIntN(64, (BigInt(half.high) << 32n) | BigInt(half.low))

t.test('decimals, numbers and times are the halves that BigInt finds', async t => {
  const random = randomOf(1)
  const wide = (): bigint => (BigInt(random(2 ** 31)) << 33n) | BigInt(random(2 ** 31) * 4 + random(4))
  let wrong = 0
  const expect = (value: bigint): void => {
    if (joined() !== BigInt.asIntN(64, value)) wrong++
  }
  for (const value of [0n, 1n, 2n ** 32n - 1n, 2n ** 32n, 10n ** 10n - 1n, 10n ** 10n, 2n ** 64n - 1n]) {
    halvesOfDecimal(value.toString())
    expect(value)
  }
  for (let i = 0; i < 20_000; i++) {
    const decimal = wide() >> BigInt(random(64))
    halvesOfDecimal(decimal.toString())
    expect(decimal)
    const number = (random(2) ? 1 : -1) * Math.floor(random(2 ** 31) * 2 ** random(22))
    halvesOfNumber(number)
    expect(BigInt(number))
    const at = { ms: random(2 ** 31) * 4000 - 10 ** 12, ns: random(1_000_000) }
    halvesOfTime(sqlNanos(at), 9)
    expect(BigInt(at.ms) * 1_000_000n + BigInt(at.ns))
    halvesOfTime(sqlMillis(at.ms), 3)
    expect(BigInt(at.ms))
  }
  t.equal(wrong, 0)
})

function isUnfit(read: () => void): boolean {
  try {
    read()
    return false
  } catch (error) {
    return error instanceof Unfit
  }
}

t.test('what is no 64-bit value is unfit', async t => {
  const decimals = ['', 'x', '-1', '1.5', ' 1', '18446744073709551616', '9'.repeat(21), '1e3', '１']
  for (const text of decimals)
    t.ok(
      isUnfit(() => halvesOfDecimal(text)),
      `decimal ${text}`,
    )
  const times = [
    '',
    '2026-01-01',
    '2026-01-01 00:00:00.00000000x',
    '2026-13-01 00:00:00.000000000',
    '2026-00-01 00:00:00.000000000',
    '2026-01-01T00:00:00.000000000',
    '+02026-01-01 00:00:00.0000000',
    '9999-01-01 00:00:00.000000000',
  ]
  for (const text of times)
    t.ok(
      isUnfit(() => halvesOfTime(text, 9)),
      `time ${text}`,
    )
})

t.test('a text is written behind its length in UTF-8, whatever its size', async t => {
  for (const unit of ['a', 'é', '漢', '😀', '\ud800']) {
    for (const count of [0, 1, 23, 24, 25, 42, 43, 63, 64, 127, 128, 1365, 5461, 16_383, 16_384, 40_000]) {
      const column = new TextColumn()
      const text = unit.repeat(count)
      column.add(text)
      column.add('end')
      const expected = Buffer.from(text)
      const bytes = new Uint8Array(column.byteLength())
      t.equal(column.write(bytes, 0), bytes.length)
      const length = varintBytes(expected.length)
      const prefix = new Uint8Array(length)
      writeVarint(prefix, 0, expected.length)
      const whole = Buffer.concat([prefix, expected, Buffer.from('\x03end')])
      if (!whole.equals(bytes)) t.fail(`${count} times ${JSON.stringify(unit)}`)
    }
  }
})

t.test('what a map takes back leaves no trace in its rows', async t => {
  const bytesOf = (maps: readonly Record<string, string>[]): string => {
    const column = new MapColumn()
    for (const map of maps) column.add(map)
    const bytes = new Uint8Array(column.byteLength())
    t.equal(column.write(bytes, 0), bytes.length)
    return Buffer.from(bytes).toString('hex')
  }
  const whole = { a: '1', b: '2' }
  t.equal(bytesOf([whole, { '\ud800': 'x', '\ufffd': 'y' }]), bytesOf([whole, { '\ufffd': 'y' }]))
})

t.test('a block does not depend on the blocks before it', async t => {
  const row = (user: string): SessionRow => ({
    organization: '11111111-1111-4111-8111-111111111111',
    conversation_id: '22222222-2222-4222-8222-222222222222',
    session_id: 's',
    source: 'sdk',
    user_id: user,
    user_email: '',
    user_data: { [user]: user },
    metadata: { a: 'b' },
    client_config: '',
    connection_type: user,
    ip: '',
    tools: [user, 'tool'],
    started_at: '2026-01-01 00:00:00.000',
    recording_url: '',
    received_at: '2026-01-01 00:00:00.000',
    retention: 0,
    report: '',
  })
  const origin = {
    origin_partition: 1,
    origin_generation: 2,
    origin_sequence: 3,
    origin_frame: 4,
    origin_index: 5,
  }
  const checksums = (users: readonly string[]): string[] => {
    const encoder = createEncoder()
    for (const user of users) encoder.add('sessions', row(user), origin)
    return encoder.finish().map(block => block.checksum)
  }
  const first = checksums(['ada', 'bob'])
  checksums(['carl', 'x'.repeat(100_000), 'ada'])
  t.strictSame(checksums(['ada', 'bob']), first)
  t.notSame(checksums(['bob', 'ada']), first)
})

t.test('what is kept between two blocks is bounded', async t => {
  const [bytes, words] = [new Bytes(), new Words()]
  bytes.reserve(KEPT_BYTES * 2)
  words.reserve(KEPT_BYTES)
  bytes.clear()
  words.clear()
  t.ok(bytes.data.length <= KEPT_BYTES && words.data.byteLength <= KEPT_BYTES)
  const fill = (length: number): number => {
    bytes.reserve(length)
    bytes.length += length
    bytes.clear()
    return bytes.data.length
  }
  const large = fill(KEPT_BYTES + 1)
  t.ok(large > KEPT_BYTES, 'what a block filled is kept for the next')
  t.equal(fill(KEPT_BYTES), large)
  t.equal(fill(0), large, 'one small block is not the end of large ones')
  for (let i = 0; i < 20; i++) fill(0)
  t.ok(bytes.data.length <= KEPT_BYTES, 'what no block needs any more is let go')
  t.ok(fill(KEPT_MOST_BYTES + 1) <= KEPT_BYTES, 'one huge block is let go at once')
  const dictionary = new DictionaryColumn()
  for (let i = 0; i < 1000; i++) dictionary.add(`w${i}`)
  dictionary.clear()
  dictionary.add('w999')
  t.equal(dictionary.byteLength(), 8 + 8 + 8 + 5 + 8 + 1)
})
