// From 200 to visible: how long after its 2xx an event is in the answer of /raw-logs, on an idle instance and while 5,000 events a
// second flow. Probes are asked for by conversation, every 50 ms, so the figure is rounded up by up to that.
import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Instance } from '../instance.ts'
import { findInstance, post } from '../instance.ts'
import { percentile, table } from '../stats.ts'

const PROBES = 60
const POLL_MS = 50
const LOAD_PER_SECOND = 5000
const CONNECTIONS = 64

/** Runs the case and prints its table. */
export async function visible(): Promise<void> {
  const instance = await findInstance()
  const rows: (string | number)[][] = []
  rows.push(row('idle', await probeAll(instance)))
  const load = await startLoad(instance)
  await delay(5000)
  const loaded = await probeAll(instance)
  const sent = await load.stop()
  rows.push(row(`${Math.round(sent.perSecond)} events/s (${sent.failed} failed)`, loaded))
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
  await post(`${instance.base_url}/api/v1/capture-event`, { 'x-org-id': instance.org_id }, event(session_id))
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

async function createSession(instance: Instance): Promise<string> {
  const session_id = randomUUID()
  const body = { session_id, user_data: { user_id: 'bench' } }
  await post(`${instance.base_url}/api/v1/capture-session`, { 'x-org-id': instance.org_id }, body)
  return session_id
}

const event = (session_id: string): Record<string, unknown> => ({
  event_id: randomUUID(),
  session_id,
  primitive_name: 'bench-agent',
  args: 'what is the state of my order?'.repeat(8),
  result: 'it is on its way. '.repeat(16),
  latency: 120,
})

/** A steady stream of events over keep-alive connections; a lane that falls behind sends at once. */
async function startLoad(instance: Instance): Promise<{ stop: () => Promise<{ perSecond: number; failed: number }> }> {
  const sessions = await Promise.all(Array.from({ length: CONNECTIONS }, () => createSession(instance)))
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const url = new URL(`${instance.base_url}/api/v1/capture-event`)
  const startedAt = performance.now()
  let running = true
  let sent = 0
  let failed = 0
  const lane = async (session: string): Promise<void> => {
    const intervalMs = (CONNECTIONS / LOAD_PER_SECOND) * 1000
    for (let due = performance.now() + Math.random() * intervalMs; running; due += intervalMs) {
      const wait = due - performance.now()
      if (wait > 1) await delay(wait)
      const status = await send(agent, url, instance.org_id, JSON.stringify(event(session)))
      if (status >= 200 && status < 300) sent++
      else failed++
    }
  }
  const lanes = Promise.all(sessions.map(lane))
  return {
    stop: async () => {
      running = false
      await lanes
      agent.destroy()
      return { perSecond: sent / ((performance.now() - startedAt) / 1000), failed }
    },
  }
}

function send(agent: Agent, url: URL, organization: string, body: string): Promise<number> {
  return new Promise(resolve => {
    const headers = {
      'x-org-id': organization,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }
    const req = request(url, { agent, method: 'POST', headers }, res => {
      res.resume()
      res.on('end', () => resolve(res.statusCode ?? 0))
    })
    req.on('error', () => resolve(0))
    req.end(body)
  })
}
