// How large a store is: events with realistic texts beside the same as OTLP JSON, and conversations in which every call of a model repeats
// the history beside what was said; merged, as they arrive, and before any merge. Then what other forms of their texts would take.
import { loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createStore, type Store } from '#store/client.ts'
import { freshDatabase, startClickHouse } from '#test/rig.ts'
import { cpuSeconds } from '../process.ts'
import { build, settle } from '../query/build.ts'
import { ORGANIZATION } from '../query/machine.ts'
import { eventsSql, type World } from '../query/world.ts'
import { table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'
import { arrive, type Engine } from '../texts/arrive.ts'
import { type Chats, minutesOf } from '../texts/chat.ts'
import { diskOf, inMiB, largest, mergeAll } from '../texts/disk.ts'
import { measureFrameworks } from '../texts/frameworks/measure.ts'
import { exportedBytesSql } from '../texts/otlp-json.ts'
import { compareForms, PLACES } from '../texts/variants.ts'

const SETTLE_S = 120
/** So many times in a row no merge was seen. */
const QUIET = 2
const HOUR_MS = 3_600_000
/** Rows of the world that are measured as JSON at once. */
const WORLD_STEP = 50_000

const SHORT = [200, 500] as const
const LONG = [200, 2_000] as const
const HUGE = [2_000, 12_000] as const

/** Runs the case and prints its tables. Options: --events (300000), --conversations (200), --turns (50), --spans (100000), --tools (4), --only <pattern>, --forms. */
export async function texts(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const
  const numbers = { events: text, conversations: text, turns: text, spans: text, tools: text } as const
  const options = { ...numbers, only: text, forms: { type: 'boolean' } } as const
  const { values } = parseArgs({ args: [...args], options })
  const [conversations, turns] = [Number(values.conversations ?? 200), Number(values.turns ?? 50)]
  const only = new RegExp(values.only ?? '')
  const sets = (['otlp', 'sdk'] as const).flatMap(surface =>
    [SHORT, LONG, HUGE].flatMap(said =>
      [1, conversations].map((organizations): Chats => ({ surface, conversations, turns, organizations, said })),
    ),
  )
  await withTeardown(async t => {
    const clickhouse = await startClickHouse(t, {})
    const engine = { url: clickhouse.url, cpu: () => cpuSeconds(clickhouse.pid()) }
    if (only.test('realistic')) await measureWorld(engine, Number(values.events ?? 300_000))
    const inStore = <T>(work: (store: Store) => Promise<T>): Promise<T> => inDatabase(engine, work)
    const frameworks = { spans: Number(values.spans ?? 100_000), tools: Number(values.tools ?? 4) }
    await measureFrameworks(engine, inStore, name => only.test(`frameworks, ${name}`), frameworks)
    const lines: string[][] = []
    for (const chats of sets.filter(chats => only.test(nameOf(chats)))) {
      const line = await measureChats(engine, chats, values.forms === true)
      lines.push(line)
      // A run that is ended before its table has told something, too.
      console.error(line.join(' | '))
    }
    if (lines.length > 0) console.log(`\n${table(HEADER, lines)}`)
    console.log(`\nload of the machine ${loadavg()[0]?.toFixed(1)}`)
  })
}

const nameOf = ({ surface, said, organizations }: Chats): string =>
  `${surface}, messages of ${said.join(' to ')} bytes, ${organizations === 1 ? 'one organization' : 'an organization each'}`

/** A database that is gone at the end of `work`. */
async function inDatabase<T>(engine: Engine, work: (store: Store) => Promise<T>): Promise<T> {
  return withTeardown(async t => {
    const { database } = await freshDatabase(t, engine.url)
    const store = createStore({ url: engine.url, database, application: 'bench', requestTimeoutMs: 3_600_000 })
    t.teardown(() => store.close())
    return await work(store)
  })
}

/** The world of the case `query`, with texts, beside its bytes as OTLP JSON. */
async function measureWorld(engine: Engine, events: number): Promise<void> {
  const days = 240
  const endMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  const world: World = { organization: ORGANIZATION, organizations: 999, share: 0.2, days, endMs, events, texts: true }
  await inDatabase(engine, async store => {
    await build(store, world, line => console.error(line))
    let [sent, said] = [0, 0]
    for (let from = 0; from < events; from += WORLD_STEP) {
      const sql = exportedBytesSql(await eventsSql(world, from, Math.min(WORLD_STEP, events - from)))
      const [row] = await store.read<{ bytes: string; texts: string }>(sql)
      sent += Number(row?.bytes)
      said += Number(row?.texts)
    }
    await settle(store, SETTLE_S)
    const settled = await diskOf(store)
    console.log(`realistic, as merges left it\n\n${await largest(store)}\n`)
    await mergeAll(store)
    const merged = await diskOf(store)
    console.log(`realistic, merged\n\n${await largest(store)}\n`)
    const line = (name: string, { bytes, parts }: typeof merged) => [
      name,
      inMiB(bytes),
      parts,
      (sent / bytes).toFixed(1),
    ]
    console.log(`${events} events: ${inMiB(sent)} MiB as OTLP JSON, of which texts ${inMiB(said)}\n`)
    console.log(
      table(['', 'MiB on disk', 'parts', 'OTLP JSON, times'], [line('settled', settled), line('merged', merged)]),
    )
  })
}

/** Waits until the engine has no merge left that it wants to do now. */
async function rest(store: Store): Promise<void> {
  for (let quiet = 0; quiet < QUIET; ) {
    await delay(100)
    const [row] = await store.read<{ n: string }>('SELECT count() AS n FROM system.merges')
    quiet = row?.n === '0' ? quiet + 1 : 0
  }
}

const HEADER = [
  ...['conversations', 'calls', 'MiB sent', 'MiB said, naive', 'new'],
  ...['MiB unmerged', 'times', 'MiB as it arrives', 'times', 'MiB merged', 'times'],
  ...['CPU ms a call: worker', 'insert', 'merge'],
]

async function measureChats(engine: Engine, chats: Chats, forms: boolean): Promise<string[]> {
  const sum = { calls: 0, sentBytes: 0, naiveBytes: 0, newBytes: 0, worker: 0, insert: 0 }
  const unmerged = await inDatabase(engine, async store => {
    await store.command('SYSTEM STOP MERGES')
    let number = 0
    for (const minute of minutesOf(chats)) {
      for (const key of ['calls', 'sentBytes', 'naiveBytes', 'newBytes'] as const) sum[key] += minute[key]
      const cost = await arrive(engine, store, minute, ++number)
      sum.worker += cost.worker
      sum.insert += cost.insert
    }
    const disk = await diskOf(store)
    await store.command('SYSTEM START MERGES')
    return disk
  })
  const [arrived, merged, merge] = await inDatabase(engine, async store => {
    let number = 0
    for (const minute of minutesOf(chats)) {
      await arrive(engine, store, minute, ++number)
      // Minutes pass between two of them.
      await rest(store)
    }
    const before = await diskOf(store)
    const cpu = await engine.cpu()
    await mergeAll(store)
    const spent = (await engine.cpu()) - cpu
    console.log(`\n${nameOf(chats)}, merged\n\n${await largest(store, 8)}\n`)
    const after = await diskOf(store)
    if (forms) await compareForms(store, PLACES[chats.surface], engine.cpu)
    return [before, after, spent] as const
  })
  const times = (bytes: number): string => (sum.naiveBytes / bytes).toFixed(1)
  const ms = (seconds: number): string => ((seconds * 1000) / sum.calls).toFixed(2)
  return [
    ...[nameOf(chats), String(sum.calls), inMiB(sum.sentBytes), inMiB(sum.naiveBytes), inMiB(sum.newBytes)],
    ...[unmerged, arrived, merged].flatMap(({ bytes }) => [inMiB(bytes), times(bytes)]),
    ...[ms(sum.worker), ms(sum.insert), ms(merge)],
  ]
}
