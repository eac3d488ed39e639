// Requests made by chance against a query node: every answer is one that the catalogue names, comes at all, and holds nothing of another
// organization. The first that doesn't ends the run with the request that had it.
import { Agent, request as send } from 'node:http'
import { connect } from 'node:net'
import { errors } from '#proto/errors.ts'
import type { DataNode } from '../fixture.ts'
import { id, insertEvents, insertSessions, storedEvent, storedSession } from '../fixture.ts'
import * as data from '../fixture-data.ts'
import type { Dice } from '../fixture-random.ts'
import { createDice } from '../fixture-random.ts'
import { routes } from '../routes.ts'
import type { FuzzRequest, FuzzWorld } from './requests.ts'
import { fuzzRequest } from './requests.ts'

/** What a run met. */
export interface FuzzReport {
  readonly requests: number
  readonly byStatus: Readonly<Record<string, number>>
  /** Names of routes that never answered 2xx. */
  readonly unreached: readonly string[]
}

/** Stands in everything that the other organization stores, and in nothing that is asked. */
export const MARK = 'zq-of-another-organization'
/** An answer that takes longer than this doesn't come: many times what a paused machine takes. */
const HANG_MS = 600_000
const SENDERS = 8
/** Of a stream, what came until then is looked at. */
const STREAM_BYTES = 4096
/** What would leave nobody to ask: each has tests of its own. */
const NEVER = new Set([
  'DELETE /dashboard/api/organizations/{id}',
  'POST /dashboard/api/organizations/{id}/leave',
  'DELETE /dashboard/api/organization/api-keys/{id}',
])
/** Values of a kind that are remembered, and those among them that are never forgotten. */
const POOL_MAX = 60
const KNOWN_MAX = 30

/** Sends `count` requests of a seed to the node, as organization `a` and as nobody. */
export async function fuzzNode(node: DataNode, count: number, seed: number): Promise<FuzzReport> {
  const dice = createDice(seed)
  const agent = new Agent({ keepAlive: true, maxSockets: SENDERS })
  const asked = routes.filter(({ method, path }) => !NEVER.has(`${method} ${path}`))
  const world: FuzzWorld = {
    credentials: [
      { 'x-api-key': node.a.apiKey },
      { 'x-api-key': node.a.apiKey },
      { authorization: `Bearer ${node.a.bearer}` },
    ],
    organizations: [node.a.organization, node.b.organization, id(0)],
    values: [
      ...[
        data.CHAT,
        data.MCP,
        data.TRACE,
        data.CALL,
        data.SHRUNK,
        data.STAND_IN,
        id(1),
        id(2),
        id(30),
        'conv_mcp',
        'my-session',
      ],
      ...[
        'ada',
        'grace',
        '+15550001',
        'find_order',
        'support',
        'plan',
        'pro',
        'topic',
        'event_type',
        'web',
        'order',
        'too slow',
      ],
    ],
    cursors: [],
    tickets: [],
  }
  const byStatus: Record<string, number> = {}
  const reached = new Set<string>()
  let left = count
  const sender = async (): Promise<void> => {
    while (left-- > 0) {
      if (dice.random() < 0.02) {
        await sendNoise(node.url, dice)
        continue
      }
      const request = fuzzRequest(dice.pick(asked), world, dice)
      const answer = await ask(node.url, request, agent)
      judge(request, answer)
      byStatus[answer.status] = (byStatus[answer.status] ?? 0) + 1
      if (answer.status < 300) reached.add(nameOf(request))
      learn(world, answer.text, dice)
    }
  }
  try {
    await Promise.all(Array.from({ length: SENDERS }, sender))
  } finally {
    agent.destroy()
  }
  return {
    requests: count,
    byStatus,
    unreached: asked.map(route => nameOf({ route })).filter(name => !reached.has(name)),
  }
}

const nameOf = ({ route }: Pick<FuzzRequest, 'route'>): string => `${route.method} ${route.path}`

interface FuzzAnswer {
  readonly status: number
  readonly headers: string
  readonly text: string
}

function ask(url: string, { method, path, headers, body, route }: FuzzRequest, agent: Agent): Promise<FuzzAnswer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const options = { hostname, port, method, path, headers, agent, timeout: HANG_MS }
    const sent = send(options, answer => {
      let text = ''
      const done = (): void =>
        resolve({ status: answer.statusCode ?? 0, headers: JSON.stringify(answer.rawHeaders), text })
      answer.setEncoding('utf8')
      answer.on('data', chunk => {
        text += chunk
        if (route.produces === 'text/event-stream' && (text.includes('\n\n') || text.length > STREAM_BYTES)) {
          done()
          answer.destroy()
        }
      })
      answer.on('end', done)
      answer.on('error', cause =>
        reject(
          new Error(`the answer was cut: ${method} ${path} ${body?.toString().slice(0, 1000)}\n${text.slice(-500)}`, {
            cause,
          }),
        ),
      )
    })
    sent.on('timeout', () => sent.destroy(new Error(`no answer in ${HANG_MS} ms: ${method} ${path}`)))
    sent.on('error', (error: NodeJS.ErrnoException) => {
      // Headers that are too long are refused before anybody knows that it is a HEAD, whose answers have no body.
      const refused = method === 'HEAD' && error.code === 'HPE_CLOSED_CONNECTION'
      if (refused) resolve({ status: 400, headers: '', text: '' })
      else reject(error)
    })
    sent.end(body)
  })
}

