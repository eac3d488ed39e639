// Erasing an end user through the whole system: asked for over HTTP, cut short by a kill, and kept from coming back by late events and
// by a replay. And the scheduled verify.
import { randomUUID } from 'node:crypto'
import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { BLOCKS_STREAM, streamOf } from '#proto/streams.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { shardsOf } from '#store/shards.ts'
import { verify } from '#store/verify/verify.ts'
import { getReplay, isUnderWay, requestReplay, spanOf } from '#streams/replay.ts'
import { readSettled } from '#streams/settled.ts'
import { eventually, silentLog, startPart, startSystem } from '#test/rig.ts'
import { SWEPT_KEY } from './erase/sweep.ts'
import { createVerifier } from './verify.ts'

/** An id that no address takes as it is. */
const ADA = 'ada/löve?lace'
const system = await startSystem(t, { limits: { partitions: 1 } })
const { store, organization, buckets } = system
const { cursors } = buckets
const jsm = await jetstreamManager(system.nc)
const startAnalysis = () =>
  startPart(t, 'analysis/main.ts', {
    NATS_URL: system.nats.url,
    CLICKHOUSE_URL: system.clickhouseUrl,
    PARLEY_DATABASE: system.database,
    PARLEY_SWEEP_SECONDS: '1',
    PARLEY_VERIFY_HOURS: '0',
  })

async function send(path: string, body: object): Promise<number> {
  const response = await fetch(`${system.baseUrl}/api/v1/${path}`, {
    method: 'POST',
    headers: { 'x-org-id': organization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  await response.arrayBuffer()
  return response.status
}

async function talk(user: string, events: number): Promise<{ session: string; event: string }> {
  const session = randomUUID()
  await send('capture-session', { session_id: session, user_data: { user_id: user, city: `city of ${user}` } })
  let event = ''
  for (let i = 0; i < events; i++) {
    event = randomUUID()
    const body = { event_id: event, session_id: session, primitive_name: 'agent', args: `I am ${user}`, result: 'b' }
    await send('capture-event', body)
  }
  return { session, event }
}

async function ask(method: string, path: string, body?: object): Promise<{ status: number; text: string }> {
  const response = await fetch(`${system.queryUrl}/dashboard/api/${path}`, {
    method,
    headers: { 'x-api-key': system.apiKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, text: await response.text() }
}

/** Everything that was sent is stored, and what of it was erased has been swept. */
async function calm(): Promise<void> {
  await eventually('everything to be stored', async () => {
    const { last } = await spanOf(jsm, streamOf(0))
    return (await readSettled(cursors, 1)).get(0) === last
  })
  const { state } = await jsm.streams.info(BLOCKS_STREAM)
  await eventually('the sweep', async () => Number((await cursors.get(SWEPT_KEY))?.string() ?? 0) >= state.last_seq)
}

async function rows(): Promise<string> {
  const [found] = await store.read<{ n: string; users: string[] }>(
    `SELECT sum(sign) AS n, (SELECT arraySort(groupUniqArray(user_id)) FROM sessions) AS users FROM events`,
  )
  return `${found?.n} of ${found?.users.join()}`
}

t.test('an erased user is nowhere, and does not come back', async t => {
  const ada = await talk(ADA, 5)
  const grace = await talk('grace', 3)
  await eventually('the events', async () => (await rows()).startsWith('8 '))
  const path = `users/${encodeURIComponent(ADA)}`
  t.equal((await ask('GET', `${path}/erasure`)).status, 404)
  const first = await startAnalysis()
  t.equal((await ask('DELETE', path)).status, 204)
  first.kill('SIGKILL')
  await first.exited
  const second = await startAnalysis()
  const erasure = async () => JSON.parse((await ask('GET', `${path}/erasure`)).text)
  await eventually('the erasure', async () => (await erasure()).erased_at !== null)
  t.match(await erasure(), { kind: 'user', erased: { events: 5, texts: 5, sessions: 1 }, certified_at: null })
  t.equal((await ask('DELETE', path)).status, 204, 'asked again')
  const { erasures } = JSON.parse((await ask('GET', 'erasures')).text)
  t.equal(erasures.length, 1)
  t.notOk(JSON.stringify(erasures).includes('ada'))

  t.equal(await rows(), '3 of grace')
  const searched = { search_field: 'user_id', search_value: ADA }
  for (const [endpoint, body] of [
    ['raw-logs', {}],
    ['raw-logs', { search: 'I am ada' }],
    ['user-stories', {}],
    ['user-stories', searched],
    ['user-stories/search-options', { ...searched }],
    ['dashboard', {}],
    ['metadata-distribution', { key: 'city' }],
    ['intent-keywords', {}],
    ['conversation-messages', { conversation_id: ada.session }],
    ['event-io', { event_id: ada.event }],
  ] as const) {
    const { text } = await ask('POST', endpoint, body)
    const said = text.replaceAll(ADA, body === searched ? '' : ADA)
    t.notOk(
      said.includes('I am ada') || said.includes(ada.session) || said.includes('city of ada'),
      `${endpoint}: ${said}`,
    )
  }
  t.match((await ask('POST', 'raw-logs/count', {})).text, '"total_count":3')
  t.match((await ask('POST', 'raw-logs', {})).text, grace.session)

  await send('capture-event', {
    event_id: randomUUID(),
    session_id: ada.session,
    primitive_name: 'agent',
    args: 'late',
  })
  await talk(ADA, 2)
  await calm()
  t.equal(await rows(), '3 of grace', 'late events')

  const range = { from: 1, to: (await spanOf(jsm, streamOf(0))).last }
  await requestReplay(cursors, 0, range)
  await eventually('the replay', async () => {
    const found = await getReplay(cursors, 0)
    return found !== null && !isUnderWay(found.record)
  })
  await calm()
  t.equal(await rows(), '3 of grace', 'a replay')
  t.equal((await second.stop()).code, 0)
  const report = await verify(store, { settled: () => readSettled(cursors, 1), lookPauseMs: 50 })
  t.strictSame(report.differences, [])
})

t.test('verify runs when it is due, and its metric says what differs', async t => {
  const metrics = createMetrics('analysis')
  let nowMs = 0
  const options = { cursors, shards: shardsOf([store]), partitions: 1, metrics, log: silentLog, clock: () => nowMs }
  t.equal(await createVerifier({ ...options, everyHours: 0, metrics: createMetrics('none') })(), false)
  const run = createVerifier({ ...options, everyHours: 24 })
  t.equal(await run(), false, 'nothing is due at first')
  nowMs = 23 * 3_600_000
  t.equal(await run(), false)
  await store.command('INSERT INTO events SELECT * FROM events WHERE sign = 1 LIMIT 1')
  nowMs = 25 * 3_600_000
  t.equal(
    await createVerifier({ ...options, everyHours: 24, metrics: createMetrics('short'), isShort: () => true })(),
    false,
  )
  t.equal(await run(), true)
  t.match(await metrics.registry.metrics(), /parley_verify_differences\{check="position",part="analysis"\} 1/)
  t.equal(await run(), false)
})
