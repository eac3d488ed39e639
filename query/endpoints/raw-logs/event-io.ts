// POST /dashboard/api/event-io: the whole input and output of one event, as they are shown or as an SDK sent them, and what was said in it
// beyond them.
import { EventIoRequest, EventIoResponse } from '#proto/dashboard/raw-logs.ts'
import { ParleyError } from '#proto/errors.ts'
import { OWN_PREFIX } from '#proto/metadata-keys.ts'
import { FORM_NOTES, sentText } from '#proto/sdk/sent-text.ts'
import { placeOf } from '../../answers.ts'
import { endpoint } from '../../endpoint.ts'
import { type EventRecord, findEvent } from '../../reads/events.ts'
import { readLenders } from '../../reads/lenders.ts'
import { readContent, readTexts, type Side, type Texts, WHOLE } from '../../reads/texts.ts'

export const eventIo = endpoint({
  method: 'POST',
  path: '/dashboard/api/event-io',
  auth: 'any',
  polled: true,
  about:
    'Input and output of one event, uncut, null where nothing was captured; and what else was said in it. `raw`: as an SDK sent them.',
  request: EventIoRequest,
  response: EventIoResponse,
  work: async ({ reader }, request) => {
    const event = await findEvent(reader, request.event_id)
    if (event === undefined) throw new ParleyError('QRY_NOT_FOUND', 'no such event', { field: 'event_id' })
    const lenders = await readLenders(reader, [event])
    const [texts, content] = await Promise.all([readTexts(reader, [event], WHOLE, lenders), readContent(reader, event)])
    const { input: from = event, output: to = event } = lenders.get(event.event_id) ?? {}
    const said = texts.get(event.event_id)
    const [input, output] =
      request.raw === true ? [rawOf(said, 'input', event), rawOf(said, 'output', event)] : [said?.input, said?.output]
    return {
      ...placeOf(event),
      input: input ?? null,
      output: output ?? null,
      input_bytes: request.raw === true ? Buffer.byteLength(input ?? '') : from.input_bytes,
      output_bytes: request.raw === true ? Buffer.byteLength(output ?? '') : to.output_bytes,
      content,
    }
  },
})

/** A text as it was sent. Of one that is no longer kept whole, what is left of it is shown. */
function rawOf(texts: Texts | undefined, side: Side, { metadata }: Pick<EventRecord, 'metadata'>): string | null {
  const text = texts?.[side] ?? null
  if (text === null || texts?.[`${side}_truncated`] === true) return text
  return sentText(text, side, metadata[OWN_PREFIX + FORM_NOTES[side]])
}
