// Identities: uuid text <-> 16 bytes, UUIDv5 (RFC 9562) for mapped ids, and the partition of an identity.
// Everything here is deterministic but `mintId`.
import { hash, randomFillSync } from 'node:crypto'

/** The nil uuid: "none" in every uuid column. */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000'

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** True for a uuid in its 36-character form, any version, either case. */
export function isUuid(text: string): boolean {
  return text.length === 36 && UUID.test(text)
}

/** The 16 bytes of a uuid. Precondition: `isUuid(text)`. */
export function uuidBytes(text: string): Buffer {
  return Buffer.from(text.replaceAll('-', ''), 'hex')
}

/** The lower-case text of 16 bytes at `offset`. */
export function uuidText(bytes: Uint8Array, offset = 0): string {
  let text = ''
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) text += '-'
    text += HEX[bytes[offset + i] as number]
  }
  return text
}

/** The namespace that was asked for last, and the bytes that are hashed: it, then the name. */
let namespaced = ''
let hashed = Buffer.alloc(256)
/** The variant of RFC 9562 in the first digit of the fourth group: its two low bits stay. */
const VARIANT = '89ab'

/** UUIDv5 (RFC 9562, 5.5) of a name under a namespace uuid. */
export function uuidV5(namespace: string, name: string): string {
  const most = 16 + name.length * 3
  if (most > hashed.length) {
    hashed = Buffer.alloc(most * 2)
    namespaced = ''
  }
  if (namespace !== namespaced) {
    hashed.set(uuidBytes(namespace))
    namespaced = namespace
  }
  const length = 16 + hashed.write(name, 16)
  // One call in place of four objects: every span has an id that is a hash (measured with bench/cases/process.ts).
  const hex = hash('sha1', hashed.subarray(0, length), 'hex')
  const variant = VARIANT[Number.parseInt(hex[16] as string, 16) & 3]
  const third = `5${hex.slice(13, 16)}`
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${third}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/**
 * The conversation id of a session id as it was sent: itself in lower case when it is a uuid,
 * else UUIDv5(organization, id), so that the same foreign id always meets the same conversation.
 */
export function conversationIdOf(organization: string, sessionId: string): string {
  return isUuid(sessionId) ? sessionId.toLowerCase() : uuidV5(organization, sessionId)
}

/** The event id of a span: stable over exporter retries. `traceId` and `spanId` are lower-case hex. */
export function spanEventId(organization: string, traceId: string, spanId: string): string {
  return uuidV5(organization, `${traceId}/${spanId}`)
}

const pool = Buffer.alloc(16 * 256)
let poolAt = pool.length

/** Sixteen fresh bytes of a UUIDv7 (RFC 9562, 5.7): ordered by time, so that ids compress and sort in the store. */
export function mintId(nowMs: number): Uint8Array {
  if (poolAt === pool.length) {
    randomFillSync(pool)
    poolAt = 0
  }
  const id = Uint8Array.prototype.slice.call(pool, poolAt, poolAt + 16)
  poolAt += 16
  const high = Math.floor(nowMs / 65536)
  id[0] = (high >>> 24) & 0xff
  id[1] = (high >>> 16) & 0xff
  id[2] = (high >>> 8) & 0xff
  id[3] = high & 0xff
  id[4] = (nowMs >>> 8) & 0xff
  id[5] = nowMs & 0xff
  id[6] = ((id[6] as number) & 0x0f) | 0x70
  id[8] = ((id[8] as number) & 0x3f) | 0x80
  return id
}

/**
 * The partition of an identity: FNV-1a over organization and identity bytes, finished with a 32-bit avalanche
 * (FNV alone leaves the low bits of similar ids correlated). Both sides of the stream must agree on it for ever.
 * With several shards of the store it is one of its organization's shard; `partitions` is a multiple of `shards`.
 */
export function partitionOf(
  organization: Uint8Array,
  identity: Uint8Array,
  partitions: number,
  shards: number = 1,
): number {
  const hash = avalanche(fnv(fnv(FNV_START, organization), identity))
  if (shards === 1) return hash % partitions
  return shardOf(organization, shards) + shards * (hash % (partitions / shards))
}

/** The shard of the store that has all rows of an organization. Fixed for the life of the data. */
export function shardOf(organization: Uint8Array, shards: number): number {
  return avalanche(fnv(FNV_START, organization)) % shards
}

/** The shard that has all rows of a partition. */
export function shardOfPartition(partition: number, shards: number): number {
  return partition % shards
}

const FNV_START = 0x811c9dc5

function fnv(start: number, bytes: Uint8Array): number {
  let h = start
  for (let i = 0; i < bytes.length; i++) h = Math.imul(h ^ (bytes[i] as number), 0x01000193)
  return h
}

function avalanche(start: number): number {
  let h = start
  h ^= h >>> 16
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  h ^= h >>> 16
  return h >>> 0
}

/** What a row's identity stands for: an event or span id, or a whole voice call. */
export type IdentityKind = 'event' | 'call'

/** Bytes of a fingerprint in the repeat window. */
export const FINGERPRINT_BYTES = 12

/**
 * 96 bits of SHA-1 over (kind, organization, id): what the repeat window remembers. A cryptographic hash because the ids
 * are chosen by senders: nobody may craft one that makes another tenant's event look like a repeat.
 */
export function fingerprint(kind: IdentityKind, organization: string, id: string): Buffer {
  return hash('sha1', `${kind}:${organization}:${id}`, 'buffer').subarray(0, FINGERPRINT_BYTES)
}
