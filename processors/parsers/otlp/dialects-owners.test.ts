// Whose a span is, in every dialect: which attributes name its session and its user, and which only look as if they did.
import t from 'tap'
import { request, span } from '#proto/otlp/fixture.ts'
import { given, parse } from './fixture.ts'

t.test('the address of a user stands where applications attach what they know', async t => {
  const f = (values: Record<string, unknown>, expected: string) => {
    const [unit] = parse(t, request([span(1, 1, {}, { 'session.id': 's', ...values })]))
    t.equal(unit?.sessions[0]?.user_email, expected, JSON.stringify(values))
  }
  const prefixes = [
    ...['ai.telemetry.metadata.', 'ai.settings.context.', 'traceloop.association.properties.', 'langsmith.metadata.'],
    ...['mastra.metadata.', 'metadata.', 'langfuse.trace.metadata.', 'lmnr.association.properties.metadata.'],
  ]
  for (const prefix of prefixes) f({ [`${prefix}userEmail`]: 'a@b.c' }, 'a@b.c')
  f({ 'traceloop.association.properties.user_email': 'u', 'traceloop.association.properties.email': 'e' }, 'u')
  f({ 'langsmith.metadata.email': 'e', 'user.email': 'own' }, 'own')
  f({ metadata: '{"email":"m"}' }, 'm')
})

t.test('sessions that are none, and the order of those that are', async t => {
  const f = (values: Record<string, unknown>, session: string, user: string, scope = 'shop') => {
    const row = given(t, { values, scope })
    const trace = row.provisional === 1
    t.same([trace ? '' : row.session_id, row.user_id], [session, user], JSON.stringify(values))
  }
  for (const key of [
    'gen_ai.agent.id',
    'gen_ai.response.id',
    'gcp.vertex.agent.invocation_id',
    'kickoff_id',
    'crew_id',
    'agno.run.id',
    'flue.session.name',
    'event_loop.cycle_id',
    'mastra.metadata.resumedFromSpanId',
    'langsmith.trace.session_name',
    'traceloop.correlation.id',
  ]) {
    f({ [key]: 'x' }, '', '')
  }
  f({ 'session.id': "[Scrubbed due to 'session']", 'gen_ai.conversation.id': 'g' }, 'g', '')
  f({ 'langfuse.session.id': 'l', 'session.id': 's', 'traceloop.association.properties.session_id': 't' }, 'l', '')
  f({ 'traceloop.association.properties.chat_id': 5, 'gen_ai.conversation.id': 'g' }, '5', '')
  f({ 'mastra.metadata.resourceId': 'r', 'metadata.userId': 'm' }, '', 'r')
  f({ 'metadata.user_api_key_end_user_id': 'default_user_id', 'enduser.pseudo.id': 'p' }, '', 'p')
  f({ 'user.email': 'a@b.c', 'user.id': 'device' }, '', 'device')
  for (const key of ['agnost.session_id', 'session_id', 'conversationId', 'thread_id', 'projectId']) {
    f({ [key]: 'bare' }, 'bare', '')
    f({ [key]: 'bare', 'gen_ai.conversation.id': 'g' }, 'g', '')
    f({ [key]: 'bare', 'metadata.session_id': 'm' }, 'm', '')
  }
  for (const key of ['agnost.user_id', 'user_id']) {
    f({ [key]: 'bare' }, '', 'bare')
    f({ [key]: 'bare', 'enduser.pseudo.id': 'p' }, '', 'p')
  }
  f({ metadata: '{"langfuse":1,"conversation_id":"m"}', threadId: 'old' }, 'old', '')
})

t.test('the session of a connection is one where no trace is around it', async t => {
  const values = { 'mcp.session.id': 'connection', 'mcp.method.name': 'tools/call' }
  t.match(given(t, { values, root: true }), { session_id: 'connection', provisional: 0 })
  t.match(given(t, { values }), { provisional: 1 })
  t.match(given(t, { values: { ...values, projectId: 'p' }, root: true }), { session_id: 'connection' })
  t.match(given(t, { values: { ...values, thread_id: 't' }, root: true }), { session_id: 't' })
})

t.test('an address in the quotes of JSON', async t => {
  const [unit] = parse(t, request([span(1, 1, {}, { 'session.id': 's', 'langfuse.trace.metadata.email': '"a@b.c"' })]))
  t.equal(unit?.sessions[0]?.user_email, 'a@b.c')
})
