// What a storm is let loose on: parley, or the ordinary design that it is compared with.
import type { Ways } from './clients.ts'
import type { Disk } from './disks.ts'
import type { Oracle } from './oracle.ts'
import type { Fleet } from './processes.ts'
import type { Proxy } from './proxy.ts'

/** One comparison of a whole: an endpoint, a view, a recount of parley's own. */
export interface Check {
  readonly what: string
  readonly right: boolean
  readonly detail: string
}

/** The network between parts. */
export interface Proxies {
  readonly clients: readonly Proxy[]
  readonly nats: readonly Proxy[]
  readonly clickhouse: readonly Proxy[]
}

/** A running system with everything that can be done to it. */
export interface Target {
  readonly name: string
  /** Those that send, each with data of its own. */
  readonly organizations: readonly string[]
  readonly fleet: Fleet
  readonly proxies: Proxies
  readonly ways: Ways
  /** Disks that can be filled; a sentence says why there are none. */
  readonly disks: { readonly data: Disk; readonly clickhouse: Disk } | string
  /** No stream takes more than it holds (and `slackBytes`) until `on` is false. */
  limitStreams(on: boolean, slackBytes: number): Promise<void>
  /** Last positions of the streams. @throws while NATS doesn't answer. */
  positions(): Promise<readonly number[]>
  /** True when everything up to the positions is stored. @throws while NATS doesn't answer. */
  stored(upTo: readonly number[]): Promise<boolean>
  /** Enters every row of the store into the oracle, and compares all that is derived. The system is quiet. */
  compare(oracle: Oracle): Promise<readonly Check[]>
  /** Ends every process; `keep` leaves data and logs behind. */
  stop(keep: boolean): Promise<void>
}
