// A server's address -> a socket on which both have greeted each other and an inbox is subscribed; encrypted when the server wants it.
// What the server says is read for as long as the socket lives.
import type { Socket } from 'node:net'
import { connect as dial, isIP } from 'node:net'
import { connect as secure } from 'node:tls'
import { ParleyError } from '#proto/errors.ts'
import type { NatsAddress } from '#streams/address.ts'
import { LineReader } from '#streams/line-reader.ts'

const DIAL_MS = 5_000
const READ_BYTES = 64 * 1024

/** What a server says of itself, as far as it matters here. */
export interface ServerInfo {
  readonly max_payload?: number
  readonly tls_required?: boolean
  readonly tls_available?: boolean
  /** The other servers of its cluster. */
  readonly connect_urls?: readonly string[]
}

/** What is heard on the socket; see LineEvents. */
export interface LineHearing {
  info(info: ServerInfo): void
  pong(): void
  error(text: string): void
  message(number: number, data: Uint8Array, hasHeaders: boolean): void
}

/** Who dials whom. */
export interface LineCall {
  readonly server: NatsAddress
  readonly name: string
  /** Messages to `<inbox>.*` are heard. */
  readonly inbox: string
}

/** Resolves once the server has taken the greeting and the subscription; rejects with what it says, or why it cannot be reached. */
export function dialLine(call: LineCall, hearing: LineHearing): Promise<Socket> {
  const { server } = call
  return new Promise((resolve, reject) => {
    let failure: Error = new ParleyError('RUN_ENGINE_AWAY', 'NATS closed the connection')
    let greeted = false
    const fail = (error: Error): void => {
      failure = error
      hearing.error(error.message)
      socket.destroy()
    }
    const reader = new LineReader({
      info: json => {
        const info = JSON.parse(json) as ServerInfo
        hearing.info(info)
        if (greeted) return
        greeted = true
        if (info.tls_required || info.tls_available) encrypt()
        socket.write(`CONNECT ${introductionOf(call)}\r\nSUB ${call.inbox}.* 1\r\nPING\r\n`)
      },
      ping: () => void socket.write('PONG\r\n'),
      pong: () => {
        clearTimeout(timer)
        hearing.pong()
        resolve(socket)
      },
      error: text => {
        failure = new ParleyError('RUN_ENGINE_AWAY', `NATS says ${text}`)
        hearing.error(text)
      },
      message: hearing.message,
    })
    const read = (piece: Buffer): void => {
      try {
        reader.push(piece)
      } catch (error) {
        fail(error as Error)
      }
    }
    const watch = (one: Socket): void => {
      one.on('error', error => {
        failure = error
      })
      one.on('close', () => {
        clearTimeout(timer)
        reject(failure)
      })
    }
    const encrypt = (): void => {
      const { tlsName } = server
      // An address has to be proven like a name, but must not be asked for by name.
      const encrypted = secure({ socket, host: tlsName, ...(isIP(tlsName) === 0 ? { servername: tlsName } : {}) })
      watch(encrypted)
      encrypted.on('data', read)
      socket = encrypted
    }
    let socket = dialSocket(server, read)
    watch(socket)
    const timer = setTimeout(() => {
      // Told to the caller alone: while a server is away every try ends so.
      failure = new ParleyError('RUN_ENGINE_AWAY', 'NATS does not answer')
      socket.destroy()
    }, DIAL_MS)
  })
}

/** Everything is read into one buffer: the socket's own way allocates 64 KiB for each piece. */
function dialSocket({ host, port }: NatsAddress, read: (piece: Buffer) => void): Socket {
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
  const callback = (bytes: number): boolean => {
    read(buffer.subarray(0, bytes))
    return true
  }
  return dial({ host, port, noDelay: true, onread: { buffer, callback } })
}

/** The client's side of the greeting. */
function introductionOf({ server, name }: LineCall): string {
  const { user, pass, token } = server
  return JSON.stringify({
    verbose: false,
    pedantic: false,
    headers: true,
    no_responders: true,
    protocol: 1,
    lang: 'node',
    version: process.versions.node,
    name,
    ...(user === undefined ? {} : { user, pass }),
    ...(token === undefined ? {} : { auth_token: token }),
  })
}
