// Events at a steady rate, as the SDK sends them, into a running receiver.
import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Instance } from './instance.ts'
import { post } from './instance.ts'

const CONNECTIONS = 64

/** Where events go. */
export type Target = Pick<Instance, 'base_url' | 'org_id'>

/** A new session of the organization. */
export async function createSession(instance: Target, user_id = 'bench'): Promise<string> {
  const session_id = randomUUID()
  const body = { session_id, user_data: { user_id } }
  await post(`${instance.base_url}/api/v1/capture-session`, { 'x-org-id': instance.org_id }, body)
  return session_id
}

/** An event of a session. */
export const eventOf = (session_id: string): Record<string, unknown> => ({
  event_id: randomUUID(),
  session_id,
  primitive_name: 'bench-agent',
  args: 'what is the state of my order?'.repeat(8),
  result: 'it is on its way. '.repeat(16),
  latency: 120,
})

/** Users whose sessions take turns. */
const USERS = 1_000

/**
 * A steady stream of events over keep-alive connections; a lane that falls behind sends at once. Each lane speaks in one session, or begins
 * another one, of the next user, after so many events.
 */
export async function startLoad(
  instance: Target,
  perSecond: number,
  eventsEach = Infinity,
): Promise<{ stop: () => Promise<{ perSecond: number; failed: number }> }> {
  const sessions = await Promise.all(Array.from({ length: CONNECTIONS }, () => createSession(instance)))
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const url = new URL(`${instance.base_url}/api/v1/capture-event`)
  const startedAt = performance.now()
  let running = true
  let sent = 0
  let failed = 0
  const lane = async (first: string, at: number): Promise<void> => {
    // Lanes begin at different places of their sessions, so that new ones don't come all at once.
    let [session, events] = [first, Number.isFinite(eventsEach) ? at % eventsEach : 0]
    let user = at
    const intervalMs = (CONNECTIONS / perSecond) * 1000
    for (let due = performance.now() + Math.random() * intervalMs; running; due += intervalMs) {
      const wait = due - performance.now()
      if (wait > 1) await delay(wait)
      if (events++ >= eventsEach) {
        user += CONNECTIONS
        session = await createSession(instance, `bench-${user % USERS}`)
        events = 1
      }
      const status = await send(agent, url, instance.org_id, JSON.stringify(eventOf(session)))
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
