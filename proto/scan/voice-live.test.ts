import t from 'tap'
import { liveKinds } from '#proto/voice/kinds.ts'
import { scaled } from '#test/scale.ts'
import { createRandom } from './fuzz/random.ts'
import { fuzzVoiceLive } from './fuzz/voice-live.ts'
import { VoiceLiveScanner } from './voice-live.ts'

const SEED = 20_250_122
const BODIES = scaled({ sample: 6_000, full: 50_000 })
// Seconds of work, and many times that on a machine with other work.
t.setTimeout(1_200_000)

t.test('what platforms send of a running call is named without JSON.parse', async t => {
  const scanner = new VoiceLiveScanner()
  const f = (message: object, kind: string | null): void => {
    t.equal(scanner.kindOf(Buffer.from(JSON.stringify({ message }))), kind, JSON.stringify(message))
  }
  f(
    { timestamp: 1_789_999_990_000, type: 'conversation-update', conversation: [{ role: 'user', content: 'hi' }] },
    'conversation-update',
  )
  f({ type: 'transcript[transcriptType="final"]', transcriptType: 'final' }, 'transcript')
  f({ type: 'hang', timestamp: '1789999990000' }, 'hang')
  f({ type: 'hang', timestamp: 'soon' }, null)
  f({ type: 'hang', timestamp: true }, null)
  f({ type: 'speech-update', status: null }, null)
  f({ type: 'end-of-call-report', timestamp: 1, call: { id: 'x' } }, null)
  for (const type of liveKinds) f({ type }, null)
})

t.test('what only JSON.parse can tell is left to it', async t => {
  const scanner = new VoiceLiveScanner()
  const f = (body: string): void => {
    t.equal(scanner.kindOf(Buffer.from(body)), null, body)
  }
  f('')
  f('[]')
  f('{"message":[]}')
  f('{"message":{"type":"status-update","status":"ended"}')
  f('{"message":{"type":"status-update","status":"ended"}}}')
  f('{"message":{"type":"status-update","status":"ended"},"message":{}}')
  f('{"message":{"type":"status-update","status":"ended","type":"other"}}')
  f(`{"message":{"type":"status-update","status":${'['.repeat(70)}${']'.repeat(70)}}}`)
})

t.test(`${BODIES} mutated bodies are named as by JSON.parse, seed ${SEED}`, async t => {
  const tally = fuzzVoiceLive(createRandom(SEED), BODIES)
  t.comment(JSON.stringify(tally))
  t.ok(tally.live > BODIES / 10, 'the scan names many of them')
})
