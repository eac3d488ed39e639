// Where a NATS server is and how to say who one is, from a URL; and the servers of its cluster, from what it says of them.
import { ParleyError } from '#proto/errors.ts'

/** An address and credentials. */
export interface NatsAddress {
  readonly host: string
  readonly port: number
  /** Name that an encrypting server has to prove. */
  readonly tlsName: string
  readonly user?: string
  readonly pass?: string
  /** A URL with a user and no password carries a token. */
  readonly token?: string
}

const DEFAULT_PORT = 4222

/**
 * The servers named in a setting, separated by commas. Those without credentials take the first one's.
 * @throws ParleyError CFG_INVALID when two name different credentials: a client says one name to all servers of a cluster.
 */
export function addressesOf(urls: string): readonly [NatsAddress, ...NatsAddress[]] {
  const [text = '', ...texts] = urls.split(',')
  const first = addressOf(text)
  const others = texts.map(each => {
    const { host, port, tlsName, ...own } = addressOf(each)
    const { user, pass, token } = { ...first, ...own }
    if (user !== first.user || pass !== first.pass || token !== first.token) {
      throw new ParleyError('CFG_INVALID', 'NATS_URL names servers with different credentials')
    }
    return { ...first, host, port, tlsName }
  })
  return [first, ...others]
}

/** `host:port`, with the brackets of an IPv6 address. */
export function placeOf({ host, port }: Pick<NatsAddress, 'host' | 'port'>): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** The address in a URL. */
export function addressOf(url: string): NatsAddress {
  const parsed = new URL(url)
  const host = bare(parsed.hostname)
  const place = { host, port: Number(parsed.port || DEFAULT_PORT), tlsName: host }
  const user = decodeURIComponent(parsed.username)
  if (parsed.password !== '') return { ...place, user, pass: decodeURIComponent(parsed.password) }
  return user === '' ? place : { ...place, token: user }
}

/**
 * The configured servers first, then those that their cluster names (`host:port`), which take the same credentials and prove the
 * name of the first.
 */
export function serversOf(
  configured: readonly [NatsAddress, ...NatsAddress[]],
  urls: readonly string[],
): readonly [NatsAddress, ...NatsAddress[]] {
  const servers: [NatsAddress, ...NatsAddress[]] = [...configured]
  for (const text of urls) {
    const { hostname, port } = new URL(`nats://${text}`)
    const server = { ...configured[0], host: bare(hostname), port: Number(port || DEFAULT_PORT) }
    if (!servers.some(one => one.host === server.host && one.port === server.port)) servers.push(server)
  }
  return servers
}

/** Brackets belong to the URL, not to an IPv6 address. */
function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
