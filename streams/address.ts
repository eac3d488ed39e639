// Where a NATS server is and how to say who one is, from a URL; and the servers of its cluster, from what it says of them.

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

/** The address in a URL. */
export function addressOf(url: string): NatsAddress {
  const parsed = new URL(url)
  const host = bare(parsed.hostname)
  const place = { host, port: Number(parsed.port || DEFAULT_PORT), tlsName: host }
  const user = decodeURIComponent(parsed.username)
  if (parsed.password !== '') return { ...place, user, pass: decodeURIComponent(parsed.password) }
  return user === '' ? place : { ...place, token: user }
}

/** The configured server first, then those of its cluster (`host:port`), which take the same credentials and prove the same name. */
export function serversOf(configured: NatsAddress, urls: readonly string[]): NatsAddress[] {
  const servers = [configured]
  for (const text of urls) {
    const { hostname, port } = new URL(`nats://${text}`)
    const server = { ...configured, host: bare(hostname), port: Number(port || DEFAULT_PORT) }
    if (!servers.some(one => one.host === server.host && one.port === server.port)) servers.push(server)
  }
  return servers
}

/** Brackets belong to the URL, not to an IPv6 address. */
function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
