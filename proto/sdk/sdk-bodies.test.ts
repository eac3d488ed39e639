import t from 'tap'
import { NIL_UUID } from '#proto/ids.ts'
import type { EventShape } from '#proto/sdk/capture-event.ts'
import { captureEventProblem, eventShapeOf } from '#proto/sdk/capture-event.ts'
import { captureSessionProblem } from '#proto/sdk/capture-session.ts'
import type { IdPolicy } from '#proto/sdk/fields.ts'
import { withinDepth } from '#proto/sdk/fields.ts'

const id = '0b1e7b0a-1111-4222-8333-444444444444'
const session = { session_id: id, user_data: { user_id: 'ada' } }
const event = { event_id: id, session_id: id, primitive_name: 'support' }
const tool = { session_id: id, primitive_name: 'search', primitive_type: 'tool', success: true, latency: 3 }

const without = (body: object, field: string): object =>
  Object.fromEntries(Object.entries(body).filter(([name]) => name !== field))

t.test('a session body is taken or refused with a sentence that names the field', async t => {
  const f = (body: unknown, expected: string | null, ids: IdPolicy = 'strict') =>
    t.equal(captureSessionProblem(body, ids)?.sentence ?? null, expected, JSON.stringify(body))

  f(session, null)
  f({ session_id: id, client_config: '' }, null)
  f({ session_id: id.toUpperCase(), user_data: { user_id: '' } }, null)
  f({ ...session, unknown: { deep: [1] }, org_id: 'x', ip: '', connection_type: '' }, null)
  f({ ...session, metadata: { headers: { a: 1 }, n: 5 }, timestamp: null, tools: [] }, null)
  f({ session_id: id, client_config: 'x', user_data: { userId: 'tok' } }, null)
  f({ ...session, timestamp: -1 }, null)

  f([], 'the body must be a JSON object')
  f('text', 'the body must be a JSON object')
  f(null, 'the body must be a JSON object')
  f({}, 'session_id is required')
  f({ ...session, session_id: 'conv_1' }, 'session_id must be a uuid')
  f({ ...session, session_id: 5 }, 'session_id must be a uuid')
  f({ ...session, session_id: `${id} ` }, 'session_id must be a uuid')
  f({ session_id: id }, 'user_data is required (or client_config, in the server-primitive shape)')
  f(
    { session_id: id, user_data: {} },
    'user_data.user_id is required (or client_config, in the server-primitive shape)',
  )
  f({ session_id: id, user_data: { user_id: 5 } }, 'user_data.user_id must be a string')
  f({ session_id: id, user_data: 'ada' }, 'user_data must be an object')
  f({ ...session, client_config: 5 }, 'client_config must be a string')
  f({ ...session, metadata: [] }, 'metadata must be an object')
  f({ ...session, timestamp: '1700000000000' }, 'timestamp must be an integer: Unix time in milliseconds')
  f({ ...session, timestamp: 1.5 }, 'timestamp must be an integer: Unix time in milliseconds')
  const time = 'timestamp must be an integer: Unix time in milliseconds'
  for (const seconds of [1e9, 1_789_999_990, 9_999_999_999]) f({ ...session, timestamp: seconds }, time)
  for (const ms of [999_999_999, 1e10, -1_789_999_990, null]) f({ ...session, timestamp: ms }, null)
  f({ ...session, timestamp: 2 ** 63 }, 'timestamp must be an integer: Unix time in milliseconds')
  f({ ...session, tools: 'search' }, 'tools must be an array of strings')
  f({ ...session, tools: ['a', 1] }, 'tools.1 must be a string')

  f({ ...session, session_id: 'conv_1' }, null, 'map')
  f({ ...session, session_id: '' }, 'session_id must be a text of 1 to 1024 characters', 'map')
  f({ ...session, session_id: 'x'.repeat(1025) }, 'session_id must be a text of 1 to 1024 characters', 'map')
})

