// Ports of this machine: free ones for the engines, and a probe that tells whether a port can be had for oneself alone.
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import { ParleyError } from '#proto/errors.ts'
import { cannotListen, type Listening } from '#runtime/listening.ts'

/**
 * Engines get ports below the range from which the system picks the local ends of outgoing connections (32768 and up on Linux,
 * 49152 on macOS). Inside that range a client that redials a dead engine can be given the engine's own port: it then connects
 * to itself, and the engine cannot come back.
 */
const LOWEST = 20_000
const HIGHEST = 32_000
const ATTEMPTS = 200

/** Why a port cannot be had for oneself alone, as the system's code (EADDRINUSE, EACCES, …); undefined when it can. */
export function probePort(port: number, host = '127.0.0.1'): Promise<string | undefined> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    // Exclusive: without SO_REUSEPORT, so that it fails even where the owner would share the port.
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}

/**
 * A port on 127.0.0.1 that is free now and that nobody else is given by this function while this process lives, in whatever process:
 * between the choice and the engine that listens, and while an engine is being restarted, it would look free to all of them.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = randomInt(LOWEST, HIGHEST)
    const release = await reserve(port)
    if (release === undefined) continue
    if ((await probePort(port)) === undefined) return port
    release()
  }
  throw new Error(`no free port between ${LOWEST} and ${HIGHEST}`)
}

/** Takes the UDP port of the same number, which no engine uses: the mark of a reservation, gone with its process, however it ends. */
function reserve(port: number): Promise<(() => void) | undefined> {
  return new Promise(resolve => {
    const socket = createSocket('udp4')
    socket.once('error', () => {
      socket.close()
      resolve(undefined)
    })
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => {
      socket.unref()
      resolve(() => socket.close())
    })
  })
}

/**
 * Refuses to start over ports that someone else has, and over hosts that are none of this machine; of port 0 (a free one) only the latter. Receivers share their ports with each
 * other (SO_REUSEPORT), so without this a second instance would share them too, silently.
 * @throws ParleyError RUN_PORT_IN_USE or CFG_INVALID, naming the variable.
 */
export async function refuseTakenPorts(wanted: readonly Listening[]): Promise<void> {
  const seen = new Map<number, string>()
  for (const place of wanted) {
    const { port, host, portVariable } = place
    const other = seen.get(port)
    if (other !== undefined) throw new ParleyError('CFG_INVALID', `${other} and ${portVariable} are both ${port}`)
    if (port !== 0) seen.set(port, portVariable)
    const code = await probePort(port, host)
    if (code !== undefined) throw cannotListen(code, place)
  }
}
