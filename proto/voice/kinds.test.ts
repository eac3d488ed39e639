import t from 'tap'
import { liveKindOf } from './kinds.ts'

const call = { id: 'c', customer: { number: '+1' }, status: 'in-progress' }

t.test('live messages are known by their type and a field of their own', async t => {
  const f = (message: Record<string, unknown>, kind: string) => {
    t.equal(liveKindOf({ message: { call, ...message } }), kind)
  }
  f({ type: 'status-update', status: 'in-progress' }, 'status-update')
  f({ type: 'status-update', status: 'ended', endedReason: 'hangup', artifact: {} }, 'status-update')
  f({ type: 'conversation-update', messages: [] }, 'conversation-update')
  f({ type: 'speech-update', status: 'started', role: 'assistant' }, 'speech-update')
  f({ type: 'transcript', role: 'user', transcriptType: 'final', transcript: 'Hi' }, 'transcript')
  f({ type: 'transcript[transcriptType="final"]', transcriptType: 'final' }, 'transcript')
  f({ type: 'hang', timestamp: 1_789_999_000_000 }, 'hang')
  f({ type: 'tool-calls', toolCallList: [] }, 'tool-calls')
  f({ type: 'function-call', functionCall: {} }, 'function-call')
  f({ type: 'assistant-request', timestamp: 1_789_999_000_000 }, 'assistant-request')
  f({ type: 'model-output', output: 'Hi' }, 'model-output')
  f({ type: 'user-interrupted', turnId: '1' }, 'user-interrupted')
})

t.test('a report of a wrong type, and what is nothing at all, are no live messages', async t => {
  const f = (body: unknown) => t.equal(liveKindOf(body), null)
  const report = { call, transcript: 'AI: Hello\nUser: Hi', cost: 1, endedReason: 'hangup' }
  f({ message: { ...report, type: 'end-of-call-report' } })
  for (const type of ['status-update', 'hang', 'transcript', 'tool-calls', 'assistant-request'])
    f({ message: { ...report, type } })
  f({ message: { ...report, type: 'something-else', status: 'x', timestamp: 1 } })
  f({ message: { type: 'constructor', timestamp: 1 } })
  f({ message: { type: ['status-update'], status: 'x' } })
  f({ type: 'status-update', status: 'x' })
  f({ message: 'hang' })
  f(null)
  f([])
})
