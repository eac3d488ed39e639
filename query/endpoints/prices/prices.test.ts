// The price endpoints over a real control bucket.
import t from 'tap'
import { openControlView } from '#control/view.ts'
import { createTenant, eventually, silentLog } from '#test/rig.ts'
import { type Answer, startNode } from '../../fixture.ts'

const node = await startNode(t)
const [a, b] = [await createTenant(node.buckets), await createTenant(node.buckets)]
const ask = (method: string, path: string, body?: unknown, apiKey = a.apiKey): Promise<Answer> =>
  node.ask(method, `/dashboard/api/${path}`, {
    ...(body === undefined ? {} : { body }),
    headers: { 'x-api-key': apiKey },
  })

t.test('the list, and what an organization says', async t => {
  const before = await ask('GET', 'prices')
  t.equal(before.status, 200)
  t.match(before.body, { overrides: [], updated_at: null, updated_by: null })
  t.ok(before.body.entries.length > 100)
  t.match(before.body.entries[0], { model: String, provider: String, version: String, source: String })

  const overrides = [{ model: 'gpt-4o', prices: { input: 1, output: 2 }, note: 'our contract' }]
  const put = await ask('PUT', 'prices', { overrides })
  t.match(put, { status: 200, body: { overrides, updated_by: 'api-key', updated_at: /^20/ } })
  t.notOk('entries' in put.body)
  t.match((await ask('GET', 'prices')).body, { overrides })
  t.match((await ask('GET', 'prices', undefined, b.apiKey)).body, { overrides: [] }, 'another organization')

  const view = await openControlView(node.buckets.control, silentLog)
  t.teardown(() => view.close())
  const record = view.reading(a.organization)
  t.match(record, { prices: overrides, rules: [] })
  t.match(view.readingOf(a.organization, record?.hash ?? ''), { prices: overrides, rules: [] })

  const byToken = await node.ask('PUT', '/dashboard/api/prices', {
    body: { overrides: [] },
    headers: { authorization: `Bearer ${a.bearer}` },
  })
  t.match(byToken, { status: 200, body: { overrides: [], updated_by: a.owner.id } })
  await eventually('the change', () => view.reading(a.organization)?.prices.length === 0)
})

t.test('what is wrong with prices is said with its field', async t => {
  const f = async (overrides: unknown, error: RegExp): Promise<void> =>
    void t.match(await ask('PUT', 'prices', { overrides }), { status: 400, body: { error } }, String(error))
  await f(undefined, /overrides is required/)
  await f([{ prices: { input: 1 } }], /overrides\.0\.model is required/)
  await f([{ model: 'm', prices: { input: -1 } }], /overrides\.0\.prices\.input/)
  await f([{ model: 'm', prices: { input: '1' } }], /overrides\.0\.prices\.input must be of type number/)
  await f([{ model: 'm', prices: {} }], /overrides\.0\.prices must have input or output/)
  await f([{ model: 'm', prices: { input: 1 }, tiers: [{ above: 0, prices: {} }] }], /overrides\.0\.tiers\.0\.above/)
  await f(
    [{ model: 'm', prices: { input: 1 }, services: { batch: 'half' } }],
    /services\.batch must be a factor or prices/,
  )
  const twice = [
    { model: 'm.1', prices: { input: 1 } },
    { model: 'M-1', prices: { input: 2 } },
  ]
  await f(twice, /m-1 of any provider has two prices/)
  await f(
    Array.from({ length: 201 }, (_, i) => ({ model: `m${i}`, prices: { input: 1 } })),
    /overrides/,
  )
  t.match((await ask('GET', 'prices')).body, { overrides: [] }, 'nothing was saved')
})

t.test('a call is quoted before anything is saved', async t => {
  const call = { model: 'openai/gpt-4o-2024-11-20', input_tokens: 1000, output_tokens: 100, cache_read_tokens: 800 }
  t.strictSame((await ask('POST', 'prices/quote', call)).body, {
    cost: '0.0025',
    why: null,
    price: {
      ...{ model: 'gpt-4o', provider: 'openai', version: '2026-01', above: 0, service: '' },
      lines: [
        { kind: 'input', tokens: 200, price: 2.5, cost: '0.0005' },
        { kind: 'cache_read', tokens: 800, price: 1.25, cost: '0.001' },
        { kind: 'output', tokens: 100, price: 10, cost: '0.001' },
      ],
    },
  })
  const overrides = [{ model: 'gpt-4o', prices: { input: 1, output: 1 } }]
  t.match((await ask('POST', 'prices/quote', { ...call, overrides })).body, {
    cost: '0.0011',
    price: { version: 'organization' },
  })
  await ask('PUT', 'prices', { overrides })
  t.match((await ask('POST', 'prices/quote', call)).body, { cost: '0.0011' })
  t.match((await ask('POST', 'prices/quote', call, b.apiKey)).body, { cost: '0.0025' })
  const none = { cost: null, price: null }
  t.strictSame((await ask('POST', 'prices/quote', { ...call, model: 'gpt-99' })).body, {
    ...none,
    why: 'unknown_model',
  })
  t.strictSame((await ask('POST', 'prices/quote', { ...call, model: 'o1', service: 'priority' })).body, {
    ...none,
    why: 'unknown_service',
  })
  t.match(await ask('POST', 'prices/quote', { model: 'gpt-4o' }), { status: 400, body: { error: /input_tokens/ } })
})
