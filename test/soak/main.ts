// `npm run soak`: sends at a set rate for hours, looks at every process again and again, and says what grows. Writes soak.csv and
// soak.svg; ends with 0 when nothing grows, 1 when something does (or a process was started again), 2 when the run was too short to tell.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { jetstream } from '@nats-io/jetstream'
import { subjectOf } from '#proto/streams.ts'
import { createStore } from '#store/client.ts'
import { openBuckets } from '#streams/apply.ts'
import { connect } from '#streams/connect.ts'
import { readPartitions } from '#streams/settled.ts'
import { envelopeOf, payload } from '#test/kill-points/ledger.ts'
import { silentLog } from '#test/rig.ts'
import { Clients } from '../storm/clients.ts'
import { type Client, createClient } from '../storm/http.ts'
import { Oracle } from '../storm/oracle.ts'
import { Traffic } from '../storm/traffic.ts'
import { patiently } from '../storm/wait.ts'
import { openInstance } from './instance.ts'
import { readOptions } from './options.ts'
import { plotSeries } from './plot.ts'
import { csvOf, seriesOf, tableOf } from './report.ts'
import { createSampler, handlesOf, type Sample, type Sampler } from './sampler.ts'
import { exitCodeOf, judge } from './verdict.ts'

const HOUR_S = 3_600
const SAID_EVERY_S = 60
/** The oracle's rooms grow by themselves. */
const THINGS = 65_536
const CALL_ROWS = 2

const options = readOptions(process.argv.slice(2))
const { hours, rate, everyS, warmUpS, seed, out } = options
const print = (text: string): void => void process.stdout.write(`${text}\n`)

print(`soak: ${hours} h, ${rate} events/s, seed ${seed}, judged from minute ${Math.round(warmUpS / 6) / 10} on`)
const instance = await openInstance(options.dataDir)
const ended = { early: false }
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => (ended.early = true))
try {
  process.exitCode = await soak()
} finally {
  await instance.stop()
}

/** Sends and looks until the time is over or a signal ends it; then says what was seen. */
async function soak(): Promise<number> {
  const { base_url, otel_url, org_id, nats_url, clickhouse_url } = await instance.local()
  const nc = await connect({ url: nats_url, name: 'soak', log: silentLog })
  const store = createStore({ url: clickhouse_url, database: 'parley', application: 'soak' })
  const { control, cursors } = await openBuckets(nc)
  const sampler = createSampler({ instance, nc, cursors, store, partitions: await readPartitions(control) })
  const ports = [base_url, otel_url].map(url => Number(new URL(url).port))
  const [rest, otlp] = ports.map(port => createClient(port)) as [Closing, Closing]
  const oracle = new Oracle(THINGS, CALL_ROWS)
  const clients = new Clients({
    ...{ seed, rate, oracle },
    traffic: new Traffic({ seed, tag: seed >>> 0, organizations: [org_id], oracle }),
    ways: {
      rest: [timed(rest.post, sampler), timed(rest.post, sampler)],
      otlp: [timed(otlp.post, sampler), timed(otlp.post, sampler)],
      poison: async (organization, body) => {
        const envelope = envelopeOf([payload('event', organization, body)], Date.now())
        await jetstream(nc, { timeout: 20_000 }).publish(subjectOf(0), envelope)
      },
    },
    fault: () => 0,
    onAnswer: () => {},
  })
  try {
    const samples = await observe(clients, sampler, oracle)
    await clients.settled()
    await patiently('everything is stored', async () => (await sampler.lag()).messages === 0)
    print(`${oracle.acknowledged} events acknowledged; answers ${told(clients)}; all stored`)
    return await tell(samples, sampler.restarts())
  } finally {
    rest.close()
    otlp.close()
    await Promise.all([nc.close(), store.close()])
  }
}

type Closing = ReturnType<typeof createClient>

/** Answers that say yes are timed: what is refused is fast, and what has no answer takes what the client waits. */
function timed(post: Client, sampler: Sampler): Client {
  return async sent => {
    const sentAt = performance.now()
    const answer = await post(sent)
    if (answer.status >= 200 && answer.status < 300) sampler.answered(performance.now() - sentAt)
    return answer
  }
}

async function observe(clients: Clients, sampler: Sampler, oracle: Oracle): Promise<Sample[]> {
  const startedAt = performance.now()
  const atS = (): number => (performance.now() - startedAt) / 1_000
  const isOver = (): boolean => ended.early || atS() >= hours * HOUR_S
  const samples: Sample[] = []
  const looking = (async () => {
    for (let saidAt = 0; !isOver(); ) {
      // Short steps, so that a signal ends it soon.
      const next = samples.length * everyS
      if (atS() < next) {
        await delay(Math.min(500, (next - atS()) * 1_000))
        continue
      }
      samples.push(await sampler.look(atS()))
      if (atS() - saidAt < SAID_EVERY_S) continue
      saidAt = atS()
      const lag = samples.at(-1)?.values.get('lag') ?? 0
      print(`${Math.round(saidAt / 60)} min: ${oracle.acknowledged} events acknowledged, lag ${lag.toFixed(1)} s`)
    }
  })()
  const failed: { error?: unknown } = {}
  looking.catch((error: unknown) => (failed.error = error))
  while (!isOver() && failed.error === undefined) await clients.step()
  await looking
  return samples
}

/** Writes CSV and plot, prints the findings, and says with which code to end. */
async function tell(samples: readonly Sample[], restarts: readonly string[]): Promise<number> {
  const suffix = handlesOf('')
  const keys = new Set(samples.flatMap(({ values }) => [...values.keys()]))
  const processes = [...keys].filter(key => key.endsWith(suffix)).map(key => key.slice(0, -suffix.length))
  const series = seriesOf(samples, processes)
  const findings = series.map(one => judge(one, warmUpS))
  await mkdir(out, { recursive: true })
  await writeFile(join(out, 'soak.csv'), csvOf(samples))
  const title = `parley, ${rate} events/s, seed ${seed}: ${new Date().toISOString().slice(0, 16)}`
  await writeFile(join(out, 'soak.svg'), plotSeries(title, series, warmUpS))
  print(`\n${tableOf(findings)}\n`)
  for (const name of restarts) print(`${name} was started again`)
  const code = exitCodeOf(findings, restarts.length)
  const words = ['nothing grows', 'something GROWS, is too high, or was started again', 'too short to tell']
  print(`verdict: ${words[code]}; ${join(out, 'soak.csv')}, ${join(out, 'soak.svg')}`)
  return code
}

function told({ answers }: Clients): string {
  return [...answers].map(([said, times]) => `${said}: ${times}`).join(', ')
}
