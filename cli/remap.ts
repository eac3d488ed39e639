// parley remap: an organization's history by the prices, rules and parsers of now. What the streams still hold is read again from its
// payloads; of everything older the costs are computed anew from the rows, by the owners of the partitions. This command asks and follows.
import { parseArgs } from 'node:util'
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { type ReadingRecord, readingKey } from '#control/records.ts'
import type { CorrectionRecord, RemapTask } from '#proto/correction.ts'
import { isUuid } from '#proto/ids.ts'
import { streamOf } from '#proto/streams.ts'
import type { Store } from '#store/client.ts'
import { ofScope, type VerifyScope } from '#store/verify/scope.ts'
import { openBuckets } from '#streams/apply.ts'
import { cancelCorrection, getCorrection } from '#streams/corrections.ts'
import { spanOf } from '#streams/replay.ts'
import { readPartitions, readSettled } from '#streams/settled.ts'
import { describe, follow, request } from './corrections.ts'
import { openNats, openShards } from './instance.ts'
import { type Range, replayRange } from './replay.ts'
import { timeOf } from './time.ts'
import { REMAP_USAGE, UsageError } from './usage.ts'

/** What a command has opened. */
interface Tools {
  readonly store: Store
  readonly cursors: KV
  readonly control: KV
  readonly jsm: JetStreamManager
  readonly partitions: readonly number[]
}

/** The rows of one partition, by what can be done about them. */
interface Share {
  readonly partition: number
  /** Events whose payloads are gone. */
  readonly stored: number
  /** Events whose payloads are kept, and their positions; null = none are, or none shall be read again. */
  readonly kept: number
  readonly again: Range | null
  /** The first position whose payload is kept. */
  readonly first: number
}

/** Runs one `remap` command; returns the exit code. */
export async function remap(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      org: { type: 'string' },
      since: { type: 'string' },
      until: { type: 'string' },
      stored: { type: 'boolean' },
      estimate: { type: 'boolean' },
    },
  })
  const [command] = positionals
  if (positionals.length > 1 || (command !== undefined && command !== 'status' && command !== 'cancel'))
    throw new UsageError(REMAP_USAGE)
  if (command === undefined && !isUuid(values.org ?? '')) throw new UsageError(REMAP_USAGE)
  const nc = await openNats()
  try {
    const { cursors, control } = await openBuckets(nc)
    const partitions = Array.from({ length: await readPartitions(control) }, (_, partition) => partition)
    if (command === 'status') return await status(cursors, partitions)
    if (command === 'cancel') return await cancel(cursors, partitions)
    const scope = {
      organization: (values.org as string).toLowerCase(),
      ...(values.since === undefined ? {} : { fromMs: timeOf('--since', values.since) }),
      ...(values.until === undefined ? {} : { toMs: timeOf('--until', values.until) }),
    }
    const shards = await openShards()
    try {
      const tools = {
        store: shards.of(scope.organization),
        cursors,
        control,
        jsm: await jetstreamManager(nc),
        partitions,
      }
      return await map(tools, scope, { stored: values.stored ?? false, estimate: values.estimate ?? false })
    } finally {
      await shards.close()
    }
  } finally {
    await nc.close()
  }
}

type Scope = VerifyScope & { readonly organization: string }

async function map(tools: Tools, scope: Scope, how: { stored: boolean; estimate: boolean }): Promise<number> {
  const { cursors } = tools
  const shares = await sharesOf(tools, scope, how.stored)
  for (const share of shares) console.log(plan(share))
  await tellRules(tools, scope, shares)
  if (!how.estimate) {
    const codes = await Promise.all(shares.map(async ({ again }) => (again === null ? 0 : replayRange(cursors, again))))
    if (Math.max(0, ...codes) > 0) {
      console.error('a replay was refused: ask again; nothing was mapped from rows')
      return 1
    }
  }
  const asked = new Map<number, CorrectionRecord>()
  for (const { partition, again } of shares) {
    const task: RemapTask = {
      kind: 'remap',
      ...scope,
      ...(again ? { before: again.from } : {}),
      estimate: how.estimate,
    }
    asked.set(partition, await request(cursors, partition, task))
  }
  const records = await Promise.all(
    [...asked].map(([partition, record]) => follow(cursors, partition, record, line => console.log(line))),
  )
  if (how.estimate) await tellEstimate(tools.store, records)
  return records.every(({ state }) => state === 'done') ? 0 : 1
}

