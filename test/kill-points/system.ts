// What all kill points share: engines of their own with one partition, loads that are sent and acknowledged, and the question
// whether everything acknowledged is there exactly once.
import { randomUUID } from 'node:crypto'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { BlockRecord } from '#processors/blocks.ts'
import type { Cursor } from '#processors/protocol.ts'
import { DeadHeader } from '#proto/dead.ts'
import { BLOCKS_STREAM, cursorKeyOf, DEAD_STREAM, subjectOf } from '#proto/streams.ts'
import type { Store } from '#store/client.ts'
import { applyStreams } from '#streams/apply.ts'
import {
  connectNats,
  eventually,
  freshDatabase,
  startClickHouse,
  startNats,
  type Teardown,
  type TestEngine,
  testLimits,
} from '#test/rig.ts'
import { describe, envelopeOf, Ledger, projectionDifferences, rowDifferences } from './ledger.ts'
import { smallLoad } from './load.ts'

/** A load that the stream has acknowledged. */
export interface SentLoad {
  readonly sequence: number
  readonly ledger: Ledger
}

/** Engines, and what is asked of them. */
export interface KillSystem {
  readonly nats: TestEngine
  readonly clickhouse: TestEngine
  readonly database: string
  readonly store: Store
  /** The environment of a processor here. */
  readonly env: Readonly<Record<string, string>>
  /** Sends one small load of an organization of its own. */
  send(): Promise<SentLoad>
  /** Resolves when the floor has passed the load; rejects after `timeoutMs`. */
  settled(load: SentLoad, timeoutMs?: number): Promise<void>
  /** Intents that the cursor holds. */
  openIntents(): Promise<number>
  /** Sentences about what is not as it must be: tables, dead letters and block records. */
  wrong(load: SentLoad): Promise<string[]>
  /**
   * The same about every projection, of all that was sent before: what it says too much or too little of a load it goes on saying, so
   * that it is asked once, after the last of them.
   */
  wrongInProjections(): Promise<string[]>
}

/** Starts NATS and ClickHouse for one partition. */
export async function startKillSystem(t: Teardown): Promise<KillSystem> {
  const [nats, clickhouse] = await Promise.all([startNats(t), startClickHouse(t)])
  const { store, database } = await freshDatabase(t, clickhouse.url, { copied: true })
  const nc = await connectNats(t, nats.url)
  const { buckets } = await applyStreams(nc, { ...testLimits, partitions: 1 })
  const js = jetstream(nc)
  const jsm = await jetstreamManager(nc)
  const sentTo = new Set<string>()

  const cursor = async (): Promise<Cursor | undefined> => (await buckets.cursors.get(cursorKeyOf(0)))?.json<Cursor>()
  const messagesOf = async function* (stream: string) {
    const { state } = await jsm.streams.info(stream)
    for (let seq = state.first_seq; state.messages > 0 && seq <= state.last_seq; seq++) {
      const message = await jsm.streams.getMessage(stream, { seq })
      if (message) yield message
    }
  }
  /** One letter for each payload that is no use; one record for the range, with the rows that are there. */
  const wrongInStreams = async ({ sequence, ledger }: SentLoad): Promise<string[]> => {
    let letters = 0
    for await (const message of messagesOf(DEAD_STREAM)) {
      if (message.header.get(DeadHeader.sequence) === String(sequence)) letters++
    }
    const records: BlockRecord[] = []
    for await (const message of messagesOf(BLOCKS_STREAM)) {
      const record = message.json<BlockRecord>()
      if (record.from <= sequence && sequence <= record.to) records.push(record)
    }
    const last = records.sort((a, b) => a.generation - b.generation).at(-1)
    const sum = (of: ReadonlyMap<string, number>): number => [...of.values()].reduce((a, b) => a + b, 0)
    const expected = {
      sessions: sum(ledger.sessions),
      texts: sum(ledger.texts),
      links: sum(ledger.links),
      events: sum(ledger.events),
    }
    const said = [
      [`${letters} dead letters`, `${ledger.dead} dead letters`],
      [JSON.stringify(last?.rows), JSON.stringify(expected)],
      [`${last?.repeats} repeats`, `${ledger.repeats} repeats`],
    ]
    return said.flatMap(([is, should]) => (is === should ? [] : [`the streams say ${is} instead of ${should}`]))
  }

  return {
    nats,
    clickhouse,
    database,
    store,
    env: {
      NATS_URL: nats.url,
      CLICKHOUSE_URL: clickhouse.url,
      PARLEY_DATABASE: database,
      PARLEY_INSERT_INTERVAL_MS: '0',
      PARLEY_PARSE_THREADS: '1',
      PARLEY_LOG_LEVEL: 'info',
    },
    send: async () => {
      const now = Date.now()
      const ledger = new Ledger()
      const payloads = smallLoad(randomUUID(), now)
      const { seq } = await js.publish(subjectOf(0), envelopeOf(payloads, now))
      for (const payload of payloads) ledger.enter(payload, now)
      for (const organization of ledger.organizations) sentTo.add(organization)
      return { sequence: seq, ledger }
    },
    settled: async ({ sequence }, timeoutMs = 30_000) => {
      const floor = async (): Promise<number> => (await cursor())?.floor ?? 0
      await eventually(`the floor at ${sequence}`, async () => (await floor()) >= sequence, timeoutMs)
    },
    openIntents: async () => (await cursor())?.intents.length ?? 0,
    wrong: async load => [...describe(await rowDifferences(store, load.ledger)), ...(await wrongInStreams(load))],
    wrongInProjections: async () => describe(await projectionDifferences(store, sentTo)),
  }
}
