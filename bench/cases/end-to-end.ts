// The whole way on one machine: a load, a receiver, NATS, a processor, ClickHouse with its projections. Spans accepted and visible a
// second, what each part takes of the CPU, and what the limit is.
import { readFile } from 'node:fs/promises'
import { Agent, request as httpRequest } from 'node:http'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startSystem, type Teardown, type TestPart, type TestSystem } from '#test/rig.ts'
import { engineEvents, grown, threadSeconds } from '../engine-work.ts'
import { cpuSeconds } from '../process.ts'
import { numberSpans, spanTemplate } from '../span-template.ts'
import { median, table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'

const GiB = 1024 * 1024 * 1024
const SPANS = 100
/** As many as some three seconds of the aim's rate: fewer, and blocks are cut before they are full, which is what is measured then. */
const LAG_SPANS = 150_000
const POLL_MS = 500
const SECOND_MS = 1_000
/** How long what was accepted may take to be visible once the load has ended. */
const DRAIN_MS = 900_000
/** Above this share of the machine the CPU is the limit. */
const BUSY = 0.9

/**
 * Runs the case and prints its table. Options: --seconds (60), --connections (8), --lag (spans that may be accepted and not yet visible),
 * --set NAME=VALUE (a setting of the processor; may be repeated).
 */
export async function endToEnd(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const
  const options = {
    seconds: text,
    connections: text,
    profile: text,
    lag: text,
    set: { type: 'string', multiple: true },
  } as const
  const { values } = parseArgs({ args: [...args], options })
  await withTeardown(async t => {
    const wanted = {
      ...{ seconds: Number(values.seconds ?? 60), connections: Number(values.connections ?? 8) },
      profile: values.profile,
      lag: Number(values.lag ?? LAG_SPANS),
      settings: Object.fromEntries((values.set ?? []).map(pair => pair.split(/=(.*)/s).slice(0, 2))) as Record<
        string,
        string
      >,
    }
    await run(t, wanted)
  })
}

interface Wanted {
  readonly seconds: number
  readonly connections: number
  /** A folder for the profiles of the processor's threads. */
  readonly profile: string | undefined
  readonly lag: number
  readonly settings: Readonly<Record<string, string>>
}

async function run(t: Teardown, { seconds, connections, profile, lag: lagMax, settings }: Wanted): Promise<void> {
  const system = await startSystem(t, { clickhouse: 'private', limits: { streamMaxBytes: 16 * GiB }, processors: 0 })
  const profiling = profile === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${resolve(profile)}` }
  const processor = await system.startProcessor({ ...settings, ...profiling })
  const load = createLoad(system)
  // Everything compiles before it is measured.
  await load.run(1, performance.now() + SECOND_MS / 2)
  await visible(system, load.accepted())
  const parts = pidsOf(system, processor)
  const insertsBefore = await insertsOf(processor)
  const workBefore = await engineEvents(system.store)
  const threadsBefore = await threadsOf(parts)
  const cpuBefore = await usage(parts)
  const machineBefore = await machine()
  const before = load.accepted()
  const startedAt = performance.now()
  const lags: number[] = []
  load.limit(before + lagMax)
  const loading = load.run(connections, startedAt + seconds * SECOND_MS)
  while (performance.now() - startedAt < seconds * SECOND_MS) {
    await delay(POLL_MS)
    const stored = await count(system)
    load.limit(stored + lagMax)
    lags.push(load.accepted() - stored)
  }
  await loading
  const loadedS = (performance.now() - startedAt) / SECOND_MS
  const accepted = load.accepted() - before
  const seen = (await count(system)) - before
  const cpuAfter = await usage(parts)
  const machineAfter = await machine()
  const work = grown(workBefore, await engineEvents(system.store))
  const threadsAfter = await threadsOf(parts)
  const insertsAfter = await insertsOf(processor)
  await visible(system, load.accepted())
  const allS = (performance.now() - startedAt) / SECOND_MS
  const cores = Object.keys(parts).map(
    name => [name, ((cpuAfter[name] ?? 0) - (cpuBefore[name] ?? 0)) / loadedS] as const,
  )
  const ours = cores.reduce((sum, [, n]) => sum + n, 0)
  const busy = (machineAfter.busy - machineBefore.busy) / (machineAfter.all - machineBefore.all)
  const rows = [
    ['spans of', `${load.bytes} bytes, ${SPANS} a request, ${connections} connections, ${Math.round(loadedS)} s`],
    ['accepted', `${Math.round(accepted / loadedS)}/s; ${load.refused()} requests told to come again`],
    ['visible within the window', `${Math.round(seen / loadedS)}/s`],
    ['visible, all of them', `after ${allS.toFixed(1)} s: ${Math.round(accepted / allS)}/s`],
    ['accepted and not yet visible', `${median(lags)} (median), ${Math.max(...lags)} (most)`],
    ...cores.map(([name, n]) => [
      `CPU of ${name}`,
      `${n.toFixed(2)} cores, ${Math.round((100 * n) / ours)} %, ${((n * loadedS * 1e6) / seen).toFixed(1)} us a span`,
    ]),
    ['blocks of events', blocksText(insertsBefore, insertsAfter)],
    [
      'the machine',
      `${availableParallelism()} cores, ${Math.round(busy * 100)} % busy, ${ours.toFixed(2)} cores of it ours`,
    ],
    ['the limit', limitOf(cores, busy, ours)],
  ]
  console.log(table(['', ''], rows))
  if (profile === undefined) return
  // Profiles are written at an orderly end.
  await processor.stop()
  for (const [name, before] of Object.entries(threadsBefore)) {
    const threads = grown(before, threadsAfter[name] ?? new Map())
    console.log(`\n${name}: ${threads.map(([thread, s]) => `${thread} ${s.toFixed(1)} s`).join(', ')}`)
  }
  console.log(`\n${work.map(([event, n]) => `${event} ${Math.round(n)}`).join('\n')}`)
}

function limitOf(cores: readonly (readonly [string, number])[], busy: number, ours: number): string {
  const [name, most] = [...cores].sort((a, b) => b[1] - a[1])[0] as readonly [string, number]
  const share = `${Math.round((100 * most) / ours)} % of what parley takes is ${name}`
  if (busy <= BUSY) return `not the CPU (${share}): waiting`
  return ours > BUSY * busy * availableParallelism() ? `the CPU: ${share}` : `the CPU that other work leaves: ${share}`
}

const pidsOf = (system: TestSystem, processor: TestPart): Readonly<Record<string, number>> => ({
  'the load': process.pid,
  'the receiver': system.receivers[0]?.pid as number,
  NATS: system.nats.pid(),
  'the processor': processor.pid,
  ClickHouse: system.clickhouse?.pid() as number,
})

async function usage(parts: Readonly<Record<string, number>>): Promise<Record<string, number>> {
  return Object.fromEntries(
    await Promise.all(Object.entries(parts).map(async ([name, pid]) => [name, await cpuSeconds(pid)])),
  )
}

/** Inserts of events, and the rows in them. */
interface Inserts {
  readonly n: number
  readonly rows: number
}

async function insertsOf({ opsPort }: TestPart): Promise<Inserts> {
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text()
  const valueOf = (name: string): number =>
    Number(new RegExp(`^\\w*${name}\\{[^}]*table="events"[^}]*\\} (.*)$`, 'm').exec(text)?.[1] ?? 0)
  return { n: valueOf('insert_seconds_count'), rows: valueOf('rows_total') }
}

function blocksText(before: Inserts, after: Inserts): string {
  const n = after.n - before.n
  return `${n}, ${Math.round((after.rows - before.rows) / n)} rows each`
}

async function threadsOf(
  parts: Readonly<Record<string, number>>,
): Promise<Record<string, ReadonlyMap<string, number>>> {
  const named = Object.entries(parts).map(async ([name, pid]) => [name, await threadSeconds(pid)] as const)
  return Object.fromEntries(await Promise.all(named))
}

/** What all cores have done since the machine started, in ticks. */
async function machine(): Promise<{ busy: number; all: number }> {
  const line = /^cpu +(.*)$/m.exec(await readFile('/proc/stat', 'utf8'))?.[1] ?? ''
  const ticks = line.split(' ').map(Number)
  const all = ticks.slice(0, 8).reduce((a, b) => a + b, 0)
  return { busy: all - (ticks[3] as number) - (ticks[4] as number), all }
}

async function count({ store }: TestSystem): Promise<number> {
  // Planned without projections: asking costs little of what is measured.
  const settings = { optimize_use_projections: 0 } as const
  const [row] = await store.read<{ n: string }>('SELECT sum(sign) AS n FROM events', { settings })
  return Number(row?.n)
}

async function visible(system: TestSystem, expected: number): Promise<void> {
  const deadline = performance.now() + DRAIN_MS
  for (;;) {
    const n = await count(system)
    if (n === expected) return
    if (performance.now() > deadline) throw new Error(`${n} of ${expected} accepted spans are visible`)
    await delay(100)
  }
}

/** Requests of spans of about 1 KiB that all differ: ids are written into one body. */
function createLoad(system: TestSystem) {
  const template = spanTemplate(SPANS)
  const { body } = template
  const agent = new Agent({ keepAlive: true })
  let [number, accepted, refused, limit] = [0, 0, 0, Number.POSITIVE_INFINITY]
  const send = (): Promise<number> =>
    new Promise((done, reject) => {
      number++
      numberSpans(template, number)
      const headers = { 'content-type': 'application/x-protobuf', 'x-service-org-id': system.organization }
      const sent = httpRequest(`${system.otelUrl}/v1/traces`, { method: 'POST', agent, headers }, answer => {
        answer.resume().on('end', () => done(answer.statusCode ?? 0))
      })
      sent.on('error', reject).end(Buffer.from(body))
    })
  const sender = async (until: number): Promise<void> => {
    while (performance.now() < until) {
      if (accepted >= limit) {
        await delay(20)
        continue
      }
      const status = await send()
      if (status === 200) accepted += SPANS
      else if (status === 429 || status === 503) {
        refused++
        await delay(SECOND_MS)
      } else throw new Error(`the receiver answered ${status}`)
    }
  }
  return {
    bytes: Math.round(body.length / SPANS),
    accepted: () => accepted,
    refused: () => refused,
    /** Sends no more once so many are accepted. */
    limit: (spans: number): void => {
      limit = spans
    },
    run: async (connections: number, until: number): Promise<void> => {
      await Promise.all(Array.from({ length: connections }, () => sender(until)))
    },
  }
}
