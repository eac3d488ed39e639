// Exactly once under random kills: `kill -9` of processors, ClickHouse and NATS, again and again, while payloads of every surface
// flow; at the end what was acknowledged is compared with the store, id by id and projection by projection.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { JetStreamManager } from '@nats-io/jetstream'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import type { BlockRecord } from '#processors/blocks.ts'
import { inScope } from '#processors/lanes.ts'
import type { Cursor } from '#processors/protocol.ts'
import { BLOCKS_STREAM, cursorKeyOf, DEAD_STREAM } from '#proto/streams.ts'
import { randomOf } from '#runtime/seeded.ts'
import type { Store } from '#store/client.ts'
import { type Difference, describe, differences, Ledger } from '#test/kill-points/ledger.ts'
import { type Teardown } from '#test/rig.ts'
import { startEngines } from '../engines.ts'
import { type Fed, feed } from '../kills/feed.ts'
import { type Counted, engineVictim, ProcessorVictim, type Victim } from '../kills/victims.ts'
import { table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'

const GiB = 1024 * 1024 * 1024
const PARTITIONS = 2
const SENDERS_A_PARTITION = 2
const PAUSE_MS = { from: 200, to: 2_000 }
const SETTLE_MS = 900_000
const PROGRESS_MS = 15_000

/** Runs the case and prints its table. Options: --kills, --events, --seed. */
export async function kills(args: readonly string[]): Promise<void> {
  const options = { kills: { type: 'string' }, events: { type: 'string' }, seed: { type: 'string' } } as const
  const { values } = parseArgs({ args: [...args], options })
  const wanted = { kills: Number(values.kills ?? 300), events: Number(values.events ?? 1_000_000) }
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
  console.log(`seed ${seed}`)
  await withTeardown(t => run(t, wanted, seed))
}

interface Wanted {
  readonly kills: number
  readonly events: number
}

async function run(t: Teardown, wanted: Wanted, seed: number): Promise<void> {
  const startedAt = performance.now()
  const engines = await startEngines(t, { partitions: PARTITIONS, streamMaxBytes: 2 * GiB })
  const { nats, clickhouse, store, nc } = engines
  const env = { ...engines.env, ...PROCESSOR }
  const counted: Counted = { proofs: new Map(), lies: new Map() }
  const processors = [new ProcessorVictim(t, env, counted), new ProcessorVictim(t, env, counted)]
  const victims = [...processors, ...processors, engineVictim('ClickHouse', clickhouse), engineVictim('NATS', nats)]
  const flow: Flow = {
    ledger: new Ledger(),
    fed: { envelopes: 0, resent: 0, again: 0 },
    organizations: [randomUUID(), randomUUID()],
    killed: new Map(),
  }
  const progress = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    console.log(`${seconds} s: ${sum(flow.killed)} kills, ${flow.ledger.events.size} events acknowledged`)
  }, PROGRESS_MS)
  const killing = killAll(victims, wanted.kills, randomOf(seed), flow.killed)
  const [last] = await Promise.all([feedAll(nc, flow, wanted, { seed, killing }), killing])
  const flowedS = (performance.now() - startedAt) / 1000
  await settled(engines.buckets.cursors, last)
  clearInterval(progress)
  const wrong = await differences(store, flow.ledger)
  const streams = await inStreams(await jetstreamManager(nc), last, flow.organizations)
  const rows = await rowsOf(store)
  // What a processor has to say of its last life is read when it ends.
  for (const processor of processors) await processor.end()
  const totalS = (performance.now() - startedAt) / 1000
  print(wrong, [
    ['kills', `${sum(flow.killed)}: ${each(flow.killed)}`],
    ['duration', `${Math.round(flowedS)} s of kills, ${Math.round(totalS)} s in all`],
    ...reportOf(flow, rows, wrong, streams),
    ['blocks proven by a count', each(counted.proofs) || 'none'],
    [
      'the token alone would have lied',
      `${sum(counted.lies)} times${counted.lies.size > 0 ? `: ${each(counted.lies)}` : ''}`,
    ],
  ])
  const { repeats, dead } = flow.ledger
  if (streams.repeats !== repeats || streams.dead !== dead || streams.holes > 0) process.exitCode = 1
}

/** Settings of its processors. */
const PROCESSOR = {
  PARLEY_PARSE_THREADS: '1',
  // Small, so that after each outage the rest is divided among lanes.
  PARLEY_BACKLOG_BYTES: String(256 * 1024),
  PARLEY_LOG_LEVEL: 'warn',
}

/** What has been sent and killed so far. */
interface Flow {
  readonly ledger: Ledger
  readonly fed: Fed
  /** One that sends more than its share, and another. */
  readonly organizations: readonly [loud: string, quiet: string]
  readonly killed: Map<string, number>
}

/** Sends until the kills are over and enough is acknowledged; returns the last position of each partition. */
async function feedAll(
  nc: NatsConnection,
  flow: Flow,
  wanted: Wanted,
  { seed, killing }: { readonly seed: number; readonly killing: Promise<void> },
): Promise<number[]> {
  const { ledger, fed, killed } = flow
  let over = false
  void killing.finally(() => {
    over = true
  })
  // Events flow all the while: never further ahead than the kills.
  const share = (): number => (over ? 1 : Math.min(1, (sum(killed) + 1) / wanted.kills))
  const js = jetstream(nc, { timeout: 2_000 })
  const [loud, quiet] = flow.organizations
  const organizations = [loud, loud, loud, quiet]
  const lasts = await Promise.all(
    Array.from({ length: PARTITIONS * SENDERS_A_PARTITION }, (_, i) =>
      feed(
        {
          js,
          ledger,
          organizations,
          partition: i % PARTITIONS,
          random: randomOf(seed + 1 + i),
          wanted: () => ledger.events.size < wanted.events * share(),
          finished: () => over && ledger.events.size >= wanted.events,
        },
        fed,
      ),
    ),
  )
  return Array.from({ length: PARTITIONS }, (_, p) => Math.max(...lasts.filter((__, i) => i % PARTITIONS === p)))
}

