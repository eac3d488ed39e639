// What the doctor looks at, and what it says.
import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Store } from '#store/client.ts'

/** One thing that was looked at. `fail`: numbers are wrong, or payloads are or will be refused. */
export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly said: string
  /** What to do; absent when nothing has to be done. */
  readonly fix?: string
}

/** A running instance. */
export interface Patient {
  readonly nc: NatsConnection
  readonly store: Store
  readonly control: KV
  readonly cursors: KV
  readonly leases: KV
  readonly partitions: number
}

/** The first state whose condition holds. */
export const stateOf = (fails: boolean, warns: boolean): Finding['state'] => (fails ? 'fail' : warns ? 'warn' : 'ok')

/** A finding whose advice is left out when all is well. */
export function finding(check: string, state: Finding['state'], said: string, fix: string): Finding {
  return state === 'ok' ? { check, state, said } : { check, state, said, fix }
}
