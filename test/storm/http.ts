// A client as SDKs have one: a body goes out over a kept connection, a status comes back, or 0 when no answer came.
import { Agent, request } from 'node:http'

/** What real SDKs and exporters wait. */
const ANSWER_MS = 10_000
/** Long enough to be met closed by a server that has left, as with real agents. */
const IDLE_MS = 20_000

/** What is sent. */
export interface Post {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Exporters of Node send without a length. */
  readonly chunked?: boolean
}

/** What came back; status 0 = no answer: the connection broke, was refused, or nothing came in time. */
export interface Answer {
  readonly status: number
  readonly retryAfterS: number
  /** Why no answer came; '' when one did. */
  readonly why: string
}

export type Client = (post: Post) => Promise<Answer>

/** A client of one address. `close` ends its connections. */
export function createClient(port: number, answerMs = ANSWER_MS): { readonly post: Client; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1_000, maxFreeSockets: 64, timeout: IDLE_MS })
  const post: Client = ({ path, headers, body, chunked = false }) =>
    new Promise(resolve => {
      let late = false
      const none = (error?: NodeJS.ErrnoException): void => {
        const how = asked.reusedSocket ? 'kept connection' : 'new connection'
        resolve({ status: 0, retryAfterS: 0, why: late ? 'not in time' : `${error?.code ?? 'closed'}, ${how}` })
      }
      const length = chunked ? {} : { 'content-length': String(body.byteLength) }
      const asked = request(
        { agent, host: '127.0.0.1', port, method: 'POST', path, headers: { ...headers, ...length } },
        answer => {
          const { statusCode = 0 } = answer
          const retryAfterS = Number(answer.headers['retry-after'] ?? 0)
          // The head is the receipt; a body that breaks off takes nothing back.
          answer.once('error', none).resume()
          resolve({ status: statusCode, retryAfterS, why: '' })
        },
      )
      const timer = setTimeout(() => {
        late = true
        asked.destroy()
      }, answerMs)
      asked.once('close', () => {
        clearTimeout(timer)
        none()
      })
      asked.once('error', none)
      if (!chunked) asked.end(body)
      else {
        const half = body.byteLength >> 1
        asked.write(body.subarray(0, half))
        asked.end(body.subarray(half))
      }
    })
  return { post, close: () => agent.destroy() }
}
