// Server-sent events: values -> frames, and how a stream of them ends.
import { errors, isParleyError } from '#proto/errors.ts'

/** A frame; `id` is where the client may go on. */
export function frame(value: unknown, id?: number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(value)}\n\n`
}

/** Keeps proxies from closing the connection, and moves the id on where nothing was to tell. */
export const heartbeat = (id: number): string => `: heartbeat\nid: ${id}\n\n`

/** The frames of a stream, then how it ended: well, or with an error after the first frame. */
export async function* framed(frames: AsyncIterable<string>): AsyncGenerator<string> {
  try {
    yield* frames
  } catch (error) {
    if (isParleyError(error) && error.code === 'QRY_CANCELLED') return
    const code = isParleyError(error) ? error.code : 'INTERNAL'
    yield frame({ error: errors[code].text, code })
  }
  yield 'data: [DONE]\n\n'
}
