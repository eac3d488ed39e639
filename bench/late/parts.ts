// The whole way of a span as processes that may be killed: two receivers and two processors over engines of their own, each of which
// comes back at once, a receiver on the same port.
import type { NatsConnection } from '@nats-io/transport-node'
import { freePort } from '#local/ports.ts'
import { type Store } from '#store/client.ts'
import { createTenant, startPart, type Teardown, type TestPart } from '#test/rig.ts'
import { startEngines } from '../engines.ts'
import { engineVictim, type Victim } from '../kills/victims.ts'

const PARTITIONS = 2
const EACH = 2

/** Everything that runs. */
export interface LateRig {
  readonly organization: string
  /** Addresses to which exports are posted. */
  readonly collectors: readonly string[]
  readonly store: Store
  readonly nc: NatsConnection
  readonly victims: readonly Victim[]
  /** Processes of now, by name. */
  pids(): ReadonlyMap<string, number>
  /** Sums of what the processors of now say of themselves, by metric and labels. */
  metrics(): Promise<Map<string, number>>
}

/** Starts it all. */
export async function startLateRig(t: Teardown): Promise<LateRig> {
  const { nats, clickhouse, store, nc, buckets, env: engines } = await startEngines(t, { partitions: PARTITIONS })
  const { organization } = await createTenant(buckets)
  const env = { ...engines, PARLEY_LOG_LEVEL: 'error' }
  const processors = await Promise.all(
    Array.from({ length: EACH }, () => startVictim(t, 'processor', () => startPart(t, 'processors/main.ts', env))),
  )
  const ports = await Promise.all(Array.from({ length: EACH }, async () => [await freePort(), await freePort()]))
  const receivers = await Promise.all(
    ports.map(([rest, otlp]) => {
      const own = { PARLEY_HOST: '127.0.0.1', PARLEY_PORT: String(rest), PARLEY_OTLP_PORT: String(otlp) }
      return startVictim(t, 'receiver', () => startPart(t, 'ingest/main.ts', { ...env, ...own }))
    }),
  )
  return {
    organization,
    collectors: ports.map(([, otlp]) => `http://127.0.0.1:${String(otlp)}/v1/traces`),
    store,
    nc,
    victims: [...processors, ...receivers, engineVictim('ClickHouse', clickhouse), engineVictim('NATS', nats)],
    pids: () =>
      new Map([
        ['ClickHouse', clickhouse.pid()],
        ['NATS', nats.pid()],
        ...[...processors, ...receivers].map(({ name, part }, i): [string, number] => [`${name} ${i}`, part().pid]),
      ]),
    metrics: async () => {
      const sums = new Map<string, number>()
      for (const { part } of processors) await addMetrics(part(), sums)
      return sums
    },
  }
}

interface PartVictim extends Victim {
  part(): TestPart
}

async function startVictim(t: Teardown, name: string, start: () => Promise<TestPart>): Promise<PartVictim> {
  let part = await start()
  let [up, ended] = [true, false]
  t.teardown(() => {
    ended = true
  })
  /** What cannot start because an engine is away starts when that is back. */
  const again = async (): Promise<TestPart> => {
    for (;;) {
      try {
        return await start()
      } catch (error) {
        if (ended) throw error
      }
    }
  }
  return {
    name,
    part: () => part,
    up: () => up,
    kill: async () => {
      up = false
      part.kill('SIGKILL')
      await part.exited
      part = await again()
      up = true
    },
  }
}

async function addMetrics({ opsPort }: TestPart, sums: Map<string, number>): Promise<void> {
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text()
  for (const [, name = '', n] of text.matchAll(/^(\w+(?:\{[^}]*\})?) ([\d.e+-]+)$/gm)) {
    sums.set(name, (sums.get(name) ?? 0) + Number(n))
  }
}
