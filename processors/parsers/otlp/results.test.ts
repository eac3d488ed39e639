// What results of tools say of failures under spans that say nothing of them, and what is shown of results in quotes: as objects, and read
// from bytes by the plan of spans with other results.
import t, { type Test } from 'tap'
import { protobufBytes, request, span } from '#proto/otlp/fixture.ts'
import type { EventRow } from '#proto/rows.ts'
import { become, objects } from '../../bytes/fixture-become.ts'
import { parsers } from '../../registry.ts'
import { parse } from './fixture.ts'

interface Tool {
  readonly scope?: string
  readonly key?: string
  readonly values?: Record<string, unknown>
  readonly status?: object
}

/** The row of a tool with this result. Spans of other results are around it, and all are read from bytes as they are as objects. */
function rowOf(
  t: Test,
  result: unknown,
  { scope = 'shop', key = 'output.value', values = {}, status = {} }: Tool,
): EventRow {
  const held = typeof result === 'string' ? result : JSON.stringify(result)
  const all = ['fine', '{"a":"Error"}', held, '"fine"', held]
  const spans = all.map((text, i) =>
    span(1, i + 1, { name: 'find', status }, { 'openinference.span.kind': 'TOOL', ...values, [key]: text }),
  )
  const body = request(spans, {}, { name: scope })
  const read = become(protobufBytes(body), parsers)
  t.same(read.all, become(protobufBytes(body), objects).all, `the same from bytes: ${held.slice(0, 60)}`)
  t.ok(read.objects < all.length, 'some were read by a plan')
  return parse(t, body)[2]?.events[0] as EventRow
}

const message = { content: 'No such city', name: 'find', tool_call_id: 'c', status: 'error' }
const mcp = { content: [{ type: 'text', text: 'No such city' }], isError: true }
const adk = { scope: 'gcp.vertex.agent', key: 'gcp.vertex.agent.tool_response' }

t.test('results that say that the tool failed', async t => {
  const f = (what: string, result: unknown, tool: Tool = {}, error_message = 'No such city') =>
    t.match(rowOf(t, result, tool), { kind: 'tool', failed: 1, error_type: 'tool_error', error_message }, what)
  const constructor = { lc: 1, type: 'constructor', id: ['langchain_core', 'messages', 'ToolMessage'], kwargs: message }
  f("LangChain's message", { type: 'tool', ...message })
  f('as Python has it', { type: 'tool', data: { type: 'tool', ...message } })
  f('as JavaScript has it', constructor)
  f('with an explicit OK', { output: constructor }, { status: { code: 1 } })
  f('by LangSmith', { output: { type: 'tool', ...message } }, { scope: 'langsmith', key: 'gen_ai.completion' })
  f('by Traceloop', JSON.stringify({ output: { ...constructor }, kwargs: {} }), { key: 'traceloop.entity.output' })
  f('in parts', { ...message, content: [{ type: 'text', text: 'No such city' }] })
  f('MCP', mcp, { key: 'gen_ai.tool.call.result' })
  f('MCP within a result', { result: { meta: null, ...mcp } }, { key: 'mcp.tool.result' })
  f("a part of Anthropic's", [{ type: 'tool_result', tool_use_id: 'c', is_error: true, content: 'No such city' }])
  f('LlamaIndex', { blocks: [{ text: 'No such city' }], tool_name: 'find', raw_output: 'x', is_error: true })
  f('ADK', { status: 'error', error_message: 'No such city' }, adk)
  f('ADK, other words', { result: { status: 'error', error: 'No such city' } }, adk)
  f('without words', { status: 'error' }, adk, 'tool_error')
  f('in quotes', JSON.stringify(JSON.stringify(mcp)))
})

t.test('results that do not', async t => {
  const f = (what: string, result: unknown, tool: Tool = {}) =>
    t.match(rowOf(t, result, tool), { kind: 'tool', failed: 0, error_type: '', error_message: '' }, what)
  f('a message that is fine', { type: 'tool', ...message, status: 'success' })
  f('a report about something else', { status: 'error', service: 'billing' })
  f('an order', [{ status: 'error', tool_call_id: 'c' }, { status: 'ok' }])
  f('MCP that is fine', { ...mcp, isError: false })
  f('a flag of its own', { isError: true, count: 3 })
  f('words', 'Error: No such city')
  f('ADK that is fine', { status: 'success', report: 'Error 404' }, adk)
})

t.test('what the span says itself comes first, and a run that waits has not failed', async t => {
  const raised = { status: { code: 2, message: 'Boom' }, values: { 'error.type': 'Broken' } }
  t.match(rowOf(t, mcp, raised), { failed: 1, error_type: 'Broken', error_message: 'Boom' })
  const waits = { ...message, content: 'GraphInterrupt(…)' }
  t.match(rowOf(t, waits, {}), { failed: 0 })
})

t.test('only tools are asked', async t => {
  const [unit] = parse(
    t,
    request([span(1, 1, {}, { 'openinference.span.kind': 'CHAIN', 'output.value': JSON.stringify(mcp) })]),
  )
  t.match(unit?.events[0], { kind: 'agent', failed: 0 })
})

t.test('results in quotes', async t => {
  const f = (result: string, output_preview: string) =>
    t.match(rowOf(t, result, { key: 'traceloop.entity.output' }), { output_preview }, result)
  f('"18 \\u00b0C"', '18 °C')
  f('"{\\"a\\": 1}"', '{"a": 1}')
  f('"\\"twice\\""', 'twice')
  f('"{\\"args\\": [], \\"kwargs\\": {\\"a\\": 1}}"', '{"a":1}')
  f('"order 12345678901234567890"', 'order 12345678901234567890')
  f('"not closed', '"not closed')
  f('""', '')
})
