import t from 'tap'
import { NIL_UUID } from '#proto/ids.ts'
import { scaled } from '#test/scale.ts'
import { createRandom } from './fuzz/random.ts'
import { fuzzSdk } from './fuzz/sdk.ts'
import { SdkScanner } from './sdk.ts'

const SEED = 20_250_118
const BODIES = scaled({ sample: 8_000, full: 250_000 })
// Seconds of work, and many times that on a machine with other work.
t.setTimeout(1_200_000)
const ID = '0b0f2b1e-7a66-4d7e-9d3a-6a3f6f1e2b11'
const SESSION = 'F47AC10B-58CC-4372-A567-0E02B2C3D479'
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

t.test('an event gives its ids as bytes and its shape', async t => {
  const scanner = new SdkScanner('strict')
  const event = { event_id: ID, session_id: SESSION, primitive_name: 'support' }
  t.ok(scanner.scanEvent(Buffer.from(JSON.stringify(event))))
  t.equal(hex(scanner.eventId.bytes), ID.replaceAll('-', ''))
  t.equal(hex(scanner.sessionId.bytes), SESSION.replaceAll('-', '').toLowerCase())
  t.equal(scanner.textOf(scanner.sessionId), SESSION, 'as it was sent')
  t.same([scanner.shape, scanner.mintsEventId], ['conversation', false])
  const call = {
    session_id: SESSION,
    primitive_name: 'f',
    primitive_type: 'tool',
    success: true,
    latency: 0,
    event_id: '',
  }
  t.ok(scanner.scanEvent(Buffer.from(JSON.stringify(call))))
  t.same([scanner.shape, scanner.mintsEventId], ['server-primitive', true])
})

t.test('of a key given twice the last one counts, escapes in keys and ids are read', async t => {
  const scanner = new SdkScanner('strict')
  const body = `{"session_id":5,"sess\\u0069on_id":"\\u0030b0f2b1e-7a66-4d7e-9d3a-6a3f6f1e2b11","user_data":{"user_id":1},"user_data":{"user_id":""}}`
  t.ok(scanner.scanSession(Buffer.from(body)))
  t.same([scanner.sessionId.isUuid, hex(scanner.sessionId.bytes)], [true, ID.replaceAll('-', '')])
  t.equal(scanner.textOf(scanner.sessionId), ID)
  t.notOk(scanner.scanSession(Buffer.from(`{"session_id":"${ID}","user_data":{"user_id":"u"},"user_data":null}`)))
  t.notOk(scanner.scanSession(Buffer.from(`{"session_id":"${ID}","user_data":{"user_id":"u","user_id":5}}`)))
})

t.test('under the policy map any text is an id', async t => {
  const scanner = new SdkScanner('map')
  t.ok(scanner.scanSession(Buffer.from('{"session_id":"conv_é\\n","client_config":""}')))
  t.same([scanner.sessionId.isUuid, scanner.textOf(scanner.sessionId)], [false, 'conv_é\n'])
  t.notOk(scanner.scanSession(Buffer.from('{"session_id":"","client_config":""}')))
})

t.test('a refusal names the field and the byte', async t => {
  const scanner = new SdkScanner('strict')
  const f = (kind: 'session' | 'event', body: string, code: string, field: string, detail: string): void => {
    t.notOk(kind === 'session' ? scanner.scanSession(Buffer.from(body)) : scanner.scanEvent(Buffer.from(body)), body)
    t.same(scanner.refusal(), { code, field, detail }, body)
  }
  const json = (detail: string, body: string) => f('event', body, 'REQ_JSON_INVALID', '', detail)
  json('the body is empty', '')
  json('unexpected character at byte 1', '{x}')
  json('the body ends too early, at byte 7', '{"a":1,')
  const refused = 'REQ_BODY_INVALID'
  const start = `{"event_id":"${ID}","session_id":"${ID}","primitive_name":"x"`
  f('event', '[]', refused, '', 'the body must be a JSON object, at byte 0')
  f(
    'event',
    `${start},"a":${'['.repeat(64)}`,
    refused,
    '',
    `nested deeper than 64 levels, at byte ${start.length + 5 + 63}`,
  )
  f('event', '{}', refused, 'event_id', 'event_id is required, at byte 1')
  f('event', `{"event_id":"${NIL_UUID}"}`, refused, 'session_id', 'session_id is required, at byte 50')
  f(
    'event',
    `${start},"latency":-1}`,
    refused,
    'latency',
    `latency must be a number of milliseconds, 0 or more, at byte ${start.length + 11}`,
  )
  const wrong = `${start},"checkpoints":[{"name":"a","timestamp":1},{"name":"b"}]}`
  f(
    'event',
    wrong,
    refused,
    'checkpoints.1.timestamp',
    `checkpoints.1.timestamp is required, at byte ${wrong.length - 3}`,
  )
  const session = `{"session_id":"${ID}"`
  const needsUser = 'is required (or client_config, in the server-primitive shape), at byte'
  f('session', `${session}}`, refused, 'user_data', `user_data ${needsUser} ${session.length}`)
  f(
    'session',
    `${session},"user_data":{}}`,
    refused,
    'user_data.user_id',
    `user_data.user_id ${needsUser} ${session.length + 14}`,
  )
  f(
    'session',
    `${session},"tools":["a",5]}`,
    refused,
    'tools.1',
    `tools.1 must be a string, at byte ${session.length + 14}`,
  )
})

t.test(`${BODIES} mutated bodies are judged as by the schemas, seed ${SEED}`, async t => {
  const tally = fuzzSdk(createRandom(SEED), BODIES)
  t.comment(JSON.stringify(tally))
  t.ok(tally.taken > BODIES / 10 && tally.refused > BODIES / 10, 'both happen often')
})
