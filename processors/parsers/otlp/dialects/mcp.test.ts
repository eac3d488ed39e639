// Spans of MCP: protocol is nobody's conversation and no turn, one call is one call, whatever end of the connection tells it and in
// whatever requests its spans come.
import type { Test } from 'tap'
import t from 'tap'
import { NIL_UUID } from '#proto/ids.ts'
import { protobufBytes, request, span } from '#proto/otlp/fixture.ts'
import type { EventRow } from '#proto/rows.ts'
import { context, unitsOf } from '../../fixture.ts'
import { parseTraces } from '../../otlp.ts'
import { parse, type Values } from '../fixture.ts'
import { compileRules } from '../rules.ts'

const [SERVER, CLIENT] = [2, 3]

interface Sent {
  readonly id: number
  readonly parent?: number
  readonly kind?: number
  readonly method?: string
  readonly name?: string
  readonly scope?: string
  readonly values?: Values
}

interface Told {
  readonly row: EventRow
  readonly units: ReturnType<typeof parse>
}

/** The rows of spans of one trace, each sent in a request of its own. */
function rowsOf(test: Test, spans: readonly Sent[]): Told[] {
  return spans.map(
    ({ id, parent = 0, kind = CLIENT, method, name = method ?? '', scope = 'mcp-python-sdk', values }) => {
      const fields = { name, kind, ...(parent === 0 ? {} : { parentSpanId: parent.toString(16).padStart(16, '0') }) }
      const attributes = { ...(method === undefined ? {} : { 'mcp.method.name': method }), ...values }
      const units = parse(test, request([span(1, id, fields, attributes)], {}, { name: scope }))
      return { row: units[0]?.events[0] as EventRow, units }
    },
  )
}

const call = { method: 'tools/call', name: 'tools/call get_weather', values: { 'gen_ai.tool.name': 'get_weather' } }

t.test('protocol is no turn and makes no conversation', async t => {
  const methods = [
    'initialize',
    'notifications/initialized',
    'tools/list',
    'ping',
    'server/discover',
    'what/comes/next',
  ]
  for (const method of methods) {
    for (const sent of [
      { id: 1, method },
      { id: 2, parent: 1, kind: SERVER, method },
      { id: 3, method, values: { 'session.id': 'chat-7', 'user.id': 'ada' } },
    ]) {
      const [told] = rowsOf(t, [sent]) as [Told]
      const { conversation_id, kind, provisional, user_id } = told.row
      t.same([conversation_id, kind, provisional, user_id], [NIL_UUID, 'other', 0, ''], `${method} ${sent.id}`)
      t.same([told.units[0]?.links ?? [], told.units[0]?.sessions], [[], []], 'nothing is revealed by it')
    }
  }
  const [traced] = rowsOf(t, [{ id: 2, parent: 1, method: 'tools/list' }])
  t.match(traced?.row, { kind: 'other', provisional: 1 }, 'what a client says within a trace is a step of it')
  t.not(traced?.row.conversation_id, NIL_UUID)
  const scope = 'opentelemetry.instrumentation.mcp.instrumentation'
  const [named] = rowsOf(t, [
    { id: 1, kind: 1, name: 'initialize.mcp', scope, values: { 'traceloop.entity.input': '{}' } },
  ])
  t.match(named?.row, { conversation_id: NIL_UUID, kind: 'other' }, 'told by its name')
})

t.test('one call is one call', async t => {
  const calls = (spans: readonly Sent[]): string[] => {
    const rows = rowsOf(t, spans).map(({ row }) => row)
    for (const row of rows) t.not(row.conversation_id, NIL_UUID, 'a call is in a conversation')
    return rows.filter(row => row.kind === 'tool').map(row => row.name)
  }
  const client = { ...call, id: 1 }
  const server = { ...call, id: 2, parent: 1, kind: SERVER }
  const framework = { ...call, id: 3, parent: 2, kind: SERVER, scope: 'fastmcp' }
  const inner = { ...framework, kind: 1 }
  t.same(calls([client, server, framework]), ['get_weather'])
  t.same(calls([client, server, inner]), ['get_weather'])
  t.same(calls([client, { ...framework, parent: 1 }]), ['get_weather'], 'without the span of the server itself')
  t.same(calls([client]), ['get_weather'], 'a client alone')
  t.same(calls([{ ...client, scope: 'fastmcp', parent: 9 }]), ['get_weather'], 'of the same framework')
  t.same(calls([{ ...server, parent: 0 }, framework]), ['get_weather'], 'a server alone')
  t.same(calls([{ ...framework, parent: 0 }]), ['get_weather'], 'its framework alone')
  const read = rowsOf(t, [
    { id: 1, method: 'resources/read', values: { 'mcp.resource.uri': 'file:///a' } },
    { id: 2, parent: 1, kind: SERVER, method: 'resources/read', values: { 'mcp.resource.uri': 'file:///a' } },
    { id: 3, kind: SERVER, method: 'prompts/get', values: { 'gen_ai.prompt.name': 'hi' } },
  ])
  t.same(
    read.map(({ row }) => [row.kind, row.name]),
    [
      ['resource', 'file:///a'],
      ['other', 'resources/read'],
      ['prompt', 'hi'],
    ],
  )
})

t.test('an organization says by a rule that its servers tell the calls', async t => {
  const sent = span(
    1,
    2,
    { name: 'tools/call get_weather', kind: SERVER, parentSpanId: '0000000000000001' },
    { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'get_weather', 'shop.kind': 'tool' },
  )
  const rules = compileRules([{ field: 'kind', attribute: 'shop.kind' }])
  const [unit] = unitsOf(parseTraces(protobufBytes(request([sent])), 'protobuf', { ...context, rules }))
  t.equal(unit?.events[0]?.kind, 'tool')
})
