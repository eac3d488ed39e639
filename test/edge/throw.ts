// Many raw requests at a port: written on connections beside each other, a few at once on each, without waiting for answers that may
// never come.
import { connect } from 'node:net'
import { createRandom, type Random } from '#proto/scan/fuzz/random.ts'
import { anyRequest } from '#test/edge/requests.ts'

/** Connections at a time. */
const LINES = 128
/** Requests that are written at once, at times: where one of them is no request or waits for the query node, those behind it are not read. */
const TOGETHER = 3
const RARELY = 12
/** How long a connection is given for the first byte of an answer. */
const PATIENCE_MS = 25

/** Throws `count` requests; resolves with the number of connections that it took. Rejects where nobody listens. */
export async function throwRequests(port: number, count: number, seed: number): Promise<number> {
  let left = count
  let connections = 0
  const thrower = async (random: Random): Promise<void> => {
    while (left > 0) {
      connections++
      await onOneConnection(port, () => {
        const some = Math.min(left, random.below(RARELY) === 0 ? TOGETHER : 1)
        left -= some
        let text = ''
        for (let i = 0; i < some; i++) text += anyRequest(random)
        return text === '' ? null : Buffer.from(text, 'latin1')
      })
    }
  }
  await Promise.all(Array.from({ length: LINES }, (_, line) => thrower(createRandom(seed * 1000 + line + 1))))
  return connections
}

/** Writes what `next` gives until it gives nothing, or the connection has ended or is not answered in time. */
function onOneConnection(port: number, next: () => Buffer | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let quiet: NodeJS.Timeout | undefined
    const write = (): void => {
      clearTimeout(quiet)
      const bytes = next()
      if (bytes === null) return void socket.destroy()
      socket.write(bytes)
      quiet = setTimeout(() => socket.destroy(), PATIENCE_MS)
    }
    socket.on('connect', write)
    socket.on('data', write)
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // Cut is what many of these deserve; but somebody must listen.
      if (error.code === 'ECONNREFUSED') reject(error)
    })
    socket.on('close', () => {
      clearTimeout(quiet)
      resolve()
    })
  })
}
