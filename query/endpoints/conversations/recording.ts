// GET /dashboard/api/conversation-audio/{token}: the recording of a call, through us. The platform's own address stays with us, and a
// page can be led nowhere by it.
import { extname } from 'node:path'
import { ConversationAudioRequest } from '#proto/dashboard/conversations.ts'
import { ParleyError } from '#proto/errors.ts'
import { requireConversation } from '../../asked-conversation.ts'
import { Chunks, endpoint } from '../../endpoint.ts'
import { Piped, Reply } from '../../reply.ts'
import { findConversation } from './find.ts'

/** Six hours of uncompressed stereo speech. */
const RECORDING_MAX_BYTES = 1024 * 1024 * 1024
/** One range: players ask for no more. */
const RANGE = /^bytes=(?:\d{1,15}-\d{0,15}|-\d{1,15})$/
const AUDIO_TYPE = /^audio\/[\w.+-]{1,80}$/
/** Storage that knows bytes only. */
const BYTES_TYPE = /^(?:application|binary)\/octet-stream$/
const TYPE_OF_NAME: Readonly<Record<string, string>> = {
  ...{ '.wav': 'audio/wav', '.mp3': 'audio/mpeg', '.m4a': 'audio/mp4', '.ogg': 'audio/ogg', '.opus': 'audio/ogg' },
  ...{ '.flac': 'audio/flac', '.webm': 'audio/webm' },
}
/** Headers of the recording that are told as they are, by what they may say. */
const PASSED = {
  'content-length': /^\d{1,15}$/,
  'content-range': /^bytes (?:\d{1,15}-\d{1,15}|\*)\/(?:\d{1,15}|\*)$/,
  'accept-ranges': /^(?:bytes|none)$/,
  etag: /^(?:W\/)?"[\x21\x23-\x7e]{0,200}"$/,
  'last-modified': /^[\w ,:+-]{10,60}$/,
} as const

/** Where the recording of a captured call is. @throws ParleyError QRY_NOT_FOUND */
export function recordingOf(session: { readonly recording_url: string } | undefined): string {
  const url = session?.recording_url ?? ''
  // Whoever reported the call wrote the address.
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new ParleyError('QRY_NOT_FOUND', 'the conversation has no recording', { field: 'conversation_id' })
  }
  return url
}

export const conversationRecording = endpoint({
  method: 'GET',
  path: '/dashboard/api/conversation-audio/{token}',
  auth: 'signed',
  about: 'The recording of a conversation, whole or by range, at the address that conversation-audio has answered.',
  request: ConversationAudioRequest,
  response: Chunks,
  produces: 'audio/*',
  errors: ['OUT_FENCED', 'OUT_FAILED', 'OUT_RATE'],
  work: async ({ reader, organization, outgoing, visitor, signal }, request) => {
    const { session } = await findConversation(reader, requireConversation(organization.id, request))
    const { range, 'if-range': ifRange } = visitor.headers
    const asked = typeof range === 'string' && RANGE.test(range)
    const { status, headers, body, url } = await outgoing.get(recordingOf(session), {
      headers: {
        accept: 'audio/*',
        ...(asked ? { range, ...(typeof ifRange === 'string' ? { 'if-range': ifRange } : {}) } : {}),
      },
      ...{ signal, of: organization.id, maxBytes: RECORDING_MAX_BYTES },
    })
    const refuse = (error: ParleyError): never => {
      body.destroy()
      throw error
    }
    const told: Record<string, string> = {}
    for (const [name, pattern] of Object.entries(PASSED)) {
      const value = headers[name]
      if (typeof value === 'string' && pattern.test(value)) told[name] = value
    }
    if (status === 416) {
      body.destroy()
      const { 'content-range': size } = told
      return new Reply(null, { status, headers: size === undefined ? {} : { 'content-range': size } })
    }
    if (status === 404 || status === 410) refuse(new ParleyError('QRY_NOT_FOUND', 'the recording is no longer kept'))
    if (status !== 200 && status !== 206) refuse(failed(`it was answered ${status}`))
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') refuse(failed('it is compressed'))
    if (Number(told['content-length'] ?? 0) > RECORDING_MAX_BYTES) refuse(failed('it is too large'))
    const type = audioType(headers['content-type'], url)
    if (type === undefined) return refuse(failed('it is no audio'))
    return new Piped(body, { status, headers: { ...told, ...OF_PLAYERS, 'content-type': type } })
  },
})

/** Pages of other origins play it, too: whoever has the address may. */
const OF_PLAYERS = {
  'cross-origin-resource-policy': 'cross-origin',
  'content-security-policy': "default-src 'none'; media-src 'self'; frame-ancestors 'none'",
  'content-disposition': 'inline',
}

const failed = (why: string): ParleyError => new ParleyError('OUT_FAILED', why)

function audioType(said: string | undefined, url: URL): string | undefined {
  const type = said?.split(';')[0]?.trim().toLowerCase() ?? ''
  if (AUDIO_TYPE.test(type)) return type
  return BYTES_TYPE.test(type) ? TYPE_OF_NAME[extname(url.pathname).toLowerCase()] : undefined
}
