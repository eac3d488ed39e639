// Tools, failures and exports against the data set whose totals are known by heart.
import t from 'tap'
import { latencyBucket, latencyOfBucket } from '#proto/rows.ts'
import { id, insertEvents, storedEvent } from '../../fixture.ts'
import { CHAT, LONG_INPUT, startDataNode, TRACE } from '../../fixture-data.ts'
import { seriesOf } from '../../series.ts'
import { windowOf } from '../../window.ts'

const node = await startDataNode(t)
const { post, a, b } = node
const bucketMs = (ms: number): number => latencyOfBucket(latencyBucket(ms * 1_000_000))

t.test('every tool has its calls, failures, latencies and people', async t => {
  const { body } = await post('tool-stats')
  t.strictSame(
    body.map((tool: { tool_name: string; primitive_type: string }) => [tool.tool_name, tool.primitive_type]),
    [
      ['find_order', 'tool'],
      ['ping', 'tool'],
      ['pong', 'tool'],
      ['prompt_x', 'prompt'],
      ['resource_x', 'resource'],
      ['tool_x', 'tool'],
    ],
  )
  t.strictSame(body[0], {
    tool_name: 'find_order',
    primitive_type: 'tool',
    calls: 1,
    success_count: 0,
    error_count: 1,
    success_rate: 0,
    error_rate: 1,
    avg_latency: 200.5,
    p50_latency: Math.min(bucketMs(200.5), 200.5),
    p95_latency: Math.min(bucketMs(200.5), 200.5),
    p99_latency: Math.min(bucketMs(200.5), 200.5),
    max_latency: 200.5,
    conversations: 1,
    users: 1,
    last_called_at: '2026-06-15T11:58:00.500Z',
  })
  t.match(body[5], { users: 0, conversations: 1, success_rate: 1 }, 'nobody knows who called')
})

t.test('an agent has the tools that were called below its turns', async t => {
  const names = async (agent_name: string | string[]) =>
    (await post('tool-stats', { agent_name })).body.map((tool: { tool_name: string }) => tool.tool_name)
  t.strictSame(await names('support'), ['find_order'])
  t.strictSame(await names('planner'), [])
  t.strictSame(await names('nobody'), [])
  const below = (n: number, parent: number, kind: 'agent' | 'tool' | 'llm', name: string) =>
    storedEvent({
      ...{ organization: b.organization, conversation_id: CHAT, event_id: id(n), parent_id: id(parent), kind, name },
      at: '2026-06-15T11:00:00.000Z',
    })
  // boss > helper > model call > deep; two calls that are each other's parents.
  await insertEvents(node.db.store, [
    below(700, 0, 'agent', 'boss'),
    below(701, 700, 'agent', 'helper'),
    below(702, 701, 'llm', 'chat'),
    below(703, 702, 'tool', 'deep'),
    below(704, 705, 'tool', 'round'),
    below(705, 704, 'tool', 'about'),
  ])
  const of = async (agent_name: string) => {
    const { body } = await post('tool-stats', { agent_name }, b.apiKey)
    return body.map((tool: { tool_name: string; calls: number }) => [tool.tool_name, tool.calls])
  }
  t.strictSame(await of('boss'), [['deep', 1]])
  t.strictSame(await of('helper'), [['deep', 1]])
})

