// From the socket to the dashboard: everything a new user sends is read back, through real processes and real engines.
import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { post } from '#test/http.ts'
import { eventually, startSystem } from '#test/rig.ts'

interface LogPage {
  events: Record<string, unknown>[]
  has_more: boolean
}

t.test('a session, events, a voice report and a trace are read back over the dashboard API', async t => {
  const system = await startSystem(t)
  const org = { 'x-org-id': system.organization }
  const key = { 'x-api-key': system.apiKey }
  const dashboard = <T>(path: string, body: unknown) => post<T>(`${system.baseUrl}/dashboard/api/${path}`, body, key)

  const session_id = randomUUID()
  const event_id = randomUUID()
  const tool_id = randomUUID()
  const callId = randomUUID()
  const startedAtMs = Date.now() - 60_000

  await t.test('everything is answered with 200', async t => {
    const session = await post(
      `${system.baseUrl}/api/v1/capture-session`,
      {
        session_id,
        user_data: { user_id: 'ada', email: 'ada@example.com', plan: 'pro' },
        metadata: { channel: 'web' },
      },
      org,
    )
    t.equal(session.status, 200)
    t.strictSame(session.body, { session_id })
    const turn = await post(
      `${system.baseUrl}/api/v1/capture-event`,
      {
        event_id,
        session_id,
        primitive_name: 'support',
        args: 'Where is my order?',
        result: 'On its way.',
        latency: 812,
      },
      org,
    )
    t.equal(turn.status, 200)
    t.strictSame(turn.body, { event_id })
    const tool = await post(
      `${system.baseUrl}/api/v1/capture-event`,
      {
        event_id: tool_id,
        session_id,
        parent_id: event_id,
        primitive_type: 'tool',
        primitive_name: 'lookup_order',
        args: '{"id":1}',
        result: 'boom',
        success: false,
        latency: 12.5,
      },
      org,
    )
    t.strictSame(tool.body, { success: true, event_id: tool_id })
    const voice = await post<{ event_count: number }>(
      `${system.baseUrl}/api/voice/v1/webhooks/voice-platform`,
      {
        message: {
          type: 'end-of-call-report',
          call: { id: callId, customer: { number: '+15550001' } },
          startedAt: new Date(startedAtMs).toISOString(),
          endedAt: new Date(startedAtMs + 30_000).toISOString(),
          cost: 0.12,
          transcript: 'AI: Hello\nUser: Hi, is it open today?\nAI: Yes, until six.\n',
        },
      },
      org,
    )
    t.equal(voice.status, 200)
    t.match(voice.body, { status: 'accepted', session_id: callId, user_id: '+15550001' })
    t.ok(voice.body.event_count >= 1)
  })

  const traceId = '5b8efff798038103d269b633813fc60c'
  await t.test('a gzipped JSON trace is answered with an empty export response', async t => {
    const trace = {
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
          scopeSpans: [
            {
              scope: { name: 'test' },
              spans: [
                {
                  traceId,
                  spanId: 'eee19b7ec3c1b174',
                  name: 'invoke_agent planner',
                  startTimeUnixNano: `${startedAtMs}000001`,
                  endTimeUnixNano: `${startedAtMs + 5}000002`,
                  attributes: [
                    { key: 'service.session_id', value: { stringValue: 'my-session' } },
                    { key: 'service.user_id', value: { stringValue: 'grace' } },
                    { key: 'input', value: { stringValue: 'plan a trip' } },
                    { key: 'output', value: { stringValue: 'done' } },
                  ],
                },
              ],
            },
          ],
        },
      ],
    }
    const answer = await post(`${system.otelUrl}/v1/traces`, gzipSync(JSON.stringify(trace)), {
      'x-service-org-id': system.organization,
      'content-encoding': 'gzip',
    })
    t.equal(answer.status, 200)
    t.strictSame(answer.body, {})
  })

  await t.test('the conversation lists its turn and its tool call, oldest first', async t => {
    const found = await eventually('both events of the session', async () => {
      const answer = await dashboard<{ messages: Record<string, unknown>[] }>('conversation-messages', {
        conversation_id: session_id,
      })
      return answer.status === 200 && answer.body.messages.length === 2 ? answer.body : undefined
    })
    t.match(found, {
      conversation_id: session_id,
      user_id: 'ada',
      user_data: { plan: 'pro' },
      metadata: { channel: 'web' },
    })
    const turn = found.messages.find(message => message.event_id === event_id)
    t.match(turn, {
      primitive_name: 'support',
      input: 'Where is my order?',
      output: 'On its way.',
      success: true,
      latency: 812,
    })
    const tool = found.messages.find(message => message.event_id === tool_id)
    t.match(tool, { primitive_type: 'tool', parent_id: event_id, success: false, latency: 12.5 })
  })

  await t.test('user stories hold the chat, the call and the trace, each with its user', async t => {
    const stories = await eventually('three conversations', async () => {
      const answer = await dashboard<{ conversations: Record<string, unknown>[] }>('user-stories', { time_range: '1h' })
      return answer.body.conversations.length === 3 ? answer.body.conversations : undefined
    })
    const byUser = new Map(stories.map(story => [story.user_id, story]))
    t.match(byUser.get('ada'), { conversation_id: session_id, message_count: 2, tool_call_count: 1, error_count: 1 })
    t.match(byUser.get('+15550001'), { conversation_id: callId })
    t.match(byUser.get('grace'), { original_conversation_id: 'my-session', message_count: 1 })
  })

  await t.test('the trace is a span with its ids', async t => {
    const stories = await dashboard<{ conversations: { conversation_id: string }[] }>('user-stories', {
      search_field: 'original_conversation_id',
      search_value: 'my-session',
    })
    const conversation_id = stories.body.conversations[0]?.conversation_id
    const spans = await dashboard<{ spans: Record<string, unknown>[] }>('conversation-spans', { conversation_id })
    t.match(spans.body.spans, [{ span_id: 'eee19b7ec3c1b174', trace_id: traceId, depth: 0, success: true }])
  })

  await t.test('the summary has data, raw logs count what was sent', async t => {
    const summary = await fetch(`${system.baseUrl}/dashboard/api/organization/summary`, { headers: key })
    t.match(await summary.json(), { id: system.organization, has_data: true })
    const logs = await dashboard<LogPage>('raw-logs', { conversation_id: session_id })
    t.equal(logs.body.events.length, 2)
    const failed = await dashboard<LogPage>('raw-logs', { conversation_id: session_id, success: false })
    t.strictSame(
      failed.body.events.map(event => event.event_id),
      [tool_id],
    )
    const io = await dashboard('event-io', { event_id })
    t.match(io.body, { input: 'Where is my order?', output: 'On its way.', input_bytes: 18 })
  })

  await t.test('the same things sent again change no number', async t => {
    const before = (await dashboard<{ total_count: number }>('raw-logs/count', { time_range: '1h' })).body.total_count
    const again = await post(
      `${system.baseUrl}/api/v1/capture-event`,
      {
        event_id,
        session_id,
        primitive_name: 'support',
        args: 'Where is my order?',
        result: 'On its way.',
        latency: 812,
      },
      org,
    )
    t.equal(again.status, 200)
    // A later event of the same partition shows that the repeat has been passed.
    const marker = randomUUID()
    await post(
      `${system.baseUrl}/api/v1/capture-event`,
      { event_id: marker, session_id, primitive_name: 'm', args: '', result: '' },
      org,
    )
    await eventually('the marker event', async () => {
      const answer = await dashboard<LogPage>('raw-logs', { event_id: marker })
      return answer.body.events[0]
    })
    const after = (await dashboard<{ total_count: number }>('raw-logs/count', { time_range: '1h' })).body.total_count
    t.equal(after, before + 1)
  })
})
