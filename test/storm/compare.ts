// The end of a storm on parley: every row of the store is entered into the oracle by the number in its ids; then projections, block
// records, dead letters and the answers of endpoints are compared with what the oracle counts and with rows read without projections.
// With several shards each organization is compared by itself, with the rows of its shard, and each shard is recounted by itself.
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { DEAD_STREAM } from '#proto/streams.ts'
import type { Store } from '#store/client.ts'
import { buildProjections } from '#store/projections.ts'
import type { Shards } from '#store/shards.ts'
import { compareLedger } from '#store/verify/ledger.ts'
import { TABLES } from '#store/verify/projections.ts'
import { verify } from '#store/verify/verify.ts'
import type { Buckets } from '#streams/apply.ts'
import { readLedger } from '#streams/ledger.ts'
import { readSettled } from '#streams/settled.ts'
import { endpointChecks } from './endpoints.ts'
import { IdKind, prefixOf, SPAN_PREFIX } from './ids.ts'
import type { Oracle, Space } from './oracle.ts'
import type { Check } from './target.ts'
import { insist, patiently } from './wait.ts'

/** An organization that has sent. */
export interface Tenant {
  readonly organization: string
  readonly apiKey: string
}

/** Where to look. */
export interface Place {
  readonly shards: Shards
  /** By the number by which the oracle knows their things; each alone in the shard of that number. */
  readonly tenants: readonly Tenant[]
  readonly nc: NatsConnection
  readonly buckets: Buckets
  readonly partitions: number
  readonly queryUrl: string
  readonly tag: number
  readonly crashes: readonly string[]
}

/** Rows only: what a projection says is compared on its own. */
const ROWS = { optimize_use_projections: 0 } as const

/** Fills `stored` of the oracle and returns every other comparison. */
export async function compareParley(oracle: Oracle, place: Place): Promise<Check[]> {
  const { shards, tenants, tag, queryUrl } = place
  const several = tenants.length > 1
  const whose = tenants.map((tenant, owner) => ({ ...tenant, owner, tag, queryUrl, store: shards.all[owner] as Store }))
  for (const one of whose) {
    await patiently('spans at home', () => atHome(one))
    await readRows(oracle, one)
  }
  const checks = await ownChecks(oracle, place)
  for (const one of several ? whose : []) checks.push(await noStrangers(one))
  for (const one of whose) {
    const answers = await endpointChecks(oracle, one)
    checks.push(
      ...answers.map(check => (several ? { ...check, what: `shard ${one.owner + 1}: ${check.what}` } : check)),
    )
  }
  return checks
}

/** One organization, and the store that has its rows. */
interface Whose extends Tenant {
  readonly owner: number
  readonly tag: number
  readonly store: Store
}

/** Of a shard, rows of organizations that are not its own, in any table. */
async function noStrangers({ owner, store, organization }: Whose): Promise<Check> {
  const tables = await store.read<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'
     AND name IN (SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'organization') ORDER BY name`,
  )
  const found: string[] = []
  for (const { name } of tables) {
    const [row] = await store.read<{ n: string }>(
      `SELECT toString(count()) AS n FROM \`${name}\` WHERE organization != {organization:UUID}`,
      { parameters: { organization }, settings: ROWS },
    )
    if (row?.n !== '0') found.push(`${row?.n} in ${name}`)
  }
  return {
    what: `shard ${owner + 1}: rows of other organizations`,
    right: found.length === 0 && tables.length > 0,
    detail: found.join('; ') || `none in ${tables.length} tables`,
  }
}

/** A trace that came in two exports is one conversation once its late knowledge has been used. */
async function atHome({ store, organization }: Whose): Promise<boolean> {
  const [found] = await store.read<{ n: string }>(
    `SELECT count() AS n FROM (
      SELECT trace_id FROM events WHERE organization = {organization:UUID} AND source = 'otlp'
      GROUP BY trace_id, conversation_id HAVING sum(sign) != 0)
    GROUP BY trace_id HAVING n > 1 LIMIT 1`,
    { parameters: { organization }, settings: ROWS },
  )
  return found === undefined
}

/** One line a thing: its digits and how often it stands. */
async function eachRow(
  { store, organization, tag }: Whose,
  sql: string,
  take: (digits: string, rows: number) => void,
): Promise<void> {
  const query_params = { organization, prefix: prefixOf(tag), event: `${prefixOf(tag)}-4000-80${kind(IdKind.event)}` }
  const result = await store.client.query({
    query: sql,
    format: 'TabSeparated',
    query_params,
    clickhouse_settings: ROWS,
  })
  for await (const rows of result.stream()) {
    for (const { text } of rows as { text: string }[]) {
      const tab = text.indexOf('\t')
      take(text.slice(0, tab), Number(text.slice(tab + 1)))
    }
  }
}

