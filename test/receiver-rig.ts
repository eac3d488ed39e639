// What the receiver's black-box tests stand on: NATS, an empty database and receivers alone, so that the streams keep every payload
// and a test can compare what was acknowledged with what is there.
import { gunzipSync } from 'node:zlib'
import { jetstream } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Frame } from '#proto/envelope.ts'
import { FrameEncoding, FrameKind, readEnvelope } from '#proto/envelope.ts'
import { uuidText } from '#proto/ids.ts'
import { streamOf } from '#proto/streams.ts'
import type { StreamLimits } from '#streams/apply.ts'
import { applyStreams } from '#streams/apply.ts'
import type { Teardown, TestDatabase, TestEngine, TestPart } from '#test/rig.ts'
import { connectNats, createTenant, freshDatabase, startNats, startPart, testLimits } from '#test/rig.ts'

/** A receiver and its addresses. */
export interface Receiver extends TestPart {
  readonly baseUrl: string
  readonly otelUrl: string
}

export interface ReceiverSystem {
  readonly nats: TestEngine
  readonly nc: NatsConnection
  readonly database: TestDatabase
  readonly organization: string
  /** An organization that exists and may not ingest. */
  readonly inactive: string
  startReceiver(env?: Readonly<Record<string, string>>): Promise<Receiver>
  /** Every payload in the streams, in order within its partition. */
  stored(): Promise<StoredFrame[]>
}

/** A sender that may wait is not told no because the machine paused. */
const PATIENCE = { PARLEY_HOLD_MS: '60000' }

/** A payload as the stream holds it, decompressed. */
export interface StoredFrame {
  readonly kind: keyof typeof FrameKind
  readonly organization: string
  readonly partition: number
  /** Partition, sequence and place, as receipts write them. */
  readonly receipt: string
  readonly mintedId: string
  readonly compressed: boolean
  readonly bytes: Buffer
}

/** Engines, an active and an inactive organization; receivers are started by the test. */
export async function startReceiverSystem(t: Teardown, limits: Partial<StreamLimits> = {}): Promise<ReceiverSystem> {
  const [nats, database] = await Promise.all([startNats(t), freshDatabase(t)])
  const nc = await connectNats(t, nats.url)
  const { buckets, partitions } = await applyStreams(nc, { ...testLimits, ...limits })
  const [tenant, inactive] = [await createTenant(buckets), await createTenant(buckets, { active: false })]
  return {
    nats,
    nc,
    database,
    organization: tenant.organization,
    inactive: inactive.organization,
    startReceiver: async (env = {}) => {
      const part = await startPart(t, 'ingest/main.ts', {
        NATS_URL: nats.url,
        CLICKHOUSE_URL: database.url,
        PARLEY_DATABASE: database.database,
        PARLEY_PORT: '0',
        PARLEY_OTLP_PORT: '0',
        ...PATIENCE,
        ...env,
      })
      return {
        ...part,
        baseUrl: `http://127.0.0.1:${String(part.about.port)}`,
        otelUrl: `http://127.0.0.1:${String(part.about.otlpPort)}`,
      }
    },
    stored: async () => {
      const frames: StoredFrame[] = []
      for (let partition = 0; partition < partitions; partition++) {
        for (const message of await readStream(nc, streamOf(partition))) {
          const { sequence, data } = message
          frames.push(
            ...readEnvelope(data).map((frame, at) => storedFrame(frame, partition, `${partition}-${sequence}-${at}`)),
          )
        }
      }
      return frames
    },
  }
}

const kindNames = Object.fromEntries(Object.entries(FrameKind).map(([name, kind]) => [kind, name]))

function storedFrame(frame: Frame, partition: number, receipt: string): StoredFrame {
  const compressed = frame.encoding === FrameEncoding.jsonGzip || frame.encoding === FrameEncoding.protobufGzip
  return {
    kind: kindNames[frame.kind] as StoredFrame['kind'],
    organization: uuidText(frame.organization),
    partition,
    receipt,
    mintedId: uuidText(frame.mintedId),
    compressed,
    bytes: compressed ? gunzipSync(frame.bytes) : Buffer.from(frame.bytes),
  }
}

/** All messages that a stream holds now. */
async function readStream(nc: NatsConnection, stream: string): Promise<{ sequence: number; data: Uint8Array }[]> {
  const consumer = await jetstream(nc).consumers.get(stream)
  let left = (await consumer.info(true)).num_pending
  const messages: { sequence: number; data: Uint8Array }[] = []
  if (left === 0) return messages
  for await (const message of await consumer.consume({ max_messages: 50 })) {
    messages.push({ sequence: message.seq, data: message.data.slice() })
    if (--left === 0) break
  }
  return messages
}
