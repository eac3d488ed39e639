// The engines, as they are: versions, clocks, schema, room on disk, parts.
import { readdir } from 'node:fs/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import { readRecord } from '#control/lists.ts'
import { GUARD_KEY, type Guard } from '#control/records.ts'
import { streamOf } from '#proto/streams.ts'
import { isOlder, LEAST_WITH_COPIES, serversAround } from '#streams/cluster.ts'
import { type Finding, finding, type Patient, stateOf } from './finding.ts'

const MIGRATIONS = new URL('../../store/migrations/', import.meta.url)
/** Oldest servers that can do what is asked of them, and those that it was built with. */
const NATS_LEAST = [2, 9] as const
const CLICKHOUSE_LEAST = [24, 8] as const
const CLICKHOUSE_BUILT_WITH = [26, 7] as const
const CLOCK_WARN_MS = 2_000
const CLOCK_FAIL_MS = 60_000
const PERCENT_FAIL = 10
const PERCENT_WARN = 20
/** Parts of a month from which on reads and merges get slow; the store refuses inserts at thousands. */
const PARTS_WARN = 300
const PARTS_FAIL = 1_500

async function natsVersion({ nc }: Patient): Promise<Finding> {
  const servers = await serversAround(nc)
  const { config } = await (await jetstreamManager(nc)).streams.info(streamOf(0))
  const copies = config.num_replicas
  const least = copies > 1 ? LEAST_WITH_COPIES : NATS_LEAST
  const versions = [...new Set(servers.map(({ version }) => version))].sort().join(', ')
  const of = servers.length === 1 ? '' : ` on ${servers.length} servers`
  const said = `NATS ${versions}${of}, ${copies} ${copies === 1 ? 'copy' : 'copies'} of each stream`
  const isOld = servers.some(({ version }) => isOlder(version, least))
  return finding('nats', stateOf(isOld, false), said, `it takes ${least.join('.')} or newer`)
}

/** A copy that is behind or on a server that is gone protects nobody; a stream without a leader takes nothing. */
async function copies({ nc }: Patient): Promise<Finding> {
  const [streams, leaderless, behind]: [string[], string[], string[]] = [[], [], []]
  for await (const { config, cluster } of (await jetstreamManager(nc)).streams.list()) {
    if (config.num_replicas === 1) continue
    streams.push(config.name)
    if (!cluster?.leader) leaderless.push(config.name)
    else if ((cluster.replicas ?? []).some(({ current, offline }) => offline === true || !current))
      behind.push(config.name)
  }
  if (streams.length === 0) return finding('copies', 'ok', 'one of each stream', '')
  const bad =
    leaderless.length > 0 ? `no leader for ${leaderless.join(', ')}` : `not up to date for ${behind.join(', ')}`
  const well = leaderless.length === 0 && behind.length === 0
  const said = well ? `all up to date of ${streams.length} streams and buckets` : bad
  return finding(
    'copies',
    stateOf(leaderless.length > 0, !well),
    said,
    'bring the missing NATS server back, and look at its log',
  )
}

async function clickhouseVersion({ store }: Patient): Promise<Finding> {
  const [row] = await store.read<{ version: string }>('SELECT version() AS version')
  const version = row?.version ?? '0.0'
  const state = stateOf(isOlder(version, CLICKHOUSE_LEAST), isOlder(version, CLICKHOUSE_BUILT_WITH))
  return finding(
    'clickhouse',
    state,
    `ClickHouse ${version}`,
    `update it: this release was built with ${CLICKHOUSE_BUILT_WITH.join('.')}`,
  )
}

/** Half of the time that the question took is taken for its way there. */
async function clocks({ store }: Patient): Promise<Finding> {
  const askedAt = Date.now()
  const [row] = await store.read<{ ms: string }>('SELECT toUnixTimestamp64Milli(now64(3)) AS ms')
  const tookMs = Date.now() - askedAt
  const apartMs = Math.max(0, Math.abs(Number(row?.ms) - askedAt - tookMs / 2) - tookMs / 2)
  const said = `the store's clock and this one are ${Math.round(apartMs)} ms apart at least`
  return finding(
    'clocks',
    stateOf(apartMs > CLOCK_FAIL_MS, apartMs > CLOCK_WARN_MS),
    said,
    'let a time service (NTP) set both clocks',
  )
}

async function schema({ store }: Patient): Promise<Finding> {
  const rows = await store.read<{ name: string }>('SELECT DISTINCT name FROM migrations')
  const files = (await readdir(MIGRATIONS)).filter(name => name.endsWith('.sql'))
  const applied = new Set(rows.map(row => row.name))
  const missing = files.filter(name => !applied.has(name))
  const strange = [...applied].filter(name => !files.includes(name))
  if (strange.length > 0)
    return finding('schema', 'fail', `${strange.join(', ')} came from a newer release`, 'use that release')
  const said = missing.length === 0 ? `${files.length} migrations` : `${missing.join(', ')} not applied`
  return finding('schema', stateOf(missing.length > 0, false), said, 'npm run migrate, or start parley once')
}

async function disk({ store, control }: Patient): Promise<Finding> {
  const rows = await store.read<{ name: string; free: string; total: string }>(
    'SELECT name, toString(free_space) AS free, toString(total_space) AS total FROM system.disks WHERE total_space > 0',
  )
  const percent = Math.min(100, ...rows.map(row => (Number(row.free) / Number(row.total)) * 100))
  const guard = await readRecord<Guard>(control, GUARD_KEY)
  const closed = guard?.disk === 'full'
  const said = `${percent.toFixed(0)} % of the store's disk is free${closed ? '; new payloads are refused' : ''}`
  const fix = 'make room, let organizations keep less (docs/retention.md), or lower PARLEY_REPLAY_MS'
  return finding('disk', stateOf(closed || percent < PERCENT_FAIL, percent < PERCENT_WARN), said, fix)
}

async function parts({ store }: Patient): Promise<Finding> {
  const [row] = await store.read<{ most: string; of: string }>(
    `SELECT toString(max(n)) AS most, argMax(table, n) AS of FROM (
       SELECT table, count() AS n FROM system.parts WHERE database = {database:String} AND active GROUP BY table, partition)`,
    { parameters: { database: store.database } },
  )
  const most = Number(row?.most ?? 0)
  const said = most === 0 ? 'no parts yet' : `at most ${most} parts in a month of ${row?.of}`
  const fix = 'raise PARLEY_INSERT_INTERVAL_MS, and look whether merges fail (system.merges, the log of ClickHouse)'
  return finding('parts', stateOf(most > PARTS_FAIL, most > PARTS_WARN), said, fix)
}

/** The engine puts aside what it cannot read at a start; rows that were in it and in no other part are gone from the store. */
async function brokenParts({ store }: Patient): Promise<Finding> {
  const rows = await store.read<{ table: string; n: string }>(
    `SELECT table, toString(count()) AS n FROM system.detached_parts
     WHERE database = {database:String} AND startsWith(reason, 'broken') GROUP BY table ORDER BY table`,
    { parameters: { database: store.database } },
  )
  const said = rows.length === 0 ? 'none' : rows.map(({ table, n }) => `${n} of ${table}`).join(', ')
  const fix =
    'parley verify --ledger says whether rows are missing; a backup has them, and ClickHouse may be able to attach the parts again'
  return finding('broken parts', stateOf(rows.length > 0, false), said, fix)
}

/** Those that look at a store: each shard is looked at. */
export const storeEngines = [clickhouseVersion, clocks, schema, disk, parts, brokenParts] as const

/** In the order in which they are told. */
export const engines = [natsVersion, copies, ...storeEngines] as const
