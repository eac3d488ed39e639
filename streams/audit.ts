// The AUDIT stream: entries wait here, acknowledged, until they stand in the store. A work queue: what was stored leaves it.
import type { Consumer, JsMsg, StreamConfig } from '@nats-io/jetstream'
import { AckPolicy, DiscardPolicy, jetstream, jetstreamManager, RetentionPolicy, StorageType } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { AUDIT_STREAM, AUDIT_SUBJECT } from '#proto/streams.ts'

const NAME = 'store'
const MAX_BYTES = 64 * 1024 * 1024
/** An entry that was taken and not stored comes again after this long. */
const ACK_WAIT_NS = 60_000_000_000
const PUBLISH_MS = 5_000

/** Entries on their way. */
export interface AuditStream {
  /** Resolves once the stream holds the entry. */
  publish(entry: object): Promise<void>
  /** Some entries, as soon as there are any; empty after `waitMs` without. */
  take(most: number, waitMs: number): Promise<JsMsg[]>
}

/** The stream. When it is full the oldest leave: a store that is away for so long is seen elsewhere. */
export function auditConfig(replicas: number): Partial<StreamConfig> & { name: string } {
  return {
    name: AUDIT_STREAM,
    subjects: [AUDIT_SUBJECT],
    retention: RetentionPolicy.Workqueue,
    storage: StorageType.File,
    discard: DiscardPolicy.Old,
    max_bytes: MAX_BYTES,
    num_replicas: replicas,
  }
}

/** Opens the stream; makes it when nobody has laid it out. */
export async function openAuditStream(nc: NatsConnection): Promise<AuditStream> {
  const jsm = await jetstreamManager(nc)
  try {
    await jsm.streams.info(AUDIT_STREAM)
  } catch {
    await jsm.streams.add(auditConfig(1))
  }
  // The same by whichever node comes first.
  await jsm.consumers.add(AUDIT_STREAM, {
    durable_name: NAME,
    ack_policy: AckPolicy.Explicit,
    ack_wait: ACK_WAIT_NS,
    max_ack_pending: 10_000,
  })
  const js = jetstream(nc, { timeout: PUBLISH_MS })
  const consumer: Consumer = await js.consumers.get(AUDIT_STREAM, NAME)
  return {
    publish: async entry => void (await js.publish(AUDIT_SUBJECT, JSON.stringify(entry))),
    take: async (most, waitMs) => {
      const first = await consumer.next({ expires: Math.max(1_000, waitMs) })
      if (first === null) return []
      const taken = [first]
      const more = Math.min(most - 1, first.info.pending)
      if (more > 0) {
        for await (const message of await consumer.fetch({ max_messages: more, expires: 1_000 })) taken.push(message)
      }
      return taken
    },
  }
}
