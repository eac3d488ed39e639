// What published clients send, and what people see of it in a real instance: texts of the product's own SDKs, what they are found by and
// how they were sent; the last question of a whole history, a tool that says itself that it failed, and metadata in the quotes of JSON.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { eventually, startSystem } from '#test/rig.ts'

t.setTimeout(180_000)
const RECORDED = join(import.meta.dirname, '../processors/parsers/otlp/recorded/fixtures')
const system = await startSystem(t, {
  env: { PARLEY_QUERY_CHECK_RESPONSES: 'on', PARLEY_IDS: 'map', PARLEY_UNKNOWN_SESSION: 'create' },
})
const { organization, apiKey, baseUrl, queryUrl } = system

async function send(
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  header: Record<string, string>,
): Promise<void> {
  const response = await fetch(`${baseUrl}${path}`, { method: 'POST', headers: header, body })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status} ${text}`)
}

const sendEvent = (body: object): Promise<void> =>
  send('/api/v1/capture-event', JSON.stringify(body), { 'x-org-id': organization, 'content-type': 'application/json' })

const sendRecording = (name: string): Promise<void> =>
  send('/v1/traces', new Uint8Array(readFileSync(join(RECORDED, name, 'traces.bin'))), {
    'x-service-org-id': organization,
    'content-type': 'application/x-protobuf',
  })

// Answers are looked at by matching.
// oxlint-disable-next-line typescript/no-explicit-any
async function ask(path: string, body: object): Promise<any> {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  const options = { method: 'POST', headers, body: JSON.stringify(body) }
  return (await fetch(`${queryUrl}/dashboard/api/${path}`, options)).json()
}

interface Row {
  readonly event_id: string
  readonly input: string | null
  readonly output: string | null
}

async function found(body: object, count: number): Promise<Row[]> {
  return eventually(`${count} events of ${JSON.stringify(body)}`, async () => {
    const { events } = (await ask('raw-logs', { time_range: 'all', ...body })) as { events: Row[] }
    if (events.length !== count) throw new Error(JSON.stringify(events).slice(0, 2000))
    return events
  })
}

t.test("texts of the product's own SDKs", async t => {
  const usual = {
    primitive_type: '',
    primitive_name: 'weather-agent',
    latency: 0,
    success: true,
    metadata: { event_type: '' },
  }
  const sent = [
    { args: '"Hello! Gr\\u00fc\\u00dfe \\ud83d\\ude00"', result: '"She said \\"ok\\"\\n"' },
    { args: '{"input":"Hello! Grüße 😀"}', result: '{"output":"She said \\"ok\\"\\n"}' },
  ]
  for (const [i, texts] of sent.entries())
    await sendEvent({ ...usual, ...texts, session_id: `conv_${i}`, event_id: randomUUID() })
  const rows = await found({ search_query: 'grüße' }, 2)
  for (const row of rows) {
    t.match(row, { input: 'Hello! Grüße 😀', output: 'She said "ok"\n' })
    const raw = await ask('event-io', { event_id: row.event_id, raw: true })
    const as = sent.find(({ args }) => args === raw.input)
    t.ok(as, raw.input)
    t.match(raw, {
      ...{ input: as?.args, output: as?.result },
      ...{ input_bytes: Buffer.byteLength(as?.args ?? ''), output_bytes: Buffer.byteLength(as?.result ?? '') },
    })
    const shown = await ask('event-io', { event_id: row.event_id })
    t.match(shown, { input: 'Hello! Grüße 😀', input_bytes: Buffer.byteLength('Hello! Grüße 😀') })
  }
  t.not(rows[0]?.event_id, rows[1]?.event_id)
  const { conversations } = await ask('user-stories', { time_range: 'all' })
  t.match(JSON.stringify(conversations), 'Hello! Grüße')
  t.notMatch(JSON.stringify(conversations), 'u00fc')
})

t.test('a whole history, and a tool that says that it failed', async t => {
  await sendRecording('openinference-langgraph-history')
  const [turn] = await found({ agent_name: 'weather-agent', search_query: 'Paris', success: true }, 1)
  t.match(turn, { input: 'What is the weather in Paris?', output: 'It is 18 °C and sunny in Paris.' })
  const [tool] = await found({ success: false }, 1)
  t.match(tool, { primitive_name: 'get_weather', output: 'The station does not answer' })
})

t.test('metadata in quotes is found by its text', async t => {
  const plan = (value: string) => ({ metadata_filters: [{ key: 'plan', value }] })
  // The other recording's seven events say it without quotes.
  await found(plan('pro'), 7)
  await sendRecording('langfuse-python')
  await found(plan('pro'), 11)
  await found(plan('"pro"'), 0)
  t.pass('by its text alone')
})
