// Events at a steady rate, as the SDK sends them, into a running receiver.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
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
  const lanes = await Promise.all(sessions.map(() => openLane(instance)))
  const startedAt = performance.now()
  let running = true
  let sent = 0
  let failed = 0
  const speak = async ({ send }: Lane, at: number): Promise<void> => {
    // Lanes begin at different places of their sessions, so that new ones don't come all at once.
    let [session, events] = [sessions[at] as string, Number.isFinite(eventsEach) ? at % eventsEach : 0]
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
      const status = await send('/api/v1/capture-event', JSON.stringify(eventOf(session)))
      if (status >= 200 && status < 300) sent++
      else failed++
    }
  }
  const spoken = Promise.all(lanes.map(speak))
  return {
    stop: async () => {
      running = false
      await spoken
      for (const lane of lanes) lane.close()
      return { perSecond: sent / ((performance.now() - startedAt) / 1000), failed }
    },
  }
}

/** One connection, which asks one after the other. It takes two thirds of what Node's own client does: what is measured beside it pays for it. */
interface Lane {
  /** @returns the status; 0 where the connection has ended. */
  send(path: string, body: string): Promise<number>
  close(): void
}

const HEAD_END = '\r\n\r\n'

async function openLane({ base_url, org_id }: Target): Promise<Lane> {
  const { hostname, port, host } = new URL(base_url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  socket.setEncoding('latin1')
  let answer = ''
  let answered: (status: number) => void = () => undefined
  const end = (status: number): void => {
    answer = ''
    answered(status)
  }
  socket.on('data', (chunk: string) => {
    answer += chunk
    const head = answer.indexOf(HEAD_END)
    if (head === -1) return
    const length = Number(/content-length: (\d+)/i.exec(answer)?.[1] ?? 0)
    if (answer.length >= head + HEAD_END.length + length) end(Number(answer.slice(9, 12)))
  })
  socket.on('error', () => end(0))
  socket.on('close', () => end(0))
  return {
    send(path, body) {
      if (socket.destroyed) return Promise.resolve(0)
      const { promise, resolve } = Promise.withResolvers<number>()
      answered = resolve
      const head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nx-org-id: ${org_id}\r\ncontent-type: application/json`
      socket.write(`${head}\r\ncontent-length: ${Buffer.byteLength(body)}${HEAD_END}${body}`)
      return promise
    },
    close: () => socket.destroy(),
  }
}