t.test('the series of a tool has every bucket, and adds up', async t => {
  const { body } = await post('tool-time-series', { time_range: '1h' })
  t.equal(body.bucket_seconds, 60)
  t.equal(body.series.length, 1)
  const [{ tool_name, points }] = body.series
  t.equal(tool_name, 'find_order')
  t.equal(points.length, 61)
  t.strictSame(
    points.filter((point: { calls: number }) => point.calls > 0),
    [
      {
        timestamp: '2026-06-15T11:58:00.000Z',
        calls: 1,
        errors: 1,
        avg_latency: 200.5,
        p95_latency: bucketMs(200.5),
      },
    ],
  )
  t.match(points[0], { calls: 0, errors: 0, avg_latency: null, p95_latency: null })
  const f = async (time_range: string, seconds: number, length: number): Promise<void> => {
    const { body } = await post('tool-time-series', { time_range })
    t.equal(body.bucket_seconds, seconds, time_range)
    t.equal(body.series[0].points.length, length, time_range)
  }
  await f('1d', 1800, 49)
  await f('1w', 21_600, 29)
  await f('1m', 86_400, 31)
  await f('all', 86_400, 21)
  const now = Date.parse('2026-06-15T12:00:00Z')
  const lately = seriesOf(windowOf({ time_range: 'all' }, now), now, now - 60_000)
  t.match(lately, { seconds: 86_400, buckets: { length: 1 } }, 'all of a minute is told by days')
})

t.test('tools beyond the twentieth are one series', async t => {
  const calls = Array.from({ length: 23 }, (_, i) =>
    storedEvent({
      ...{ organization: b.organization, conversation_id: CHAT, event_id: id(600 + i), kind: 'tool' },
      name: `t${String(i).padStart(2, '0')}`,
      at: '2026-06-15T11:59:50.000Z',
    }),
  )
  await insertEvents(node.db.store, calls)
  const { series } = (await post('tool-time-series', { time_range: '1min' }, b.apiKey)).body
  t.equal(series.length, 21)
  t.equal(series[20].tool_name, 'other')
  const sum = series[20].points.reduce((total: number, point: { calls: number }) => total + point.calls, 0)
  t.equal(sum, 3)
})

t.test('failures of tools by what they say, and marks of their calls', async t => {
  t.strictSame((await post('tool-error-distribution')).body, {
    total_errors: 2,
    tools: [
      {
        tool_name: 'find_order',
        error_count: 1,
        people: 1,
        share: 0.5,
        errors: [
          {
            error_type: 'Timeout',
            message: 'too slow',
            count: 1,
            people: 1,
            last_seen_at: '2026-06-15T11:58:00.500Z',
            sample_event_id: id(2),
            sample_conversation_id: CHAT,
            sample_session_id: CHAT,
          },
        ],
      },
      {
        tool_name: 'pong',
        error_count: 1,
        people: 1,
        share: 0.5,
        errors: [
          {
            error_type: '',
            message: '',
            count: 1,
            people: 1,
            last_seen_at: '2026-06-14T20:00:03.000Z',
            sample_event_id: id(34),
            sample_conversation_id: TRACE,
            sample_session_id: 'my-session',
          },
        ],
      },
    ],
  })
  const db = { name: 'db', count: 1, avg_ms: 12.5, p50_ms: 12.5, p95_ms: 12.5, max_ms: 12.5, avg_delta_ms: 12.5 }
  t.strictSame((await post('tool-checkpoint-stats')).body, [{ tool_name: 'find_order', checkpoints: [db] }])
})

t.test('marks stand in the order in which they are passed, with the time since the one before', async t => {
  const marks = [
    [
      ['end', 30],
      ['start', 10],
    ],
    [
      ['start', 20],
      ['end', 60],
    ],
  ]
  await insertEvents(
    node.db.store,
    marks.map((entries, i) =>
      storedEvent({
        ...{ organization: b.organization, conversation_id: CHAT, event_id: id(650 + i), kind: 'tool', name: 'm' },
        checkpoints: JSON.stringify(entries.map(([name, timestamp]) => ({ name, timestamp, metadata: {} }))),
        at: '2026-06-15T10:00:00.000Z',
      }),
    ),
  )
  const { body } = await post('tool-checkpoint-stats', {}, b.apiKey)
  const mark = (name: string, avg_ms: number, p50_ms: number, p95_ms: number, avg_delta_ms: number) => ({
    ...{ name, count: 2, avg_ms, p50_ms, p95_ms, max_ms: p95_ms, avg_delta_ms },
  })
  t.strictSame(body, [{ tool_name: 'm', checkpoints: [mark('start', 15, 10, 20, 15), mark('end', 45, 30, 60, 30)] }])
})

