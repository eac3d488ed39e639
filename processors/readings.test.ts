// What organizations say about reading: seen by processors, named in recipes, and read again as it was.
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { changeReading } from '#control/readings.ts'
import { type ControlView, openControlView } from '#control/view.ts'
import { loadPrices } from '#pricing/list.ts'
import type { CallTokens } from '#pricing/quote.ts'
import type { Store } from '#store/client.ts'
import { eventually } from '#test/rig.ts'
import { type Bench, createBench, envelopeOf, log, organization, own, poolOf, publish, someEvents } from './fixture.ts'
import type { Cursor } from './protocol.ts'
import { createReadings, openReading, type ReadingSettings, type Readings } from './readings.ts'

const pool = poolOf(t)

const { list } = await loadPrices('')
const tokens: CallTokens = { input: 1_000_000, output: 0 }

/** What a million input tokens of gpt-4o cost an organization by these settings, in dollars. */
function dollars(settings: ReadingSettings, of: string): number | string | undefined {
  const quote = openReading(settings)(of).context.pricing?.quote({ model: 'gpt-4o', provider: 'openai', tokens })
  return typeof quote === 'object' ? quote.costNanos / 1e9 : quote
}

const priced = (bench: Bench, input: number) =>
  changeReading(bench.buckets.control, organization, 'test', reading => ({
    ...reading,
    prices: [{ model: 'gpt-4o', prices: { input, output: 0 } }],
  }))

async function viewed(t: Test, bench: Bench): Promise<{ control: ControlView; readings: Readings }> {
  const control = await openControlView(bench.buckets.control, log)
  t.teardown(() => control.close())
  return { control, readings: createReadings(list, control) }
}

t.test('the present settings follow the records; those of a recipe stay what they were', async t => {
  const bench = await createBench(t, { pool })
  const { control, readings } = await viewed(t, bench)
  const plain = readings.now()
  t.equal(dollars(plain, organization), 2.5)
  t.equal(readings.now(), plain, 'the same until something changes')
  t.equal(readings.as(undefined), plain)

  const first = await priced(bench, 10)
  await eventually('the first prices', () => dollars(readings.now(), organization) === 10)
  t.equal(dollars(readings.now(), randomUUID()), 2.5, 'others pay what the list says')
  t.equal(dollars(readings.as(undefined), organization), 2.5, 'a recipe from before names nothing')

  const second = await priced(bench, 20)
  await eventually('the second prices', () => dollars(readings.now(), organization) === 20)
  t.equal(dollars(readings.as({ [organization]: first.hash }), organization), 10)
  t.equal(readings.as({ [organization]: second.hash }), readings.now())

  for (let i = 0; i < 9; i++) await priced(bench, 30 + i)
  await eventually('the first copy to be gone', () => control.readingOf(organization, first.hash) === undefined)
  await eventually('the last prices', () => dollars(readings.now(), organization) === 38)
  t.equal(
    dollars(readings.as({ [organization]: first.hash }), organization),
    38,
    'what is no longer kept is as it is now',
  )
})

t.test('changes made at the same time are all kept', async t => {
  const bench = await createBench(t, { pool })
  const { control } = bench.buckets
  await Promise.all(
    Array.from({ length: 6 }, (_, i) =>
      changeReading(control, organization, 'test', reading => ({
        ...reading,
        prices: [...reading.prices, { model: `m${i}`, prices: { input: i } }],
      })),
    ),
  )
  const { control: view } = await viewed(t, bench)
  const models = view.reading(organization)?.prices.map(price => price.model)
  t.strictSame(models?.sort(), ['m0', 'm1', 'm2', 'm3', 'm4', 'm5'])
  await t.rejects(
    changeReading(control, organization, 'test', reading => ({
      ...reading,
      prices: [{ model: 'm', prices: {}, aliases: Array.from({ length: 70_000 }, () => 'a') }],
    })),
    { code: 'REQ_BODY_INVALID' },
  )
})

/** A store that never answers an insert, and never gets it. */
function silent(store: Store): Store {
  const client = new Proxy(store.client, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key)
      if (typeof value !== 'function') return value
      const call = value.bind(target) as (options: { query: string; abort_signal: AbortSignal }) => unknown
      if (key !== 'exec') return call
      return (options: { query: string; abort_signal: AbortSignal }) =>
        options.query.startsWith('INSERT INTO')
          ? new Promise((_, reject) =>
              options.abort_signal.addEventListener('abort', () => reject(new Error('aborted'))),
            )
          : call(options)
    },
  })
  return { ...store, client }
}

t.test('prices that change while a range is on its way do not change its rows', async t => {
  const bench = await createBench(t, { pool })
  const { readings } = await viewed(t, bench)
  const metadata = { model: 'gpt-4o', input_tokens: '1000000', output_tokens: '0' }
  const events = someEvents(4).map(event => ({ ...event, metadata }))
  const cursor = async (): Promise<Cursor | undefined> =>
    (await bench.buckets.cursors.get('partition.0'))?.json<Cursor>()
  const costs = async (): Promise<unknown> =>
    bench.db.store.read(
      'SELECT toUInt32(cost_nanos / 1e9) AS cost, sum(sign) AS n FROM events GROUP BY cost ORDER BY cost',
    )

  const { hash } = await priced(bench, 10)
  await eventually('the first prices', () => dollars(readings.now(), organization) === 10)
  const first = await own(t, bench, { readings, store: silent(bench.db.store) })
  await publish(bench, envelopeOf(events))
  await eventually('an intent', async () => (await cursor())?.intents.length === 1)
  t.match((await cursor())?.intents[0]?.readings, { [organization]: hash })
  await first.crash()
  await priced(bench, 20)
  await eventually('the second prices', () => dollars(readings.now(), organization) === 20)

  const second = await own(t, bench, { readings })
  await eventually('the floor', async () => (await cursor())?.floor === 1)
  t.strictSame(await costs(), [{ cost: 10, n: '4' }])
  t.match(await cursor(), { generation: 1 }, 'the recipe was reproduced')
  await publish(bench, envelopeOf(someEvents(2).map(event => ({ ...event, metadata }))))
  await eventually('the next range', async () => (await cursor())?.floor === 2)
  t.strictSame(await costs(), [
    { cost: 10, n: '4' },
    { cost: 20, n: '2' },
  ])
  await second.stop()
})
