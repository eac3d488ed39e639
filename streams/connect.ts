// One way to open a NATS connection: reconnects for ever, says so in the log, never keeps a token in a log line.

import type { ConnectionOptions, NatsConnection } from '@nats-io/transport-node'
import { connect as dial, errors } from '@nats-io/transport-node'
import { ParleyError } from '#proto/errors.ts'
import type { Log } from '#runtime/log.ts'
import { addressesOf, placeOf } from '#streams/address.ts'

const DIAL_MS = 3_000

/**
 * Connects to `url` (user, password or token may stand in it; several servers of a cluster, separated by commas) and keeps the connection over restarts of the server.
 * `name` shows in the server's own connection list. Waits up to `timeoutMs` for the first connection.
 * @throws ParleyError RUN_ENGINE_AWAY naming the servers, never their credentials.
 */
export async function connect(options: {
  url: string
  name: string
  log: Log
  timeoutMs?: number
}): Promise<NatsConnection> {
  const { log } = options
  const servers = addressesOf(options.url)
  const { user, pass, token } = servers[0]
  const timeoutMs = options.timeoutMs ?? 10_000
  const nc = await dialUntil(performance.now() + timeoutMs, {
    servers: servers.map(placeOf),
    ...(user === undefined ? {} : { user, pass }),
    ...(token === undefined ? {} : { token }),
    name: options.name,
    // A server that takes connections and says nothing (stopped, or cut off) must not use up the time of the others.
    timeout: servers.length === 1 ? timeoutMs : Math.min(timeoutMs, DIAL_MS),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
    reconnectJitter: 100,
    // A server that is killed leaves half-open sockets: find out within seconds.
    pingInterval: 5_000,
    maxPingOut: 2,
    noAsyncTraces: true,
  })
  void (async () => {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect') log.warn({ connection: options.name }, 'NATS connection lost; reconnecting')
      if (status.type === 'reconnect') log.info({ connection: options.name }, 'NATS connection back')
      if (status.type === 'error') log.warn({ connection: options.name, err: status.error }, 'NATS error')
    }
  })()
  return nc
}

/** Dials until somebody answers: a server that is just being restarted refuses for a moment. Wrong credentials fail at once. */
async function dialUntil(
  deadline: number,
  options: ConnectionOptions & { servers: readonly string[] },
): Promise<NatsConnection> {
  for (;;) {
    try {
      return await dial(options)
    } catch (error) {
      if (error instanceof errors.AuthorizationError || performance.now() > deadline) {
        const why = error instanceof Error ? error.message : String(error)
        throw new ParleyError('RUN_ENGINE_AWAY', `NATS at ${options.servers.join(', ')}: ${why}`, { cause: error })
      }
    }
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}
