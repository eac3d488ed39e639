// A session is created on one receiver and its event goes to another the moment the first has answered: how often is the session
// unknown there (404), and what does the wait cost?
import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { parseArgs } from 'node:util'
import { startReceiverRig } from '../receiver.ts'
import { percentile, table } from '../stats.ts'

const LANES = 64

/** Runs the case and prints its table. */
export async function handOver(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { rounds: { type: 'string', default: '100000' } } })
  const rounds = Number(values.rounds)
  const rig = await startReceiverRig()
  const agent = new Agent({ keepAlive: true, maxSockets: LANES * 2 })
  try {
    const other = await rig.startReceiver()
    const statuses = new Map<string, number>()
    const waitsMs: number[] = []
    const count = (what: string, status: number): void => {
      const key = `${what} ${status}`
      statuses.set(key, (statuses.get(key) ?? 0) + 1)
    }
    let left = rounds
    const lane = async (): Promise<void> => {
      while (left-- > 0) {
        const session_id = randomUUID()
        const session = { session_id, user_data: { user_id: 'bench' } }
        count('session', await send(agent, `${rig.urls.rest}/api/v1/capture-session`, rig.organization, session))
        const event = { event_id: randomUUID(), session_id, primitive_name: 'agent', args: 'a', result: 'b' }
        const before = performance.now()
        count('event', await send(agent, `${other.urls.rest}/api/v1/capture-event`, rig.organization, event))
        waitsMs.push(performance.now() - before)
      }
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    const rows = [...statuses].sort(([a], [b]) => a.localeCompare(b)).map(([answer, times]) => [answer, times])
    console.log(table(['answer', 'times'], rows))
    const [p50, p99, max] = [50, 99, 100].map(p => percentile(waitsMs, p).toFixed(1))
    console.log(`\nevents answered after ${p50} ms (p50), ${p99} ms (p99), ${max} ms (max), ${LANES} at a time`)
  } finally {
    agent.destroy()
    await rig.close()
  }
}

function send(agent: Agent, url: string, organization: string, value: unknown): Promise<number> {
  const body = JSON.stringify(value)
  const headers = {
    'x-org-id': organization,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  }
  return new Promise(resolve => {
    const req = request(url, { agent, method: 'POST', headers }, res => {
      res.resume()
      res.on('end', () => resolve(res.statusCode ?? 0))
    })
    req.on('error', () => resolve(0))
    req.end(body)
  })
}
