// The receiver when things break: engines killed, streams full, senders gone, the receiver itself stopped or killed. Whatever was
// answered 200 is in the stream, once; whatever was not is told honestly.
import { randomUUID } from 'node:crypto'
import * as http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { streamOf } from '#proto/streams.ts'
import { post } from '#test/http.ts'
import type { Receiver, ReceiverSystem } from '#test/receiver-rig.ts'
import { startReceiverSystem } from '#test/receiver-rig.ts'
import { eventually } from '#test/rig.ts'

const EVENT = '/api/v1/capture-event'

/** Senders that post events one after the other over connections of their own until they are stopped. */
async function startLoad(system: ReceiverSystem, receiver: Receiver, senders: number) {
  const session_id = randomUUID()
  const org = { 'x-org-id': system.organization }
  await post(`${receiver.baseUrl}/api/v1/capture-session`, { session_id, client_config: 'x' }, org)
  const agent = new http.Agent({ keepAlive: true, maxSockets: senders })
  const accepted = new Set<string>()
  const statuses = new Map<string, number>()
  let running = true
  const sendOne = (event_id = randomUUID()): Promise<void> => {
    const body = JSON.stringify({ session_id, event_id, primitive_name: 'a', args: 'x'.repeat(300) })
    return new Promise(resolve => {
      const count = (outcome: string): void => {
        statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1)
        resolve()
      }
      const request = http.request(`${receiver.baseUrl}${EVENT}`, { method: 'POST', agent, headers: org }, response => {
        response.resume()
        response.on('end', () => {
          if (response.statusCode === 200) accepted.add(event_id)
          count(String(response.statusCode))
        })
        response.on('error', () => count('cut'))
      })
      request.on('error', error => {
        const { code } = error as NodeJS.ErrnoException
        // A connection that was closed while idle is no unanswered request, and one that cannot be made is none at all.
        if (code === 'ECONNRESET' && request.reusedSocket) sendOne(event_id).then(resolve)
        else count(code === 'ECONNREFUSED' ? 'gone' : 'cut')
      })
      request.end(body)
    })
  }
  const work = Array.from({ length: senders }, async () => {
    while (running) {
      await sendOne()
      // Don't spin once the receiver is gone.
      if (statuses.has('gone')) await delay(5)
    }
  })
  return {
    accepted,
    statuses,
    stop: async () => {
      running = false
      await Promise.all(work)
      agent.destroy()
    },
  }
}

/** Ids of stored events with how often each is there. */
async function storedEvents(system: ReceiverSystem): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const frame of await system.stored()) {
    if (frame.kind !== 'event') continue
    const { event_id } = JSON.parse(frame.bytes.toString()) as { event_id: string }
    counts.set(event_id, (counts.get(event_id) ?? 0) + 1)
  }
  return counts
}

async function allStoredOnce(t: Tap, system: ReceiverSystem, accepted: ReadonlySet<string>): Promise<void> {
  const stored = await storedEvents(system)
  t.equal([...accepted].filter(id => !stored.has(id)).length, 0, `none of ${accepted.size} accepted events is missing`)
  t.equal([...stored.values()].filter(count => count > 1).length, 0, 'none is there twice')
}

type Tap = Pick<typeof t, 'equal' | 'ok'>

