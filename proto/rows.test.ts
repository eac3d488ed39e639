import t from 'tap'
import { latencyBucket, latencyOfBucket } from '#proto/rows.ts'

t.test('a latency bucket is at most 1.6 % off in its middle and grows with the duration', async t => {
  let before = -1
  for (let micros = 0; micros < 1e13; micros = Math.max(micros + 1, Math.floor(micros * 1.003))) {
    const bucket = latencyBucket(micros * 1000 + 999)
    if (bucket < before) t.fail(`bucket fell at ${micros} µs`)
    before = bucket
    const error = Math.abs(latencyOfBucket(bucket) * 1000 - micros)
    if (micros >= 64 ? error / micros > 0.016 : error !== 0)
      t.fail(`${micros} µs is shown as ${latencyOfBucket(bucket)} ms`)
  }
  t.ok(before > 900)
})

t.test('buckets have no gaps where octaves meet', async t => {
  for (const micros of [63, 64, 127, 128, 4095, 4096]) {
    const step = latencyBucket(micros * 1000) - latencyBucket((micros - 1) * 1000)
    t.ok(step === 0 || step === 1, `at ${micros} µs`)
  }
})

t.test('an unknown duration has no bucket and the largest fits 16 bits', async t => {
  t.equal(latencyBucket(-1), -1)
  t.ok(latencyBucket(Number.MAX_SAFE_INTEGER) < 32_767)
})