/** Which events of the scope stand where. */
async function sharesOf(
  { store, cursors, jsm, partitions }: Tools,
  scope: Scope,
  storedOnly: boolean,
): Promise<Share[]> {
  const settled = await readSettled(cursors, partitions.length)
  const { sql, parameters } = ofScope(scope)
  const shares: Share[] = []
  for (const partition of partitions) {
    const { first } = await spanOf(jsm, streamOf(partition))
    const [row] = await store.read<{ stored: string; kept: string; low: string; high: string }>(
      `SELECT sumIf(sign, origin_sequence < ${first}) AS stored, sumIf(sign, origin_sequence >= ${first}) AS kept,
         minIf(origin_sequence, origin_sequence >= ${first}) AS low, maxIf(origin_sequence, origin_sequence >= ${first}) AS high
       FROM events WHERE ${sql} AND origin_partition = ${partition}`,
      { parameters },
    )
    const kept = Number(row?.kept ?? 0)
    const to = Math.min(Number(row?.high ?? 0), settled.get(partition) ?? 0)
    const again = kept === 0 || storedOnly || to < Number(row?.low) ? null : { partition, from: Number(row?.low), to }
    shares.push({ partition, stored: Number(row?.stored ?? 0), kept, again, first })
  }
  return shares
}

function plan({ partition, stored, kept, again }: Share): string {
  const read =
    again === null
      ? ''
      : `; ${kept} are read again from positions ${again.from}-${again.to}, with all else that stands there`
  return `partition ${partition}: ${again === null ? stored + kept : stored} events are mapped from their rows${read}`
}

/** Says of each rule how many rows hold its attribute that no payload can be read for. */
async function tellRules({ store, control }: Tools, scope: Scope, shares: readonly Share[]): Promise<void> {
  const entry = await control.get(readingKey(scope.organization))
  const rules = entry?.operation === 'PUT' ? entry.json<ReadingRecord>().rules : []
  const { sql, parameters } = ofScope(scope)
  const gone = shares.map(
    share => `(origin_partition = ${share.partition} AND origin_sequence < ${share.again?.from ?? 2 ** 48})`,
  )
  for (const { attribute, field } of rules) {
    const [row] = await store.read<{ n: string }>(
      `SELECT sum(sign) AS n FROM events WHERE ${sql} AND (${gone.join(' OR ')}) AND source = 'otlp' AND mapContains(metadata, {key:String})`,
      { parameters: { ...parameters, key: attribute.split('#')[0] as string } },
    )
    if (Number(row?.n) === 0) continue
    console.log(
      `rule ${attribute} -> ${field}: ${row?.n} rows hold that attribute and stay as they are: a row doesn't tell of which type it came, under ` +
        'which prefix, and what it would displace; only its payload does',
    )
  }
}

async function tellEstimate(store: Store, records: readonly CorrectionRecord[]): Promise<void> {
  const changed = records.reduce((sum, record) => sum + record.changed, 0)
  const [row] = await store.read<{ bytes: number }>(
    `SELECT sum(bytes_on_disk) / greatest(sum(rows), 1) AS bytes FROM system.parts
     WHERE database = {database:String} AND table = 'events' AND active`,
    { parameters: { database: store.database } },
  )
  // Two rows in `corrections`, and the same two in `events` until a merge folds one with the row that was there.
  const mebibytes = Math.ceil((changed * 4 * Number(row?.bytes ?? 0)) / 2 ** 20)
  const seconds =
    Math.max(0, ...records.map(({ startedAt = '', endedAt = '' }) => Date.parse(endedAt) - Date.parse(startedAt))) /
    1000
  console.log(
    `estimate: ${changed} rows would change, about ${mebibytes} MiB until merges fold them; looking took ${seconds.toFixed(1)} s, mapping ` +
      'looks twice and writes in between',
  )
}

async function status(cursors: KV, partitions: readonly number[]): Promise<number> {
  for (const partition of partitions) {
    const found = await getCorrection(cursors, partition)
    console.log(`partition ${partition}: ${found ? describe(found.record) : 'never'}`)
  }
  return 0
}

async function cancel(cursors: KV, partitions: readonly number[]): Promise<number> {
  for (const partition of partitions) {
    const cancelled = await cancelCorrection(cursors, partition)
    console.log(
      `partition ${partition}: ${cancelled ? 'its owner stops after the present page' : 'nothing is under way'}`,
    )
  }
  return 0
}
