import { isUtf8 } from 'node:buffer'
import t from 'tap'
import { NIL_UUID } from '#proto/ids.ts'
import { createRandom } from './fuzz/random.ts'
import { JsonScanner } from './json.ts'
import { ScannedId } from './scanned-id.ts'
import { EventWalk } from './sdk-walk.ts'

const SEED = 20_261_122
const TEXTS = 8_000
const ID = '0b0f2b1e-7a66-4d7e-9d3a-6a3f6f1e2b11'
const SESSION = 'F47AC10B-58CC-4372-A567-0E02B2C3D479'
const walk = new EventWalk(new JsonScanner(64), 64)
const [sessionId, eventId] = [new ScannedId(), new ScannedId()]
const shapeOf = (body: string | Uint8Array) => walk.shapeOf(Buffer.from(body), sessionId, eventId)
const hex = ({ bytes }: ScannedId): string => Buffer.from(bytes).toString('hex')

const TURN = { event_id: ID, session_id: SESSION, primitive_name: 'support' }
const CALL = { session_id: SESSION, primitive_name: 'find', primitive_type: 'tool', success: true, latency: 12.5 }
const FULL = {
  ...TURN,
  args: '{"order":"\\u00e9 \\"7\\""}',
  result: 'Könnten Sie 請再 👍',
  timestamp: 1_789_999_990_000,
  latency: 4321,
  parent_id: NIL_UUID.replace(/.$/, '1'),
  metadata: { plan: 'team', list: [1, -2.5e3, null, { deep: [] }] },
  checkpoints: null,
  else: [true, { a: 'b' }],
}

t.test('the usual events are known by one call, with their ids and where these stand', async t => {
  const body = JSON.stringify(FULL, null, 2)
  t.equal(shapeOf(body), 'conversation')
  t.same(
    [walk.hasEventId, hex(eventId), hex(sessionId)],
    [true, ID.replaceAll('-', ''), SESSION.replaceAll('-', '').toLowerCase()],
  )
  const text = Buffer.from(body)
  t.equal(text.toString('latin1', sessionId.start, sessionId.end), SESSION)
  t.equal(text.toString('latin1', eventId.start, eventId.end), ID)
  for (const primitive_type of ['tool', 'resource', 'prompt']) {
    t.equal(shapeOf(JSON.stringify({ ...CALL, primitive_type })), 'server-primitive')
    t.equal(walk.hasEventId, false)
  }
  t.equal(shapeOf(JSON.stringify({ ...TURN, primitive_type: null })), 'conversation')
})

t.test('of what is wrong or unusual nothing is said', async t => {
  const bodies: unknown[] = [
    ...Object.keys(TURN).map(name => ({ ...TURN, [name]: undefined })),
    ...Object.keys(TURN).map(name => ({ ...TURN, [name]: null })),
    ...Object.keys(CALL).map(name => (name === 'primitive_type' ? {} : { ...CALL, [name]: null })),
    ...['event_id', 'session_id', 'parent_id'].flatMap(name =>
      [NIL_UUID, `${ID}0`, ID.replace('b', 'g'), ID.replaceAll('-', '0'), 'x', '', 7].map(value => ({
        ...TURN,
        [name]: value,
      })),
    ),
    ...['tools', 'Tool', '', 'tool\0', 5].map(primitive_type => ({ ...CALL, primitive_type })),
    ...[-1, '1', true, [], {}].map(latency => ({ ...CALL, latency })),
    ...[1.5, -1, 1e20, '1', 2 ** 60].map(timestamp => ({ ...TURN, timestamp })),
    ...['x', [], 1].map(metadata => ({ ...TURN, metadata })),
    { ...CALL, success: 1 },
    { ...TURN, args: 5 },
    { ...TURN, checkpoints: [{ name: 'n', timestamp: 1 }] },
  ]
  for (const body of bodies) t.equal(shapeOf(JSON.stringify(body)), null, JSON.stringify(body))
  const start = JSON.stringify(TURN).slice(0, -1)
  const ends = ['', ',', ',}', '}}', '} x', ',"":1', ',"latency":1e999}', ',"latency":01}', ',"a":tru}', ',"a":"\\x"}']
  for (const end of ends) t.equal(shapeOf(start + end), null, end)
  t.equal(shapeOf(`${start.replace('event_id', 'event\\u005fid')}}`), null, 'a key with an escape')
  t.equal(shapeOf(`${start},"a":${'['.repeat(63)}${']'.repeat(63)}}`), 'conversation')
  t.equal(shapeOf(`${start},"a":${'['.repeat(64)}${']'.repeat(64)}}`), null, 'too deep')
  for (const body of ['', '{}', '[]', 'null', '"', `${start}}\0`]) t.equal(shapeOf(body), null, body)
})

t.test('a key given twice counts as it was given last', async t => {
  const start = JSON.stringify(CALL).slice(0, -1)
  t.equal(shapeOf(`${start},"latency":null}`), null)
  t.equal(shapeOf(`${start},"latency":null,"latency":1}`), 'server-primitive')
  t.equal(shapeOf(`${start},"session_id":"${ID}"}`), 'server-primitive')
  t.equal(hex(sessionId), ID.replaceAll('-', ''))
})

t.test('a body larger than all before it is read where the memory has grown', async t => {
  t.equal(shapeOf(JSON.stringify({ ...TURN, result: 'ü'.repeat(300_000) })), 'conversation')
  t.equal(hex(sessionId), SESSION.replaceAll('-', '').toLowerCase())
})

t.test(`of ${TEXTS} texts of bytes at the edges of UTF-8 it knows which are UTF-8, seed ${SEED}`, async t => {
  const random = createRandom(SEED)
  const edges = [
    0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0,
    0xf1, 0xf3, 0xf4, 0xf5, 0xff,
  ]
  const good = ['é', '\u0800', '\ud7ff', '\uffff', '\u{10000}', '\u{10ffff}'].map(text => Buffer.from(text))
  const start = JSON.stringify(TURN).slice(0, -1)
  const counts = { utf8: 0, other: 0 }
  for (let n = 0; n < TEXTS; n++) {
    const pieces = Array.from({ length: random.below(40) }, () => random.pick(good))
    const at = random.below(pieces.length + 1)
    const edge = Uint8Array.from({ length: random.below(5) }, () => random.pick(edges))
    const text = Buffer.concat([...pieces.slice(0, at), edge, ...pieces.slice(at)])
    // Inside, and as the last thing before the zeros.
    const isGood = isUtf8(text)
    counts[isGood ? 'utf8' : 'other']++
    const body = Buffer.concat([Buffer.from(`${start},"a":"`), text, Buffer.from('"}')])
    if ((shapeOf(body) !== null) !== isGood) t.fail(`judged otherwise: ${text.toString('hex')}`)
    if (shapeOf(Buffer.concat([Buffer.from(`${start}}`), text])) !== null && text.length > 0)
      t.fail('bytes behind the body')
  }
  t.ok(counts.utf8 > TEXTS / 20 && counts.other > TEXTS / 20, JSON.stringify(counts))
})
