// From 200 to visible: how long after its 2xx an event is in the answer of /raw-logs, on an idle instance and while 5,000 events a
// second flow, in 64 long sessions and in sessions of ten events. Probes are asked for by conversation, every 50 ms, so the figure is
// rounded up by up to that.
import { setTimeout as delay } from 'node:timers/promises'
import type { Instance } from '../instance.ts'
import { findInstance, post } from '../instance.ts'
import { createSession, eventOf, startLoad } from '../load.ts'
import { percentile, table } from '../stats.ts'

const PROBES = 60
const POLL_MS = 50
const LOAD_PER_SECOND = 5000

/** Runs the case and prints its table. */
export async function visible(): Promise<void> {
  const instance = await findInstance()
  const rows: (string | number)[][] = []
  rows.push(row('idle', await probeAll(instance)))
  for (const [name, eventsEach] of [
    ['long sessions', Number.POSITIVE_INFINITY],
    ['sessions of ten events', 10],
  ] as const) {
    const load = await startLoad(instance, LOAD_PER_SECOND, eventsEach)
    await delay(5000)
    const loaded = await probeAll(instance)
    const sent = await load.stop()
    rows.push(row(`${Math.round(sent.perSecond)} events/s in ${name} (${sent.failed} failed)`, loaded))
  }
  console.log(table(['load', 'p50, ms', 'p95, ms', 'p99, ms', 'max, ms'], rows))
}

const row = (name: string, ms: number[]): (string | number)[] => [
  name,
  ...[50, 95, 99, 100].map(p => Math.round(percentile(ms, p))),
]

async function probeAll(instance: Instance): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < PROBES; i++) {
    times.push(await probe(instance))
    await delay(100 + Math.random() * 400)
  }
  return times
}

/** One event of a new session: from its 200 until /raw-logs shows it. */
async function probe(instance: Instance): Promise<number> {
  const session_id = await createSession(instance)
  await post(`${instance.base_url}/api/v1/capture-event`, { 'x-org-id': instance.org_id }, eventOf(session_id))
  const accepted = performance.now()
  for (;;) {
    const found = await post<{ events: unknown[] }>(
      `${instance.base_url}/dashboard/api/raw-logs`,
      { 'x-api-key': instance.api_key },
      { conversation_id: session_id, time_range: '1h', exclude_io: true },
    )
    if (found.events.length > 0) return performance.now() - accepted
    if (performance.now() - accepted > 60_000) throw new Error(`event of session ${session_id} did not show up in 60 s`)
    await delay(POLL_MS)
  }
}