t.test('an event body is taken or refused with a sentence that names the field', async t => {
  const f = (body: unknown, expected: string | null, ids: IdPolicy = 'strict') =>
    t.equal(captureEventProblem(body, eventShapeOf(body), ids)?.sentence ?? null, expected, JSON.stringify(body))

  f(event, null)
  f({ ...event, primitive_type: '', args: '', result: null, parent_id: '', success: false, latency: 12.345 }, null)
  f({ ...event, metadata: { event_type: 'turn', nested: { a: [1] } }, timestamp: 0, parent_id: id }, null)
  f(tool, null)
  f({ ...tool, event_id: '', args: '{}', result: 'ok' }, null)
  f({ ...tool, event_id: null, checkpoints: [{ name: 'a', timestamp: 1.5, metadata: {} }] }, null)

  f([], 'the body must be a JSON object')
  f({}, 'event_id is required')
  f({ ...event, event_id: '' }, 'event_id must be a uuid')
  f({ ...event, event_id: 'x' }, 'event_id must be a uuid')
  f(without(event, 'session_id'), 'session_id is required')
  f({ event_id: id, session_id: id }, 'primitive_name is required')
  f({ ...event, primitive_name: 1 }, 'primitive_name must be a string')
  f({ ...event, args: { a: 1 } }, 'args must be a string')
  f({ ...event, result: ['x'] }, 'result must be a string')
  f({ ...event, success: 'yes' }, 'success must be true or false')
  f({ ...event, latency: -1 }, 'latency must be a number of milliseconds, 0 or more')
  f({ ...event, latency: JSON.parse('1e999') }, 'latency must be a number of milliseconds, 0 or more')
  f({ ...event, parent_id: 'root' }, 'parent_id must be a uuid')
  f({ ...event, event_id: NIL_UUID }, 'event_id must be a uuid')
  f({ ...tool, event_id: NIL_UUID }, 'event_id must be a uuid')
  f({ ...tool, session_id: NIL_UUID }, 'session_id must be a uuid')
  f({ ...event, parent_id: NIL_UUID }, null)
  f({ ...event, primitive_type: 5 }, 'primitive_type must be one of tool, resource, prompt')
  f({ ...event, primitive_type: 'agent' }, 'primitive_type must be one of tool, resource, prompt')
  f(without(tool, 'success'), 'success is required')
  f(without(tool, 'latency'), 'latency is required')
  f({ ...tool, latency: '3' }, 'latency must be a number of milliseconds, 0 or more')
  f({ ...tool, checkpoints: {} }, 'checkpoints must be an array of checkpoints')
  f({ ...tool, checkpoints: [{ name: 'a' }] }, 'checkpoints.0.timestamp is required')

  f({ ...event, event_id: 'interaction 7', session_id: 'oauth:a:b', parent_id: 'p' }, null, 'map')
  f({ ...event, event_id: NIL_UUID }, 'event_id must be a text of 1 to 1024 characters', 'map')
  f({ ...event, event_id: '' }, 'event_id must be a text of 1 to 1024 characters', 'map')
})

t.test('a primitive_type that says something selects the server-primitive shape', async t => {
  const f = (body: unknown, expected: EventShape) => t.equal(eventShapeOf(body), expected)
  f({ primitive_type: 'tool' }, 'server-primitive')
  f({ primitive_type: 'whatever' }, 'server-primitive')
  f({ primitive_type: '' }, 'conversation')
  f({ primitive_type: null }, 'conversation')
  f({}, 'conversation')
  f(null, 'conversation')
})

t.test('depth counts nested arrays and objects', async t => {
  const nest = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
  t.ok(withinDepth(nest(64), 64))
  t.notOk(withinDepth(nest(65), 64))
  t.notOk(withinDepth(nest(5000), 64), 'without running out of stack')
  t.ok(withinDepth('text', 0))
})