t.test('the tools page is its parts', async t => {
  const { body } = await post('tools-dashboard')
  t.strictSame(body, {
    tool_stats: (await post('tool-stats')).body,
    time_series: (await post('tool-time-series')).body,
    charts: [],
    partial_data: false,
  })
})

t.test('failed events are listed with type, message and severity', async t => {
  const { body } = await post('errors', { page_size: 1 })
  t.match(body, { page: 1, page_size: 1, total_pages: 2, has_more: true })
  t.match(body.errors, [
    { event_id: id(2), error_type: 'Timeout', error_message: 'too slow', severity: 'error', success: false },
  ])
  const next = (await post('errors', { page_size: 1, cursor: body.next_cursor })).body
  t.match(next, { errors: [{ event_id: id(34) }], has_more: false, next_cursor: null })
  await insertEvents(node.db.store, [
    storedEvent({
      ...{ organization: b.organization, conversation_id: CHAT, event_id: id(680), failed: 1 },
      output: `${'x'.repeat(2047)}€`,
      at: '2026-06-15T09:00:00.000Z',
    }),
    storedEvent({
      ...{ organization: b.organization, conversation_id: CHAT, event_id: id(681), failed: 1, kind: 'prompt' },
      error_message: 'e',
      at: '2026-06-15T08:00:00.000Z',
    }),
  ])
  const { errors } = (await post('errors', {}, b.apiKey)).body
  t.match(errors, [
    { event_id: id(680), severity: 'critical', error_message: 'x'.repeat(2047) },
    { event_id: id(681), severity: 'warning', error_message: 'e' },
  ])
})

t.test('what fails alike is one group, with the people who met it', async t => {
  const failure = (n: number, conversation_id: string, error_message: string) =>
    storedEvent({
      ...{ organization: b.organization, conversation_id, event_id: id(n), failed: 1, error_type: 'E', error_message },
      at: `2026-06-15T07:00:0${n % 10}.000Z`,
    })
  await insertEvents(node.db.store, [
    failure(691, CHAT, 'order 17 of 0a1b2c3d-0000-4000-8000-00000000000f failed'),
    failure(692, id(690), 'order 4 of 0A1B2C3D-0000-4000-8000-000000000010 failed'),
  ])
  const { groups } = (await post('errors/groups', { from: '2026-06-15T07:00', to: '2026-06-15T07:01' }, b.apiKey)).body
  t.strictSame(groups, [
    {
      error_type: 'E',
      message: 'order <n> of <id> failed',
      count: 2,
      people: 1,
      last_seen_at: '2026-06-15T07:00:02.000Z',
      sample_event_id: id(692),
      sample_conversation_id: id(690),
      sample_session_id: id(690),
      primitive_names: ['support'],
      conversations: 2,
      first_seen_at: '2026-06-15T07:00:01.000Z',
    },
  ])
})

/** Lines of a CSV answer. */
async function csv(path: string, body: object = {}, key = a.apiKey): Promise<string[]> {
  const answer = await node.ask('POST', `/dashboard/api/${path}`, { body, headers: { 'x-api-key': key } })
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8')
  t.match(answer.headers.get('content-disposition'), /^attachment/)
  const lines = String(answer.body).split('\r\n')
  t.equal(lines.pop(), '', 'the last line ends as well')
  return lines
}

