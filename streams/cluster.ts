// How many copies of streams and buckets a server may be trusted with, and what the servers of its cluster say of themselves.
import { createConnection } from 'node:net'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { ParleyError } from '#proto/errors.ts'

/**
 * Before it, several of those who compare and set one revision at a time were told that they had won (seen with 2.9.10 and three
 * copies, in 500 of 500 rounds). Owners rely on one winner.
 */
export const LEAST_WITH_COPIES = [2, 12] as const
const GREETING_MS = 2_000
const GREETING_MAX_BYTES = 64 * 1024

/** What a server says of itself. */
export interface ServerFacts {
  readonly name: string
  readonly version: string
  /** Name of its cluster; '' for a server of its own. */
  readonly cluster: string
}

/** True for versions before `least`. */
export function isOlder(version: string, least: readonly [major: number, minor: number]): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < least[0] || (major === least[0] && minor < least[1])
}

/** The server that one is connected to, and those of its cluster that answer. */
export async function serversAround(nc: NatsConnection): Promise<ServerFacts[]> {
  const { info } = nc
  if (info === undefined) throw new ParleyError('BUG', 'a connection without the greeting of its server')
  const others = await Promise.all((info.connect_urls ?? []).map(greetingOf))
  const all = [factsOf(info), ...others.filter(other => other !== undefined)]
  // A server is named several times when it has several addresses.
  return all.filter((one, at) => all.findIndex(({ name }) => name === one.name) === at)
}

/**
 * Several copies of streams and buckets only where compare-and-set has one winner.
 * @throws ParleyError CFG_INVALID when a server is too old, or of no cluster.
 */
export async function requireCopies(nc: NatsConnection, replicas: number): Promise<void> {
  if (replicas === 1) return
  const asked = `PARLEY_STREAM_REPLICAS=${replicas}`
  const servers = await serversAround(nc)
  const old = servers.find(({ version }) => isOlder(version, LEAST_WITH_COPIES))
  if (old !== undefined) {
    const least = LEAST_WITH_COPIES.join('.')
    throw new ParleyError('CFG_INVALID', `${asked} takes NATS ${least} or newer, and ${old.name} is ${old.version}`)
  }
  if (servers.some(({ cluster }) => cluster === '')) {
    throw new ParleyError('CFG_INVALID', `${asked} takes a cluster, and ${servers[0]?.name} is a server of its own`)
  }
}

/**
 * Gives a stream as many copies as are asked for. Never takes one away: a process that was started without the setting must not.
 * A bucket with several copies is read from its leader, because the others may be behind.
 */
export async function raiseCopies(jsm: JetStreamManager, stream: string, replicas: number): Promise<void> {
  const { config } = await jsm.streams.info(stream)
  if (config.num_replicas >= replicas) return
  const isBucket = stream.startsWith('KV_')
  await jsm.streams.update(stream, { num_replicas: replicas, ...(isBucket ? { allow_direct: false } : {}) })
}

interface Info {
  readonly server_name?: string
  readonly server_id?: string
  readonly version?: string
  readonly cluster?: string
}

function factsOf({ server_name, server_id, version, cluster }: Info): ServerFacts {
  return { name: server_name ?? server_id ?? '?', version: version ?? '0.0', cluster: cluster ?? '' }
}

/** The line with which a server greets everybody; undefined when it cannot be reached from here. */
function greetingOf(place: string): Promise<ServerFacts | undefined> {
  const { hostname, port } = new URL(`nats://${place}`)
  return new Promise(resolve => {
    const socket = createConnection({ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) })
    const end = (facts?: ServerFacts): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(facts)
    }
    const timer = setTimeout(end, GREETING_MS)
    let text = ''
    socket.setEncoding('utf8')
    socket.on('error', () => end())
    socket.on('close', () => end())
    socket.on('data', (piece: string) => {
      text += piece
      const greeting = /^INFO (\{.*\})\s*\r\n/.exec(text)?.[1]
      if (greeting !== undefined) end(factsOf(JSON.parse(greeting) as Info))
      else if (text.length > GREETING_MAX_BYTES) end()
    })
  })
}
