// Two receivers over one NATS are one to their senders: the same answers to the byte, a session of one is known to the other at once,
// and when one is told to stop in the middle of it all, nothing that either acknowledged is missing.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { Receiver } from '#test/receiver-rig.ts'
import { startReceiverSystem } from '#test/receiver-rig.ts'
import { eventually } from '#test/rig.ts'

// However slow the machine is: a payload is held until it is stored.
const PATIENT = { PARLEY_HOLD_MS: '60000' }
const system = await startReceiverSystem(t)
const [one, two] = await Promise.all([system.startReceiver(PATIENT), system.startReceiver(PATIENT)])
const ORG = { 'x-org-id': system.organization }
const [SESSION, EVENT, VOICE] = [
  '/api/v1/capture-session',
  '/api/v1/capture-event',
  '/api/voice/v1/webhooks/voice-platform',
]

interface Call {
  readonly path: string
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer but for what must differ: the time of day, and the place in the streams. */
async function answerOf(receiver: Receiver, { path, body, headers = ORG }: Call): Promise<object> {
  const answer = await fetch(receiver.baseUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const fields = [...answer.headers].filter(([name]) => name !== 'date' && name !== 'x-parley-receipt')
  const receipt = (answer.headers.get('x-parley-receipt') ?? '-').replaceAll(/\d+/g, 'n')
  return { path, status: answer.status, fields, receipt, text: await answer.text() }
}

t.test('both give the same answers, to what is taken, taken again and refused', async t => {
  const session_id = randomUUID()
  const event = { session_id, event_id: randomUUID(), primitive_name: 'a' }
  const span = { traceId: randomUUID().replaceAll('-', ''), spanId: '00f067aa0ba902b7', name: 'chat' }
  const traces = { resourceSpans: [{ scopeSpans: [{ spans: [span, { ...span, spanId: '0' }] }] }] }
  const calls: Call[] = [
    { path: SESSION, body: { session_id, client_config: 'x' } },
    { path: EVENT, body: event },
    { path: EVENT, body: { ...event, primitive_type: 'tool', success: true, latency: 1.5 } },
    { path: EVENT, body: { ...event, event_id: 'x' } },
    { path: EVENT, body: '{"session_id":' },
    { path: EVENT, body: event, headers: {} },
    { path: EVENT, body: event, headers: { 'x-org-id': system.inactive } },
    { path: EVENT, body: event, headers: { ...ORG, 'content-encoding': 'br' } },
    { path: VOICE, body: { message: { type: 'status-update', status: 'ringing', call: { id: 'c' } } } },
    { path: '/v1/traces', body: traces, headers: { 'x-service-org-id': system.organization } },
    { path: '/v1/logs', body: {}, headers: { 'x-service-org-id': system.organization } },
    { path: '/nowhere', body: {} },
  ]
  // The session first: it is the first receiver's, and the second one's repeat of it changes nothing.
  for (const call of calls) {
    const answers = await Promise.all([answerOf(one, call), answerOf(two, call)])
    t.strictSame(answers[1], answers[0], `${call.path} ${JSON.stringify(call.body).slice(0, 60)}`)
  }
})

t.test('sessions go to one and their events to the other; the first is told to stop, and nothing is lost', async t => {
  const taken = new Set<string>()
  const refused: string[] = []
  let running = true
  let stopping = false
  /** Sends until it is answered: a connection may have been closed before it carried this. False when the receiver has gone. */
  const send = async (receiver: Receiver, path: string, body: object, id: string): Promise<boolean> => {
    const headers = { ...ORG, 'content-type': 'application/json' }
    for (let attempt = 0; attempt < 20; attempt++) {
      const answer = await fetch(receiver.baseUrl + path, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      }).catch(() => null)
      await answer?.arrayBuffer().catch(() => null)
      if (answer?.status === 200) taken.add(id)
      // A receiver that stops gives its last requests so long; one that nobody stops gives them a minute.
      const leaves = stopping && receiver === one
      if (answer !== null && answer.status !== 200 && !leaves) refused.push(`${path} ${answer.status}`)
      if (answer !== null || leaves) return answer?.status === 200
    }
    refused.push(`${path} not answered at all`)
    return false
  }
  const sender = async (): Promise<void> => {
    while (running) {
      const session_id = randomUUID()
      const session = { session_id, client_config: 'x' }
      if (!(await send(one, SESSION, session, session_id))) await send(two, SESSION, session, session_id)
      const event_id = randomUUID()
      await send(two, EVENT, { session_id, event_id, primitive_name: 'a' }, event_id)
    }
  }
  const senders = Array.from({ length: 6 }, sender)
  await eventually('payloads flow', () => taken.size > 200)
  stopping = true
  await one.stop()
  const before = taken.size
  await eventually('they go on over the other one', () => taken.size > before + 100)
  running = false
  await Promise.all(senders)
  t.strictSame(refused, [], 'every answer was 200')
  const stored = new Set<string>()
  for (const { kind, bytes } of await system.stored()) {
    if (kind !== 'session' && kind !== 'event') continue
    const { session_id, event_id } = JSON.parse(bytes.toString()) as { session_id: string; event_id?: string }
    stored.add(event_id ?? session_id)
  }
  t.strictSame(
    [...taken].filter(id => !stored.has(id)),
    [],
    `none of ${taken.size} is missing`,
  )
})
