// What reads cost before they read: the dashboard's own statements over a few dozen rows, asked again under other settings in turn, and
// the CPU that the engine took for each.
import { parseArgs } from 'node:util'
import type { ClickHouseSettings } from '@clickhouse/client'
import { startDataNode } from '#query/fixture-data.ts'
import type { ReadOptions, Store } from '#store/client.ts'
import { createStore } from '#store/client.ts'
import { sharedClickHouse } from '#test/engines.ts'
import { cpuSeconds } from '../process.ts'
import { median, table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'

const PATHS = ['user-stories', 'raw-logs', 'tool-stats', 'errors', 'command-center-summary']
const RANGES = ['1w', '1m', 'all']

/** A statement as a query node asks it. */
interface Asked {
  readonly sql: string
  readonly options: ReadOptions
}

/** Settings that are tried, by name; `--variant` adds to them. */
const VARIANTS: Readonly<Record<string, ClickHouseSettings>> = {
  'as it is': {},
  'formatted by threads': { output_format_parallel_formatting: 1 },
  'answers in files': { http_response_buffer_size: '0' },
  'two threads fold': { max_final_threads: 2 },
  'all three': { output_format_parallel_formatting: 1, http_response_buffer_size: '0', max_final_threads: 2 },
  'one thread': { max_threads: 1, max_final_threads: 1 },
}

/** Runs the case and prints its table. Options: --rounds (9), --variant "name: setting = value, setting = value". */
export async function planning(args: readonly string[]): Promise<void> {
  const options = { rounds: { type: 'string' }, variant: { type: 'string', multiple: true } } as const
  const { values } = parseArgs({ args: [...args], options })
  const rounds = Number(values.rounds ?? 9)
  const variants = { ...VARIANTS, ...Object.fromEntries((values.variant ?? []).map(variantOf)) }
  await withTeardown(async t => {
    const asked = new Map<string, Asked>()
    const node = await startDataNode(t, { store: db => recording(db.reader, asked) })
    for (const path of PATHS) {
      for (const time_range of RANGES) {
        const { status } = await node.post(path, { time_range })
        if (status !== 200) throw new Error(`${path} ${time_range}: ${status}`)
      }
    }
    // A store of our own: that of the fixture remembers answers.
    const store = createStore({ url: node.db.readerUrl, database: node.db.database, application: 'bench' })
    t.teardown(() => store.close())
    const { pids } = await sharedClickHouse()
    const statements = [...asked.values()]
    const kinds = {
      folding: statements.filter(({ sql }) => sql.includes(' FINAL')),
      others: statements.filter(({ sql }) => !sql.includes(' FINAL')),
    }
    const seen = new Map(Object.keys(variants).map(name => [name, { folding: [] as number[], others: [] as number[] }]))
    for (let round = 0; round <= rounds; round++) {
      for (const [name, settings] of Object.entries(variants)) {
        for (const kind of ['folding', 'others'] as const) {
          const ms = await cpuMs(store, pids.at(-1) as number, kinds[kind], settings)
          // The first one warms.
          if (round > 0) seen.get(name)?.[kind].push(ms)
        }
      }
    }
    const { folding, others } = kinds
    console.log(`CPU ms of the engine a statement, medians of ${rounds} rounds in turn\n`)
    const rows = [...seen].map(([name, figures]) => [
      name,
      ...[figures.folding, figures.others].map(all => median(all).toFixed(1)),
    ])
    console.log(table(['settings', `${folding.length} that fold (FINAL)`, `${others.length} others`], rows))
  })
}

/** `name: setting = value, setting = value`. */
function variantOf(text: string): [string, ClickHouseSettings] {
  const [, name, settings] = /^([^:]+):(.+)$/.exec(text) ?? []
  if (name === undefined || settings === undefined) throw new Error(`--variant "name: setting = value", not ${text}`)
  return [name, Object.fromEntries(settings.split(',').map(one => one.split('=').map(part => part.trim())))]
}

/** A store that notes each statement the first time that it is asked. */
function recording(store: Store, asked: Map<string, Asked>): Store {
  return {
    ...store,
    read: (sql, options = {}) => {
      const { parameters = {}, settings = {}, headers = {} } = options
      if (!asked.has(sql)) asked.set(sql, { sql, options: { parameters, settings, headers } })
      return store.read(sql, options)
    },
  }
}

/** What the engine takes for one of these statements, one after the other. */
async function cpuMs(
  store: Store,
  pid: number,
  statements: readonly Asked[],
  settings: ClickHouseSettings,
): Promise<number> {
  const before = await cpuSeconds(pid)
  for (const { sql, options } of statements) {
    await store.read(sql, { ...options, settings: { ...options.settings, ...settings } })
  }
  return ((await cpuSeconds(pid)) - before) * (1_000 / statements.length)
}