/** @throws Error for an answer that the catalogue does not name, or that holds what is not ours. */
function judge(request: FuzzRequest, { status, headers, text }: FuzzAnswer): void {
  const tell = (fault: string): Error => {
    const { method, path, body } = request
    const asked = JSON.stringify({
      method,
      path,
      headers: Object.entries(request.headers).map(([name, value]) => `${name}: ${value.slice(0, 100)}`),
      body: body?.toString('latin1').slice(0, 2000),
    })
    return new Error(`${fault}\n${asked}\n${status} ${text.slice(0, 2000)}`)
  }
  if (status >= 500 || status === 0) throw tell('an answer that no request should have')
  if (text.includes(MARK) || headers.includes(MARK)) throw tell('the answer holds what another organization stored')
  if (status < 400 || request.method === 'HEAD') return
  const { error, code } = readError(text)
  const entry = errors[code as keyof typeof errors]
  if (typeof error !== 'string' || entry?.status !== status) throw tell('an error that is none of the table')
}

function readError(text: string): { error?: unknown; code?: unknown } {
  try {
    return JSON.parse(text) as { error?: unknown; code?: unknown }
  } catch {
    return {}
  }
}

/** Ids, cursors and addresses of answers are what the next requests build on. */
function learn(world: FuzzWorld, text: string, dice: Dice): void {
  const into = (pool: string[], kept: number, found: RegExp): void => {
    for (const [, value] of text.matchAll(found)) {
      if (value === undefined || pool.includes(value)) continue
      if (pool.length < POOL_MAX) pool.push(value)
      else pool[kept + dice.below(POOL_MAX - kept)] = value
    }
  }
  into(world.values, KNOWN_MAX, /"(?:\w*id|key)":"([^"\\]{1,200})"/g)
  into(world.cursors, 0, /"next_cursor":"([^"\\]{1,2000})"/g)
  into(world.tickets, 0, /"url":"\/dashboard\/api\/exports\/([^"\\]{1,200})"/g)
}

/** Bytes that are no HTTP, or nearly: the node ends the connection, whatever it says before. */
function sendNoise(url: string, { pick, below }: Dice): Promise<void> {
  const { hostname, port } = new URL(url)
  const noise = pick([
    'GET / HTTP/9.9\r\n\r\n',
    'GET /dashboard/api/raw-logs HTTP/1.1\r\n\r\n',
    `GET /${'a'.repeat(70_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
    `GET / HTTP/1.1\r\nhost: x\r\n${'a: b\r\n'.repeat(5000)}\r\n`,
    'POST /dashboard/api/raw-logs HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello',
    'POST /dashboard/api/raw-logs HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST /dashboard/api/raw-logs HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
    `POST /dashboard/api/raw-logs HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{`,
    '\u0016\u0003\u0001\u0002\u0000\u0001\u0000',
    Array.from({ length: 200 }, () => String.fromCharCode(below(256))).join(''),
  ])
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.setTimeout(HANG_MS, () =>
      socket.destroy(new Error(`the connection stays open: ${JSON.stringify(noise.slice(0, 200))}`)),
    )
    socket.on('error', error => ((error as NodeJS.ErrnoException).code === undefined ? reject(error) : resolve()))
    socket.on('close', () => resolve())
    socket.resume()
    socket.end(Buffer.from(noise, 'latin1'))
  })
}

/** Stores something of organization `b` under every id that `a` has, marked. */
export async function writeMarked(node: DataNode): Promise<void> {
  const { db, b } = node
  const conversations = [data.CHAT, data.MCP, data.TRACE, data.CALL, data.SHRUNK, data.GREW]
  await insertSessions(
    db.store,
    conversations.map(conversation_id =>
      storedSession({
        at: '2026-06-15T11:00:00.000Z',
        ...{ organization: b.organization, conversation_id, session_id: 'conv_mcp', user_id: MARK, user_email: MARK },
        ...{ connection_type: MARK, metadata: { plan: MARK, topic: MARK }, user_data: { plan: MARK } },
        recording_url: `https://recordings.example/${MARK}`,
      }),
    ),
  )
  await insertEvents(
    db.store,
    conversations.flatMap((conversation_id, i) =>
      [1, 2, 10 + i, 20 + i, 30 + i].map((n, k) =>
        storedEvent({
          ...{
            organization: b.organization,
            conversation_id,
            session_id: 'my-session',
            event_id: id(n),
            user_id: MARK,
          },
          ...{ name: MARK, kind: (['tool', 'agent', 'llm'] as const)[k % 3] ?? 'tool', model: MARK, provider: MARK },
          ...{
            failed: (k % 2) as 0 | 1,
            error_type: MARK,
            error_message: MARK,
            metadata: { plan: MARK, event_type: MARK },
          },
          at: '2026-06-15T11:30:00.000Z',
          input: `order ${MARK}`,
          output: MARK,
          checkpoints: JSON.stringify([{ name: MARK, timestamp: 1, metadata: {} }]),
        }),
      ),
    ),
  )
  const headers = { 'x-api-key': b.apiKey }
  await node.ask('POST', '/dashboard/api/views', {
    headers,
    body: { name: MARK, page: 'raw-logs', filters: {}, shared: true },
  })
  await node.ask('POST', '/dashboard/api/organization/api-keys', { headers, body: { name: MARK } })
}
