// A CSV of many rows whose client reads slowly: what it costs the query node in memory, and other reads of the organization in time.
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Store } from '#store/client.ts'
import { openBuckets } from '#streams/apply.ts'
import type { Teardown } from '#test/rig.ts'
import {
  connectNats,
  createTenant,
  eventually,
  freshDatabase,
  startClickHouse,
  startNats,
  startPart,
} from '#test/rig.ts'
import { post } from '../instance.ts'
import { residentBytes } from '../process.ts'
import { median, percentile, table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'

const MiB = 1024 * 1024
/** The slow client takes this much, this often: 640 KiB/s. */
const SIP_BYTES = 64 * 1024
const SIP_MS = 100
/** Rows of one insert. */
const FILL_ROWS = 50_000
/** A page that a dashboard shows, again and again. */
const READS: readonly (readonly [string, object])[] = [
  ['dashboard', { time_range: '1w' }],
  ['raw-logs', { time_range: '1w' }],
  ['tool-stats', { time_range: '1w' }],
]

/** Runs the case and prints its table. Options: --rows, --rounds, --seconds of each half of a round. */
export async function slowClient(args: readonly string[]): Promise<void> {
  const options = { rows: { type: 'string' }, rounds: { type: 'string' }, seconds: { type: 'string' } } as const
  const { values } = parseArgs({ args: [...args], options })
  const wanted = {
    rows: Number(values.rows ?? 1_000_000),
    rounds: Number(values.rounds ?? 5),
    ms: Number(values.seconds ?? 8) * 1000,
  }
  await withTeardown(t => run(t, wanted))
}

async function run(t: Teardown, wanted: { rows: number; rounds: number; ms: number }): Promise<void> {
  const [nats, clickhouse] = await Promise.all([startNats(t), startClickHouse(t, {})])
  const db = await freshDatabase(t, clickhouse.url)
  const tenant = await createTenant(await openBuckets(await connectNats(t, nats.url)))
  const node = await startPart(t, 'query/main.ts', {
    NATS_URL: nats.url,
    CLICKHOUSE_URL: db.url,
    PARLEY_DATABASE: db.database,
  })
  await fill(db.store, tenant.organization, wanted.rows)
  const at = { url: `http://127.0.0.1:${String(node.about.port)}/dashboard/api`, key: tenant.apiKey }
  const readOnce = async (): Promise<number> => {
    const began = performance.now()
    for (const [path, body] of READS) await post(`${at.url}/${path}`, { 'x-api-key': at.key }, body)
    return performance.now() - began
  }
  await eventually('the key', async () => (await readOnce()) > 0)
  await readFor(readOnce, wanted.ms)
  const resident = { before: await residentBytes(node.pid), most: 0 }
  const rounds: Round[] = []
  for (let n = 0; n < wanted.rounds; n++) {
    const alone = await readFor(readOnce, wanted.ms)
    const client = await openSlowly(at)
    const watching = watch(node.pid, resident)
    const beside = await readFor(readOnce, wanted.ms)
    await watching.stop()
    rounds.push({ alone, beside, taken: client.close() })
  }
  print(rounds, resident, wanted)
}

interface Round {
  readonly alone: readonly number[]
  readonly beside: readonly number[]
  /** Bytes that the slow client took. */
  readonly taken: number
}

/** Events of a month, with texts that fit their previews. */
async function fill(store: Store, organization: string, rows: number): Promise<void> {
  const texts = `'What about order ' || toString(number) || '? ' || repeat('x', 150)`
  const sql = `INSERT INTO events (organization, conversation_id, event_id, ts, duration_ns, latency_bucket, kind, source, name, failed, user_id,
       present, input_preview, output_preview, input_bytes, output_bytes, metadata, version, sign)
     SELECT {organization:UUID}, reinterpretAsUUID(cityHash64(intDiv(number, 10))), reinterpretAsUUID(sipHash128(number)),
       now64(9) - toIntervalMillisecond(number * 2500), 1000000 * (number % 900), number % 200, 1 + number % 4, 1,
       'n' || toString(number % 7), number % 50 = 0, 'u' || toString(number % 5000), 3, ${texts} AS said, said,
       length(said), length(said), map('channel', 'web'), 1, 1
     FROM numbers({from:UInt64}, {rows:UInt64})`
  for (let from = 0; from < rows; from += FILL_ROWS) {
    await store.command(sql, { parameters: { organization, from, rows: Math.min(FILL_ROWS, rows - from) } })
  }
}

/** Times of one page after the other. */
async function readFor(readOnce: () => Promise<number>, ms: number): Promise<number[]> {
  const times: number[] = []
  for (const until = performance.now() + ms; performance.now() < until; ) times.push(await readOnce())
  return times
}

/** An export of everything, taken in sips. */
async function openSlowly({ url, key }: { url: string; key: string }): Promise<{ close(): number }> {
  const asked = request(`${url}/raw-logs/export`, { method: 'POST', headers: { 'x-api-key': key } })
  asked.end(JSON.stringify({ time_range: 'all' }))
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  if (answer.statusCode !== 200) throw new Error(`the export was answered ${answer.statusCode}`)
  let taken = 0
  const sips = setInterval(() => {
    const sip = (answer.read(SIP_BYTES) ?? answer.read()) as Buffer | null
    taken += sip?.length ?? 0
  }, SIP_MS)
  answer.on('readable', () => undefined)
  answer.on('error', () => undefined)
  return {
    close: () => {
      clearInterval(sips)
      asked.destroy()
      return taken
    },
  }
}

/** Follows the resident size of the query node. */
function watch(pid: number, resident: { most: number }): { stop(): Promise<void> } {
  let over = false
  const watching = (async () => {
    while (!over) {
      resident.most = Math.max(resident.most, await residentBytes(pid))
      await delay(100)
    }
  })()
  return {
    stop: async () => {
      over = true
      await watching
    },
  }
}

function print(
  rounds: readonly Round[],
  resident: { readonly before: number; readonly most: number },
  wanted: { readonly rows: number; readonly ms: number },
): void {
  const ratios = rounds.map(({ alone, beside }) => median(beside) / median(alone))
  const all = (of: 'alone' | 'beside'): number[] => rounds.flatMap(round => round[of])
  const ms = (value: number): string => `${value.toFixed(0)} ms`
  const taken = rounds.reduce((sum, round) => sum + round.taken, 0)
  const seconds = (rounds.length * wanted.ms) / 1000
  console.log(
    table(
      ['', 'alone', 'beside the slow client'],
      [
        ['a page (dashboard, raw-logs, tool-stats), p50', ms(median(all('alone'))), ms(median(all('beside')))],
        ['p95', ms(percentile(all('alone'), 95)), ms(percentile(all('beside'), 95))],
        [
          'ratio of p50, median of rounds (and each)',
          '1',
          `${median(ratios).toFixed(2)} (${ratios.map(r => r.toFixed(2)).join(', ')})`,
        ],
        [
          'resident size of the query node',
          `${(resident.before / MiB).toFixed(0)} MiB`,
          `at most ${(resident.most / MiB).toFixed(0)} MiB`,
        ],
        ['taken by the slow client', '–', `${(taken / MiB).toFixed(1)} MiB in ${seconds} s, of ${wanted.rows} rows`],
      ],
    ),
  )
}
