// What people and programs did -> the audit table, by way of a stream: noted before the answer, stored soon after it.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { JsMsg } from '@nats-io/jetstream'
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'
import { Outage } from '#runtime/outage.ts'
import type { Store } from '#store/client.ts'
import type { AuditStream } from '#streams/audit.ts'
import type { Principal } from './auth.ts'

/** What happened. */
export interface AuditEvent {
  readonly organization: string
  readonly actor: { readonly kind: 'user' | 'key' | 'ticket'; readonly id: string }
  readonly action: string
  /** What it was done to: an id, mostly. */
  readonly target: string
  readonly address: string
  /** Id of the request, as in the log. */
  readonly request: string
}

/** Notes what happens. */
export interface Audit {
  /** Resolves once the entry will be stored. What cannot be noted is logged in full, and counted: nobody is kept from working by it. */
  note(event: AuditEvent): Promise<void>
}

/** Who did it, as an entry says it. */
export function actorOf(principal: Principal): AuditEvent['actor'] {
  if (principal.kind === 'user') return { kind: 'user', id: principal.user.id }
  return principal.kind === 'key' ? { kind: 'key', id: principal.key.id } : { kind: 'ticket', id: '' }
}

/** Notes into a stream. */
export function createAudit(deps: { stream: AuditStream; log: Log; metrics: Metrics; clock?: () => number }): Audit {
  const { stream, log, metrics, clock = Date.now } = deps
  const failed = metrics.counter('query_audit_failed_total', 'audit entries that could not be noted; the log has them')
  return {
    note: async ({ actor, ...event }) => {
      const at = new Date(clock()).toISOString()
      const entry = { ...event, id: randomUUID(), at, actor_kind: actor.kind, actor: actor.id }
      try {
        await stream.publish(entry)
      } catch (error) {
        failed.inc()
        log.error({ err: error, entry }, 'an audit entry could not be noted')
      }
    },
  }
}

const BATCH = 1_000
const WAIT_MS = 5_000
const AGAIN_MS = 1_000
const STOP_MS = 100

/** Moves entries from the stream into the store until it is stopped; `stop` resolves when nothing is under way. */
export function storeAudit(deps: {
  stream: AuditStream
  /** The store that has an organization. */
  storeOf: (organization: string) => Store
  log: Log
}): { stop(): Promise<void> } {
  const { stream, storeOf, log } = deps
  const stopped = new AbortController()
  const outage = new Outage(log, 'storing audit entries')
  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      try {
        await insert(storeOf, await stream.take(BATCH, WAIT_MS))
        outage.over()
      } catch (error) {
        if (stopped.signal.aborted) return
        outage.failed(error)
        await delay(AGAIN_MS, undefined, { signal: stopped.signal }).catch(() => {})
      }
    }
  }
  const running = run()
  return {
    stop: async () => {
      stopped.abort()
      // A pull that waits for entries is given up with its connection: nothing that it takes then is acknowledged.
      await Promise.race([running, delay(STOP_MS)])
    },
  }
}

async function insert(storeOf: (organization: string) => Store, messages: readonly JsMsg[]): Promise<void> {
  const organizationOf = (message: JsMsg): string => message.json<AuditEvent>().organization
  const byStore = Map.groupBy(messages, message => storeOf(organizationOf(message)))
  for (const [store, own] of byStore) await insertInto(store, own)
}

async function insertInto(store: Store, messages: readonly JsMsg[]): Promise<void> {
  await store.client.insert({
    table: 'audit',
    format: 'JSONEachRow',
    values: messages.map(message => message.json<object>()),
    clickhouse_settings: {
      async_insert: 0,
      date_time_input_format: 'best_effort',
      input_format_skip_unknown_fields: 1,
    },
  })
  for (const message of messages) message.ack()
}
