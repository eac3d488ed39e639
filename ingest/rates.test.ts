import t from 'tap'
import { createRates } from '#ingest/rates.ts'

t.test('without a limit there is nothing to ask', async t => {
  t.equal(createRates({ requestsPerSecond: 0, bytesPerSecond: 0 }), null)
})

t.test('a second of requests passes, more are told when to come back, and each organization has its own', async t => {
  let ms = 0
  const rates = createRates({ requestsPerSecond: 10, bytesPerSecond: 0, now: () => ms })
  const passed = (organization: string, tries: number): number =>
    Array.from({ length: tries }, () => rates?.request(organization)).filter(refusal => refusal === null).length
  t.equal(passed('a', 15), 10)
  t.equal(passed('b', 15), 10)
  t.strictSame(rates?.request('a'), { retryAfterS: 1, policy: '"requests";q=10;w=1', limit: '"requests";r=0;t=1' })
  ms = 500
  t.equal(passed('a', 15), 5)
  ms = 60_000
  t.equal(passed('a', 15), 10, 'what was not used is not saved up')
})

t.test('bytes are charged when they are there; a large body is paid off before the next one passes', async t => {
  let ms = 0
  const rates = createRates({ requestsPerSecond: 0, bytesPerSecond: 1_000, now: () => ms })
  t.equal(rates?.request('a'), null)
  rates?.body('a', 5_000)
  t.match(rates?.request('a'), { retryAfterS: 5, limit: '"bytes";r=0;t=5' })
  ms = 4_100
  t.equal(rates?.request('a'), null)
  t.equal(rates?.request('b'), null)
})

t.test('the memory is bounded', async t => {
  const rates = createRates({ requestsPerSecond: 1, bytesPerSecond: 0, now: () => 0 })
  t.equal(rates?.request('first'), null)
  t.not(rates?.request('first'), null)
  for (let n = 0; n < 10_000; n++) rates?.request(`${n}`)
  t.equal(rates?.request('first'), null, 'forgotten')
})
