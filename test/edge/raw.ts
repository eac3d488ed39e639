// Bytes to a port as they are, and what came back: for requests that no HTTP client would write.
import { connect, type Socket } from 'node:net'

/** One answer on a connection. */
export interface RawAnswer {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** A connection on which anything can be written. */
export interface Line {
  write(bytes: string | Uint8Array): void
  /** What has come so far. */
  answers(): readonly RawAnswer[]
  /** Resolves when there are `count` answers, or when the other side has closed. */
  answered(count: number): Promise<readonly RawAnswer[]>
  /** Resolves with all answers when the other side has closed. */
  readonly closed: Promise<readonly RawAnswer[]>
  /** The same as bytes. */
  readonly bytes: Promise<Buffer>
  isOpen(): boolean
  destroy(): void
}

/** Opens a connection to a port of this machine. Text is written as Latin-1: each character one byte. */
export function openLine(port: number): Line {
  const socket: Socket = connect(port, '127.0.0.1')
  let received = Buffer.alloc(0)
  let open = true
  let wake = (): void => {}
  const answers = (): readonly RawAnswer[] => readAnswers(received)
  socket.on('data', chunk => {
    received = Buffer.concat([received, chunk])
    wake()
  })
  // Cut connections are what such requests are for.
  socket.on('error', () => {})
  const closed = new Promise<readonly RawAnswer[]>(resolve => {
    socket.on('close', () => {
      open = false
      wake()
      resolve(answers())
    })
  })
  return {
    write: bytes => void socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes),
    answers,
    answered: async count => {
      for (;;) {
        const some = answers()
        if (some.length >= count || !open) return some
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    },
    closed,
    bytes: closed.then(() => received),
    isOpen: () => open,
    destroy: () => socket.destroy(),
  }
}

/** The whole answers at the beginning of some bytes; none of them may be to a HEAD. */
export function readAnswers(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = []
  let at = 0
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n', at)
    if (end < 0) return answers
    const head = bytes.toString('latin1', at, end)
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1])
    const body = /^transfer-encoding: chunked$/im.test(head)
      ? readChunks(bytes, end + 4)
      : readPlain(bytes, end + 4, Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0))
    if (body === null) return answers
    if (status >= 200) answers.push({ status, head, body: body.text })
    at = body.end
  }
}

function readPlain(bytes: Buffer, from: number, length: number): { text: string; end: number } | null {
  const end = from + length
  return end > bytes.length ? null : { text: bytes.toString('utf8', from, end), end }
}

function readChunks(bytes: Buffer, from: number): { text: string; end: number } | null {
  const parts: Buffer[] = []
  for (let at = from; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return null
    const length = Number.parseInt(bytes.toString('latin1', at, line), 16)
    const end = line + 2 + length
    if (end + 2 > bytes.length) return null
    if (length === 0) return { text: Buffer.concat(parts).toString('utf8'), end: end + 2 }
    parts.push(bytes.subarray(line + 2, end))
    at = end + 2
  }
}
