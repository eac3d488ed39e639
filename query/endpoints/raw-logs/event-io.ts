// POST /dashboard/api/event-io: the whole input and output of one event, and what was said in it beyond them.
import { EventIoRequest, EventIoResponse } from '#proto/dashboard/raw-logs.ts'
import { ParleyError } from '#proto/errors.ts'
import { placeOf } from '../../answers.ts'
import { endpoint } from '../../endpoint.ts'
import { findEvent } from '../../reads/events.ts'
import { readLenders } from '../../reads/lenders.ts'
import { readContent, readTexts, WHOLE } from '../../reads/texts.ts'

export const eventIo = endpoint({
  method: 'POST',
  path: '/dashboard/api/event-io',
  auth: 'any',
  polled: true,
  about: 'Input and output of one event, uncut, null where nothing was captured; and what else was said in it.',
  request: EventIoRequest,
  response: EventIoResponse,
  work: async ({ reader }, request) => {
    const event = await findEvent(reader, request.event_id)
    if (event === undefined) throw new ParleyError('QRY_NOT_FOUND', 'no such event', { field: 'event_id' })
    const lenders = await readLenders(reader, [event])
    const [texts, content] = await Promise.all([readTexts(reader, [event], WHOLE, lenders), readContent(reader, event)])
    const { input, output } = texts.get(event.event_id) ?? {}
    const { input: from = event, output: to = event } = lenders.get(event.event_id) ?? {}
    return {
      ...placeOf(event),
      input: input ?? null,
      output: output ?? null,
      input_bytes: from.input_bytes,
      output_bytes: to.output_bytes,
      content,
    }
  },
})