async function metric(receiver: Receiver, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${receiver.opsPort}/metrics`)).text()
  const line = text.split('\n').find(one => one.startsWith(`parley_${name}{`) || one.startsWith(`parley_${name} `))
  return Number(line?.split(' ').at(-1) ?? Number.NaN)
}

t.test('NATS is killed and comes back: senders wait, nothing accepted is lost or there twice', async t => {
  const system = await startReceiverSystem(t)
  const receiver = await system.startReceiver()
  const load = await startLoad(system, receiver, 8)
  for (let kill = 0; kill < 2; kill++) {
    const before = load.accepted.size
    await eventually('events flow', () => load.accepted.size > before + 200)
    await system.nats.kill9()
    await eventually('the receiver says that it is not ready', async () => {
      return (await fetch(`${receiver.baseUrl}/readyz`)).status === 503
    })
    await system.nats.restart()
  }
  const before = load.accepted.size
  await eventually('events flow again', () => load.accepted.size > before + 200, 30_000)
  await eventually(
    'all its connections are back',
    async () => (await fetch(`${receiver.baseUrl}/readyz`)).status === 200,
  )
  await load.stop()
  t.strictSame([...load.statuses.keys()], ['200'])
  await eventually('the test reads the streams again', () => system.stored().catch(() => false))
  await allStoredOnce(t, system, load.accepted)
  t.equal(await metric(receiver, 'ingest_pending_bytes'), 0)
})

t.test('a receiver that is told to stop answers what it took', async t => {
  const system = await startReceiverSystem(t)
  const receiver = await system.startReceiver()
  const load = await startLoad(system, receiver, 16)
  await eventually('events flow', () => load.accepted.size > 300)
  const exit = await receiver.stop()
  await load.stop()
  t.equal(exit.code, 0)
  t.notOk(load.statuses.has('503'))
  await allStoredOnce(t, system, load.accepted)
})

t.test('a receiver that is killed loses nothing that it answered', async t => {
  const system = await startReceiverSystem(t)
  const [receiver, other] = await Promise.all([system.startReceiver(), system.startReceiver()])
  const loads = [await startLoad(system, receiver, 8), await startLoad(system, other, 4)] as const
  await eventually('events flow', () => loads[0].accepted.size > 300)
  receiver.kill('SIGKILL')
  await receiver.exited
  const before = loads[1].accepted.size
  await eventually('the other one goes on', () => loads[1].accepted.size > before + 100)
  await Promise.all(loads.map(load => load.stop()))
  t.strictSame([...loads[1].statuses.keys()], ['200'])
  await allStoredOnce(t, system, new Set([...loads[0].accepted, ...loads[1].accepted]))
})

/** Fills the only stream of a system until it refuses; returns how many payloads it holds. */
async function fillStream(system: ReceiverSystem, receiver: Receiver): Promise<number> {
  for (let taken = 0; taken < 50; taken++) {
    if ((await exportSpan(system, receiver, 20_000)).status !== 200) return taken
  }
  throw new Error('the stream does not fill up')
}

/** Exports one span with `padding` bytes of attributes. */
function exportSpan(system: ReceiverSystem, receiver: Receiver, padding: number) {
  const span = {
    traceId: randomUUID().replaceAll('-', ''),
    spanId: '00f067aa0ba902b7',
    name: 'chat',
    attributes: [{ key: 'x', value: { stringValue: 'x'.repeat(padding) } }],
  }
  return post<{ code: number; message: string }>(
    `${receiver.otelUrl}/v1/traces`,
    { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] },
    { 'x-service-org-id': system.organization },
  )
}

const sendSession = (system: ReceiverSystem, receiver: Receiver, padding = 20_000) => {
  const body = { session_id: randomUUID(), client_config: 'x'.repeat(padding) }
  return post<{ error: string }>(`${receiver.baseUrl}/api/v1/capture-session`, body, {
    'x-org-id': system.organization,
  })
}

t.test('a full stream: exporters are told at once and taken again without a restart', async t => {
  const system = await startReceiverSystem(t, { streamMaxBytes: 200_000, partitions: 1 })
  const receiver = await system.startReceiver()
  const taken = await fillStream(system, receiver)
  t.equal((await system.stored()).length, taken)
  const answer = await exportSpan(system, receiver, 20_000)
  t.equal(answer.status, 503)
  t.strictSame(answer.body, { code: 14, message: 'Ingestion is full for the moment; send again later' })
  t.ok(Number(answer.headers.get('retry-after')) >= 1)
  await (await jetstreamManager(system.nc)).streams.purge(streamOf(0))
  await eventually('exports are taken again', async () => (await exportSpan(system, receiver, 10)).status === 200)
})

t.test(
  'a full stream: SDK senders are held, stored as soon as there is room, and told the truth after the hold',
  async t => {
    const system = await startReceiverSystem(t, { streamMaxBytes: 200_000, partitions: 1 })
    const receiver = await system.startReceiver({ PARLEY_HOLD_MS: '60000' })
    await fillStream(system, receiver)
    const held = Array.from({ length: 5 }, () => sendSession(system, receiver))
    await eventually('they are held', async () => (await metric(receiver, 'ingest_held_payloads')) === 5)
    t.equal((await exportSpan(system, receiver, 20_000)).status, 503, 'exporters do not wait behind them')
    await (await jetstreamManager(system.nc)).streams.purge(streamOf(0))
    t.strictSame(
      (await Promise.all(held)).map(answer => answer.status),
      [200, 200, 200, 200, 200],
    )
    t.equal((await system.stored()).length, 5)

    const brief = await system.startReceiver({ PARLEY_HOLD_MS: '1500' })
    await fillStream(system, brief)
    const late = performance.now()
    const refused = await sendSession(system, brief)
    t.ok(performance.now() - late >= 1_400)
    const before = (await system.stored()).length
    t.equal(refused.status, 503)
    // "Not available" when the stream's last answer is still to come as the hold ends: then it is not known whether it is stored.
    t.match(refused.body.error, /^Ingestion is (full|not available) for the moment; send again later$/)
    const isFull = refused.body.error.includes('full')
    t.ok(Number(refused.headers.get('retry-after')) >= 1)
    await (await jetstreamManager(system.nc)).streams.purge(streamOf(0))
    t.ok(before > 5)
    // What the same receiver takes next is stored behind anything that it might still have sent.
    await eventually('it takes again', async () => (await exportSpan(system, brief, 10)).status === 200)
    const kinds = (await system.stored()).map(frame => frame.kind)
    if (isFull) t.notOk(kinds.includes('session'), 'what was refused is not stored later')
  },
)

t.test('NATS away: exporters are told at once, SDK senders are held, then told', async t => {
  const system = await startReceiverSystem(t, { partitions: 1 })
  const [receiver, patient] = await Promise.all([
    system.startReceiver({ PARLEY_HOLD_MS: '2000' }),
    system.startReceiver({ PARLEY_HOLD_MS: '60000' }),
  ])
  await system.nats.kill9()
  await eventually('the receiver notices', async () => (await fetch(`${receiver.baseUrl}/readyz`)).status === 503)
  t.equal((await exportSpan(system, receiver, 10)).status, 503)
  const started = performance.now()
  const refused = await sendSession(system, receiver)
  t.equal(refused.status, 503)
  t.ok(performance.now() - started >= 1_900)
  const held = sendSession(system, patient)
  await eventually('it is held', async () => (await metric(patient, 'ingest_held_payloads')) === 1)
  await system.nats.restart()
  t.equal((await held).status, 200)
})

t.test('more than the bytes it may hold is refused, and aborted uploads give their bytes back', async t => {
  const system = await startReceiverSystem(t)
  const receiver = await system.startReceiver({ PARLEY_MAX_PENDING_BYTES: String(1024 * 1024) })
  const headers = { 'x-org-id': system.organization }
  const upload = (): http.ClientRequest => {
    const request = http.request(`${receiver.baseUrl}${EVENT}`, { method: 'POST', headers })
    request.on('error', () => {})
    request.write(Buffer.alloc(250_000, 'x'))
    return request
  }
  const session = (size: number) => ({ session_id: randomUUID(), client_config: 'x'.repeat(size) })
  const url = `${receiver.baseUrl}/api/v1/capture-session`
  const open: http.ClientRequest[] = []
  // An upload that makes no progress is cut after ten seconds; a machine that pauses for longer gets others.
  await eventually('a refusal', async () => {
    open.push(...Array.from({ length: 4 }, upload))
    await eventually('the uploads are held', async () => (await metric(receiver, 'ingest_pending_bytes')) >= 1_000_000)
    return (await post(url, session(100_000), headers)).status === 503
  })
  for (const request of open) request.destroy()
  await eventually('the bytes are free again', async () => (await metric(receiver, 'ingest_pending_bytes')) === 0)
  t.equal((await post(url, session(100_000), headers)).status, 200)
})

t.test('events of sessions that nobody can look up are taken', async t => {
  const system = await startReceiverSystem(t)
  const receiver = await system.startReceiver({ CLICKHOUSE_URL: 'http://127.0.0.1:1' })
  const event = { session_id: randomUUID(), event_id: randomUUID(), primitive_name: 'a' }
  const answer = await post(`${receiver.baseUrl}${EVENT}`, event, { 'x-org-id': system.organization })
  t.equal(answer.status, 200)
  t.equal((await storedEvents(system)).get(event.event_id), 1)
})