async function rowsOf(store: Store): Promise<Record<string, string>> {
  const [rows] = await store.read<Record<string, string>>(
    `SELECT (SELECT sum(sign) FROM events) AS events, (SELECT count() FROM texts) AS texts,
       (SELECT count() FROM sessions) AS sessions SETTINGS optimize_use_projections = 0`,
  )
  return rows ?? {}
}

function reportOf(
  { ledger, fed }: Flow,
  rows: Readonly<Record<string, string>>,
  wrong: readonly Difference[],
  streams: Awaited<ReturnType<typeof inStreams>>,
): (readonly [string, string])[] {
  return [
    ['envelopes acknowledged; sent again', `${fed.envelopes}; ${fed.resent} without an answer, ${fed.again} with one`],
    ['events acknowledged; rows', `${sum(ledger.events)}; ${rows.events}`],
    ['texts acknowledged; rows', `${sum(ledger.texts)}; ${rows.texts}`],
    ['session captures acknowledged; rows', `${sum(ledger.sessions)}; ${rows.sessions}`],
    ['lost; doubled; strange', (['lost', 'doubled', 'strange'] as const).map(key => total(wrong, key)).join('; ')],
    ['repeats sent; dropped', `${ledger.repeats}; ${streams.repeats}`],
    ['payloads without use; dead letters', `${ledger.dead}; ${streams.dead}`],
    [
      'block records',
      `${streams.records}, ${streams.bulk} of bulk lanes, ${streams.holes === 0 ? 'without a hole' : `${streams.holes} HOLES`}`,
    ],
  ]
}

const sum = (of: ReadonlyMap<string, number>): number => [...of.values()].reduce((a, b) => a + b, 0)
const each = (of: ReadonlyMap<string, number>): string => [...of].map(([name, n]) => `${name} ${n}`).join(', ')

function total(wrong: readonly Difference[], key: 'lost' | 'doubled' | 'strange'): number {
  return wrong.reduce((n, difference) => n + difference[key], 0)
}

function print(wrong: readonly Difference[], rows: readonly (readonly [string, string])[]): void {
  console.log(table(['', ''], rows))
  for (const sentence of describe(wrong)) console.log(`NOT EXACT: ${sentence}`)
  if (wrong.length > 0) process.exitCode = 1
  else console.log('every table and every projection is exact')
}

/** Kills one after the other, whatever is up, without waiting for what comes back. */
async function killAll(
  victims: readonly Victim[],
  kills: number,
  random: (below: number) => number,
  killed: Map<string, number>,
): Promise<void> {
  const returning: Promise<void>[] = []
  for (let n = 0; n < kills; ) {
    await delay(PAUSE_MS.from + random(PAUSE_MS.to - PAUSE_MS.from))
    const victim = victims[random(victims.length)] as Victim
    if (!victim.up()) continue
    n++
    killed.set(victim.name, (killed.get(victim.name) ?? 0) + 1)
    returning.push(victim.kill())
  }
  await Promise.all(returning)
}

async function settled(cursors: KV, last: readonly number[]): Promise<void> {
  const deadline = performance.now() + SETTLE_MS
  for (;;) {
    const floors = await Promise.all(
      last.map(async (_, partition) => (await cursors.get(cursorKeyOf(partition)))?.json<Cursor>().floor ?? 0),
    )
    if (floors.every((floor, partition) => floor >= (last[partition] as number))) return
    if (performance.now() > deadline) throw new Error(`the floors stay at ${floors.join()} instead of ${last.join()}`)
    await delay(200)
  }
}

/** Dead letters, and the block records: the latest of each range, which for each organization cover the streams without a hole. */
async function inStreams(jsm: JetStreamManager, last: readonly number[], organizations: readonly string[]) {
  const dead = (await jsm.streams.info(DEAD_STREAM)).state.messages
  const { state } = await jsm.streams.info(BLOCKS_STREAM)
  const ranges = new Map<string, BlockRecord>()
  for (let seq = state.first_seq; state.messages > 0 && seq <= state.last_seq; seq++) {
    const record = (await jsm.streams.getMessage(BLOCKS_STREAM, { seq }))?.json<BlockRecord>()
    const key = record && `${record.partition} ${record.from} ${record.only?.join() ?? ''}`
    if (record && key && (ranges.get(key)?.generation ?? 0) <= record.generation) ranges.set(key, record)
  }
  let holes = 0
  for (const [partition, end] of last.entries()) {
    for (const organization of organizations) {
      const isMine = (record: BlockRecord): boolean => record.partition === partition && inScope(record, organization)
      let at = 1
      for (const record of [...ranges.values()].filter(isMine).sort((a, b) => a.from - b.from)) {
        if (record.from !== at) holes++
        at = record.to + 1
      }
      if (at <= end) holes++
    }
  }
  const repeats = [...ranges.values()].reduce((n, record) => n + record.repeats, 0)
  const bulk = [...ranges.values()].filter(({ only }) => only).length
  return { dead, records: ranges.size, bulk, holes, repeats }
}