const kind = (of: IdKind): string => of.toString(16).padStart(2, '0')

async function readRows(oracle: Oracle, whose: Whose): Promise<void> {
  const into = (space: Space, digits: string, rows: number): void => {
    if (!/^[0-9a-f]{12}$/i.test(digits) || !space.found(Number.parseInt(digits, 16), rows, whose.owner))
      oracle.foreign += rows
  }
  const from = 'FROM events WHERE organization = {organization:UUID}'
  // Ids that a receiver made say nothing; then the metadata does.
  await eachRow(
    whose,
    `SELECT if(startsWith(toString(event_id), {event:String}), concat('+', right(toString(event_id), 12)), concat('-', metadata['n'])) AS n, sum(sign)
     ${from} AND source IN ('sdk', 'mcp') GROUP BY event_id, n HAVING sum(sign) != 0`,
    (digits, rows) => into(digits.startsWith('+') ? oracle.events : oracle.minted, digits.slice(1), rows),
  )
  await eachRow(
    whose,
    `SELECT concat(lower(hex(bitShiftRight(span_id, 48))), right(hex(bitOr(bitAnd(span_id, 0xffffffffffff), 0xffff000000000000)), 12)) AS n, sum(sign)
     ${from} AND source = 'otlp' GROUP BY event_id, span_id HAVING sum(sign) != 0`,
    (digits, rows) => {
      const json = digits.startsWith(SPAN_PREFIX.json)
      if (!json && !digits.startsWith(SPAN_PREFIX.protobuf)) oracle.foreign += rows
      else into(json ? oracle.spansJson : oracle.spansProtobuf, digits.slice(-12), rows)
    },
  )
  await eachRow(
    whose,
    `SELECT right(toString(conversation_id), 12) AS n, sum(sign) ${from} AND source = 'voice' GROUP BY conversation_id HAVING sum(sign) != 0`,
    (digits, rows) => into(oracle.calls, digits, rows),
  )
  // A capture is stored each time it is sent; what counts is that it is there.
  await eachRow(
    whose,
    `SELECT right(toString(conversation_id), 12) AS n, 1 FROM sessions
     WHERE organization = {organization:UUID} AND source IN ('sdk', 'mcp') AND startsWith(toString(conversation_id), {prefix:String})
     GROUP BY conversation_id`,
    (digits, rows) => into(oracle.sessions, digits, rows),
  )
}

/** What parley's own recounts say, of each shard with its partitions. */
async function ownChecks(oracle: Oracle, { shards, nc, buckets, partitions, crashes }: Place): Promise<Check[]> {
  const settled = await insist('the cursors', () => readSettled(buckets.cursors, partitions))
  const records = await insist('the block records', () => readLedger(nc))
  const recounts: Check[] = []
  let ofLedgers = 0
  for (const [i, store] of shards.all.entries()) {
    const shard = shards.all.length === 1 ? '' : `shard ${i + 1}: `
    const own = new Map([...settled].filter(([partition]) => shards.ofPartition(partition) === store))
    for (const table of TABLES) await insist('the projections', () => buildProjections(store, table))
    const report = await verify(store, { settled: async () => own })
    const ledger = await compareLedger(store, { ...records, settled: own })
    ofLedgers += ledger.dead
    recounts.push(
      {
        what: `${shard}verify: projections and positions`,
        right: report.differences.length === 0 && report.compared > 0,
        detail: `${report.compared} projections of parts, ${report.rows} rows${firstOf(report.differences)}`,
      },
      {
        what: `${shard}verify --ledger: block records`,
        right: ledger.differences.length === 0 && ledger.ranges > 0 && ledger.unproven === 0,
        detail: `${ledger.ranges} ranges, ${ledger.standing} rows standing, ${ledger.repeats} repeats, ${ledger.dead} dead${firstOf(ledger.differences)}`,
      },
    )
  }
  const { state } = await insist('dead letters', async () => (await jetstreamManager(nc)).streams.info(DEAD_STREAM))
  const dead = state.messages
  return [
    ...recounts,
    // A publish without an answer may have been taken: more are as right as the number itself.
    {
      what: 'dead letters of poison',
      right: dead >= oracle.poison && ofLedgers === dead,
      detail: `${oracle.poison} acknowledged, ${dead} kept`,
    },
    {
      what: 'requests of no use that were taken',
      right: oracle.badTaken === 0,
      detail: `${oracle.badTaken} of ${oracle.bad}`,
    },
    { what: 'rows that nobody sent', right: oracle.foreign === 0, detail: String(oracle.foreign) },
    { what: 'processes that ended by themselves', right: crashes.length === 0, detail: crashes.join('; ') || 'none' },
  ]
}

function firstOf(differences: readonly object[]): string {
  return differences.length === 0 ? '' : `; ${differences.length} differ: ${JSON.stringify(differences[0])}`
}
