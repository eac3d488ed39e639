// The worker of tests: the real parsers, and payloads that misbehave on request by their `primitive_name`.
import type { FrameParser, ParseOutcome } from './outcome.ts'
import { parseTraces } from './parsers/otlp.ts'
import { parseEvent, parseSession } from './parsers/sdk.ts'
import { parseVoice } from './parsers/voice.ts'
import { createWorker } from './worker-task.ts'

/** Never changes, and nobody tells of it. */
const NEVER = new Int32Array(new SharedArrayBuffer(4))

const misbehaving: FrameParser = (body, content, context) => {
  const text = Buffer.from(body).toString()
  if (text.includes('"poison-exit"')) process.exit(3)
  // A loop without an end that takes no core from what runs beside it.
  if (text.includes('"poison-spin"')) for (;;) Atomics.wait(NEVER, 0, 0, 20)
  if (text.includes('"poison-throw"')) throw new Error('thrown by the parser')
  return text.includes('"poison-refused"')
    ? refusable(parseEvent(body, content, context))
    : parseEvent(body, content, context)
}

const voice: FrameParser = (body, content, context) => {
  const outcome = parseVoice(body, content, context)
  return Buffer.from(body).toString().includes('"poison-refused"') ? refusable(outcome) : outcome
}

/** The same with rows that only the store can refuse. */
function refusable(outcome: ParseOutcome): ParseOutcome {
  if ('dead' in outcome) return outcome
  return {
    units: outcome.units.map(unit => ({ ...unit, events: unit.events.map(row => ({ ...row, span_id: 'no number' })) })),
  }
}

export default createWorker({
  session: parseSession,
  event: misbehaving,
  voice,
  otlp: parseTraces,
})
