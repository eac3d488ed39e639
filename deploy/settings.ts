// The settings of whoever lays out streams and schema: the launcher and `npm run migrate`.
import { clickhouseCluster, clickhouseDatabase, readerUrl, sqlUrl } from '#runtime/config.ts'
import type { Values } from '#runtime/settings.ts'
import { choice, integer } from '#runtime/settings.ts'
import type { StreamLimits } from '#streams/apply.ts'

const MiB = 1024 * 1024
const GiB = 1024 * MiB

export const layoutSettings = {
  clickhouseDatabase,
  partitions: integer(
    'PARLEY_PARTITIONS',
    'partitions of the stream; fixed for ever when the first start lays them out',
    {
      default: 2,
      min: 1,
      max: 1024,
    },
  ),
  streamBytes: integer('PARLEY_STREAM_BYTES', 'disk that one partition may take before senders are told to wait', {
    default: 8 * GiB,
    min: 64 * MiB,
    max: 1024 * GiB,
  }),
  deadBytes: integer('PARLEY_DEAD_BYTES', 'disk for payloads that no parser could read; the oldest leave first', {
    default: GiB,
    min: MiB,
    max: 1024 * GiB,
  }),
  replicas: integer(
    'PARLEY_STREAM_REPLICAS',
    'copies of every stream and bucket, on as many servers of a NATS cluster (2.12 or newer); never lowered',
    {
      default: 1,
      min: 1,
      max: 5,
    },
  ),
  cluster: clickhouseCluster,
  wall: choice(
    'PARLEY_WALL',
    'users behind the wall between tenants: `auto` makes them where CLICKHOUSE_URL may, `required` stops the start otherwise, `off` makes none',
    ['auto', 'required', 'off'],
    'auto',
  ),
  readerUrl,
  sqlUrl,
} as const

/** The limits of streams/apply.ts from these settings; one shard for each address of the store, none of which is our own. */
export function limitsOf(settings: Values<typeof layoutSettings>, clickhouseUrl: string): StreamLimits {
  return {
    partitions: settings.partitions,
    shards: clickhouseUrl.split(',').length,
    streamMaxBytes: settings.streamBytes,
    deadMaxBytes: settings.deadBytes,
    replicas: settings.replicas,
  }
}