t.test('exports hold every row of their lists', async t => {
  const logs = await csv('raw-logs/export', { page: 9, page_size: 1, time_range: '1h' })
  t.strictSame(logs, [
    'event_id,session_id,timestamp,user_id,primitive_type,primitive_name,success,latency,input,output,parent_id,metadata,conversation_id,kind,model,input_tokens,output_tokens,cost',
    `${id(3)},${CHAT},2026-06-15T11:59:30.000Z,ada,,billing,true,,,,,{},${CHAT},agent,,,,`,
    `${id(2)},${CHAT},2026-06-15T11:58:00.500Z,ada,tool,find_order,false,200.5,${LONG_INPUT.slice(0, 65_535)},,${id(1)},"{""event_type"":""tool_call""}",${CHAT},tool,,,,`,
    `${id(1)},${CHAT},2026-06-15T11:58:00.000Z,ada,,support,true,800,Where is my Order?,On its way.,,"{""topic"":""delivery"",""event_type"":""turn""}",${CHAT},agent,,,,`,
  ])
  t.equal((await csv('raw-logs/export', { time_range: 'all' })).length, 17)
  const without = await csv('raw-logs/export', { event_id: id(1), exclude_io: true })
  t.match(without[1], /,support,true,800,,,,/)
  t.equal(without.length, 2)
  const errors = await csv('errors/export')
  t.strictSame(
    errors.map(line => line.slice(0, 36)),
    ['event_id,session_id,timestamp,user_i', id(2), id(34)],
  )
  t.match(errors[1], /,find_order,Timeout,too slow,200\.5,x/)
  t.equal((await csv('errors/export', { agent_name: 'nobody' })).length, 1, 'the header alone')
})

t.test('what a spreadsheet would evaluate is text', async t => {
  const formulas = ['=1+1', '+1', '-1', '@x', '\t=1', 'a=1', 'say "hi",\nnow']
  await insertEvents(
    node.db.store,
    formulas.map((input, i) =>
      storedEvent({
        ...{ organization: b.organization, conversation_id: id(670), event_id: id(670 + i), name: 'calc' },
        input,
        at: `2026-06-13T00:00:0${9 - i}.000Z`,
      }),
    ),
  )
  const body = { conversation_id: id(670) }
  const answer = await node.ask('POST', '/dashboard/api/raw-logs/export', { body, headers: { 'x-api-key': b.apiKey } })
  const cells = [...String(answer.body).matchAll(/calc,true,,(.*?),,,\{\},/gs)].map(match => match[1])
  t.strictSame(cells, ["'=1+1", "'+1", "'-1", "'@x", "'\t=1", 'a=1', '"say ""hi"",\nnow"'])
})

t.test('an export of several slices has every row once, newest first', async t => {
  await node.db.store.command(`
    INSERT INTO events (organization, conversation_id, event_id, ts, kind, source, name, version, sign)
    SELECT '${b.organization}', '${id(660)}', reinterpretAsUUID(sipHash128(number)),
      toDateTime64('2026-06-12 00:00:00', 9, 'UTC') + toIntervalMillisecond(intDiv(number, 3)), 'agent', 'sdk', 'many', 1, 1
    FROM numbers(4500)`)
  const [, ...rows] = await csv('raw-logs/export', { agent_name: 'many' }, b.apiKey)
  t.equal(new Set(rows.map(row => row.slice(0, 36))).size, 4500)
  const keys = rows.map(row => [row.split(',')[2], row.slice(0, 36)] as [string, string])
  const sorted = [...keys].sort(([at, id], [otherAt, otherId]) =>
    at === otherAt ? (id < otherId ? -1 : 1) : at > otherAt ? -1 : 1,
  )
  t.strictSame(keys, sorted)
})

t.test('a request that fails before the first row is an error answer', async t => {
  t.match(await post('raw-logs/export', { page: 0 }), { status: 400, body: { field: 'page' } })
  t.equal((await post('raw-logs/export', {}, 'parley_none')).status, 401)
})

t.test('tools and failures are the same once the store has folded the corrections', async t => {
  const all = async () =>
    Promise.all(
      ['tool-stats', 'tool-error-distribution', 'errors', 'errors/groups', 'raw-logs/export'].map(path =>
        post(path, { time_range: 'all' }),
      ),
    ).then(answers => answers.map(answer => answer.body))
  const before = await all()
  await node.fold()
  t.strictSame(await all(), before)
})
