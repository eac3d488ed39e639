// Ports of this machine: free ones for the engines, and a probe that tells whether a port can be had for oneself alone.
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { ParleyError } from '#proto/errors.ts'

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

/** A port on 127.0.0.1 that is free now. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = randomInt(LOWEST, HIGHEST)
    if ((await probePort(port)) === undefined) return port
  }
  throw new Error(`no free port between ${LOWEST} and ${HIGHEST}`)
}

/**
 * Refuses to start over ports that someone else has; port 0 (a free one) is always fine. Receivers share their ports with each
 * other (SO_REUSEPORT), so without this a second instance would share them too, silently.
 * @throws ParleyError RUN_PORT_IN_USE or CFG_INVALID, naming port and variable.
 */
export async function refuseTakenPorts(
  wanted: readonly { variable: string; port: number; host: string }[],
): Promise<void> {
  const seen = new Map<number, string>()
  for (const { variable, port, host } of wanted.filter(each => each.port !== 0)) {
    const other = seen.get(port)
    if (other !== undefined) throw new ParleyError('CFG_INVALID', `${other} and ${variable} are both ${port}`)
    seen.set(port, variable)
    const code = await probePort(port, host)
    if (code === 'EADDRINUSE') {
      throw new ParleyError('RUN_PORT_IN_USE', `${port} on ${host}; set ${variable} to another one or end what uses it`)
    }
    if (code !== undefined) {
      throw new ParleyError('CFG_INVALID', `${variable}: ${host}:${port} cannot be listened on (${code})`)
    }
  }
}
