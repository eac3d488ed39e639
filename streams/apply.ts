// Makes a NATS server match proto/streams.ts: creates or updates streams and buckets, and fixes the number of partitions.

import type { JetStreamManager, StreamConfig } from '@nats-io/jetstream'
import { DiscardPolicy, JetStreamApiError, jetstreamManager, RetentionPolicy, StorageType } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { ParleyError } from '#proto/errors.ts'
import {
  BLOCKS_STREAM,
  CONTROL_BUCKET,
  CURSORS_BUCKET,
  DEAD_STREAM,
  DUPLICATE_WINDOW_MS,
  LAYOUT_KEY,
  LEASE_TTL_MS,
  LEASES_BUCKET,
  REJECTS_BUCKET,
  REJECTS_TTL_MS,
  sessionsSubjectOf,
  streamOf,
  subjectOf,
} from '#proto/streams.ts'
import { auditConfig } from '#streams/audit.ts'
import { raiseCopies, requireCopies } from '#streams/cluster.ts'
import type { Layout } from '#streams/layout.ts'
import { readLayout, requireShards } from '#streams/layout.ts'

const MiB = 1024 * 1024
const NS_PER_MS = 1_000_000
/** JetStream's number for it. */
const STREAM_NOT_FOUND = 10059

/** Sizes that operators set. */
export interface StreamLimits {
  /** Partitions to create when the server has none yet. */
  readonly partitions: number
  /** Shards of the store, of which the number of partitions is a multiple; left out: one. */
  readonly shards?: number
  /** Bytes one partition may hold; beyond, publishes are refused and senders told. */
  readonly streamMaxBytes: number
  readonly deadMaxBytes: number
  /** Copies of each stream and bucket, on so many servers of a cluster. */
  readonly replicas: number
}

/** The buckets every part works with. */
export interface Buckets {
  readonly control: KV
  readonly cursors: KV
  readonly leases: KV
  readonly rejects: KV
}

/** What `applyStreams` found or made. */
export interface AppliedLayout {
  readonly partitions: number
  readonly buckets: Buckets
}

/**
 * Creates what is missing and updates what differs. Buckets first: with max_bytes the server reserves their space, so that a
 * full ingest stream can never refuse the write that would move a cursor (a deadlock otherwise).
 * The number of partitions is fixed by whoever creates the layout first; later callers take what is there.
 * @throws ParleyError CFG_INVALID when the server may not be trusted with several copies.
 */
export async function applyStreams(nc: NatsConnection, limits: StreamLimits): Promise<AppliedLayout> {
  await requireCopies(nc, limits.replicas)
  const buckets = await openBuckets(nc, limits.replicas)
  const jsm = await jetstreamManager(nc)
  // Whoever opened them first made them with one copy.
  for (const bucket of [CONTROL_BUCKET, CURSORS_BUCKET, LEASES_BUCKET, REJECTS_BUCKET]) {
    await raiseCopies(jsm, `KV_${bucket}`, limits.replicas)
  }
  const { partitions } = await fixLayout(buckets.control, limits.partitions, limits.shards ?? 1)
  const base = { retention: RetentionPolicy.Limits, storage: StorageType.File, num_replicas: limits.replicas }
  // Dead letters leave oldest first: they are the one thing that may be dropped when nobody looks, and never ingestion.
  await ensureStream(jsm, {
    ...base,
    name: DEAD_STREAM,
    subjects: ['dead.*'],
    max_bytes: limits.deadMaxBytes,
    discard: DiscardPolicy.Old,
  })
  await ensureStream(jsm, {
    ...base,
    name: BLOCKS_STREAM,
    subjects: ['blocks.*'],
    max_bytes: 256 * MiB,
    discard: DiscardPolicy.Old,
  })
  await ensureStream(jsm, auditConfig(limits.replicas))
  for (let p = 0; p < partitions; p++) {
    await ensureStream(jsm, {
      ...base,
      name: streamOf(p),
      subjects: [subjectOf(p), sessionsSubjectOf(p)],
      max_bytes: limits.streamMaxBytes,
      // No max_age: only a purge behind the floor may free what was acknowledged.
      max_age: 0,
      discard: DiscardPolicy.New,
      duplicate_window: DUPLICATE_WINDOW_MS * NS_PER_MS,
    })
  }
  return { partitions, buckets }
}

/** Opens the buckets, creating them when missing: with as many copies as it is told, then as `applyStreams` is. */
export async function openBuckets(nc: NatsConnection, replicas = 1): Promise<Buckets> {
  const kvm = new Kvm(nc)
  // Of several copies the leader's is read: what another one says may be over.
  const copies = replicas === 1 ? {} : { replicas, allow_direct: false }
  const [control, cursors, leases, rejects] = [
    await kvm.create(CONTROL_BUCKET, { history: 5, ...copies, max_bytes: 64 * MiB }),
    await kvm.create(CURSORS_BUCKET, { history: 1, ...copies, max_bytes: 64 * MiB }),
    await kvm.create(LEASES_BUCKET, { history: 1, ...copies, max_bytes: 4 * MiB, ttl: LEASE_TTL_MS }),
    await kvm.create(REJECTS_BUCKET, { history: 1, ...copies, max_bytes: 32 * MiB, ttl: REJECTS_TTL_MS }),
  ]
  return { control, cursors, leases, rejects }
}

/** @throws ParleyError CFG_INVALID when the data is laid out over another number of shards, or the partitions cannot be. */
async function fixLayout(control: KV, partitions: number, shards: number): Promise<Layout> {
  const found = (await readLayout(control)) ?? (await createLayout(control, partitions, shards))
  requireShards(found, shards)
  return found
}

async function createLayout(control: KV, partitions: number, shards: number): Promise<Layout> {
  if (partitions % shards !== 0) {
    throw new ParleyError('CFG_INVALID', `PARLEY_PARTITIONS=${partitions} is no multiple of the ${shards} shards`)
  }
  const layout: Layout = { partitions, shards }
  try {
    await control.create(LAYOUT_KEY, JSON.stringify(shards === 1 ? { partitions } : layout))
    return layout
  } catch {
    // Someone else was first.
    const other = await readLayout(control)
    if (other === undefined) throw new Error(`the ${LAYOUT_KEY} record can neither be created nor read`)
    return other
  }
}

async function ensureStream(jsm: JetStreamManager, config: Partial<StreamConfig> & { name: string }): Promise<void> {
  let copies: number
  try {
    copies = (await jsm.streams.info(config.name)).config.num_replicas
  } catch (error) {
    // Without a leader for the moment it is there all the same.
    if (!(error instanceof JetStreamApiError) || error.code !== STREAM_NOT_FOUND) throw error
    await jsm.streams.add(config)
    return
  }
  await jsm.streams.update(config.name, { ...config, num_replicas: Math.max(copies, config.num_replicas ?? 1) })
}
