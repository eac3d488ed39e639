// The settings that every process shares.
import { addresses, choice, HTTP, integer, NATS, named, names, origins, text } from '#runtime/settings.ts'

/** Shared by every process. */
export const commonSettings = {
  logLevel: choice(
    'PARLEY_LOG_LEVEL',
    'least severe lines that are logged',
    ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
    'info',
  ),
  opsHost: text('PARLEY_OPS_HOST', 'address on which every process serves /metrics and /readyz', '127.0.0.1'),
  opsPort: integer('PARLEY_OPS_PORT', 'port of the same; 0 picks a free one and logs it; the launcher always says 0', {
    default: 0,
    min: 0,
    max: 65535,
  }),
  stopMs: integer(
    'PARLEY_STOP_MS',
    'how long an orderly stop may take before the process ends anyway; the launcher waits 8 s at most',
    {
      default: 8_000,
      min: 100,
      max: 600_000,
    },
  ),
} as const

/** Where the engines are. */
export const NATS_ABOUT =
  'NATS server with JetStream, or the servers of a cluster, separated by commas; the launcher starts one when not set'
export const natsUrl = addresses('NATS_URL', NATS_ABOUT, { required: true, schemes: NATS })
export const CLICKHOUSE_ABOUT =
  'ClickHouse over HTTP, with user and password; several shards, separated by commas and always in this order; the launcher starts one when not set'
export const clickhouseUrl = addresses('CLICKHOUSE_URL', CLICKHOUSE_ABOUT, { required: true, schemes: HTTP })
export const readerUrl = addresses(
  'PARLEY_READER_URL',
  'ClickHouse over HTTP as the user whose rows the store itself narrows to one organization, one for each shard; the launcher sets it. Empty: reads use CLICKHOUSE_URL',
  { required: false, schemes: HTTP },
)
export const sqlUrl = addresses(
  'PARLEY_SQL_URL',
  "ClickHouse over HTTP as the user of tenants' SQL, who sees views only, one for each shard; the launcher sets it. Empty: no such SQL",
  { required: false, schemes: HTTP },
)
export const userSql = choice(
  'PARLEY_USER_SQL',
  'SQL that users wrote: `off` runs none, `plans` only what parley builds itself, `sql` what passes the guard',
  ['off', 'plans', 'sql'],
  'plans',
)
export const clickhouseDatabase = named('PARLEY_DATABASE', 'database of all tables', {
  // It goes into SQL without quotes.
  pattern: /^[A-Za-z_]\w{0,62}$/,
  expected: 'letters, digits and _, no digit first',
  fallback: 'parley',
})

export const dataDir = text('PARLEY_DATA_DIR', 'folder of all data, logs and local.json', '.parley')

export const clickhouseCluster = named(
  'PARLEY_CLICKHOUSE_CLUSTER',
  'name of the ClickHouse cluster to create tables on; empty for one server',
  // It goes between quotes, and may be a macro of the server: {cluster}.
  { pattern: /^[\w.{}-]{1,100}$/, expected: 'letters, digits and _ . - { }' },
)

export const pricesFile = text(
  'PARLEY_PRICES',
  "file with a price list of one's own, in the form of pricing/prices.json; the same on every machine",
)

export const secretKeys = names(
  'PARLEY_SECRET_KEYS',
  'further names of attributes, metadata keys and headers whose values are masked before storing, separated by commas; the same on every machine',
)

export const outgoingPrivateHosts = names(
  'PARLEY_OUTGOING_PRIVATE_HOSTS',
  'hosts (`host` or `host:port`) that may be called although their addresses are not public, such as storage of recordings in the own network; separated by commas',
)

export const corsOrigins = origins(
  'PARLEY_CORS_ORIGINS',
  'pages of these origins may call the dashboard API from browsers, with a token and never by cookie; separated by commas',
)

/** Receivers collect as much of a body as the query node takes. */
export const queryMaxBodyBytes = integer('PARLEY_QUERY_MAX_BODY_BYTES', 'largest request body of a dashboard request', {
  default: 1024 * 1024,
  min: 1024,
  max: 64 * 1024 * 1024,
})
