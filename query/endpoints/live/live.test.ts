// Events as they are stored: rows in the store and records of finished ranges in the stream, as processors write them.
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import type { BlockRecord } from '#processors/blocks.ts'
import { BLOCKS_STREAM, blocksSubjectOf } from '#proto/streams.ts'
import { createTenant, eventually } from '#test/rig.ts'
import type { StoredEvent } from '../../fixture.ts'
import { id, insertEvents, insertMove, startNode, storedEvent } from '../../fixture.ts'
import { routes } from '../../routes.ts'
import { live, liveEvery } from './live.ts'

// Every second: nobody wants to wait for a quarter of a minute.
const HEARTBEAT_MS = 1_000
const node = await startNode(t, { routes: [...routes.filter(route => route !== live), liveEvery(HEARTBEAT_MS)] })
await (await jetstreamManager(node.nc)).streams.add({ name: BLOCKS_STREAM, subjects: ['blocks.*'] })
const js = jetstream(node.nc)
const [a, b] = [await createTenant(node.buckets, { name: 'a' }), await createTenant(node.buckets, { name: 'b' })]
await eventually('the tenants', async () => {
  const headers = { 'x-api-key': b.apiKey }
  return (await node.ask('GET', '/dashboard/api/organization/displayId', { headers })).status === 200
})
await node.stored.ready

const event = (n: number, organization = a.organization, fields: Partial<Parameters<typeof storedEvent>[0]> = {}) =>
  storedEvent({
    ...{ organization, conversation_id: id(100), event_id: id(n), input: `question ${n}` },
    at: '2026-06-15T11:59:00.000Z',
    ...fields,
  })

/** Position of the last row that the fixture wrote. */
async function lastSequence(): Promise<number> {
  const [row] = await node.db.store.read<{ last: string }>('SELECT max(origin_sequence) AS last FROM events')
  return Number(row?.last)
}

/** Stores events and says so, as a processor does. */
async function store(...events: StoredEvent[]): Promise<number> {
  const from = (await lastSequence()) + 1
  await insertEvents(node.db.store, events)
  const record: BlockRecord = {
    ...{ partition: 0, generation: 1, from, to: await lastSequence(), rows: { events: events.length } },
    ...{ repeats: 0, dead: 0, checksum: '', at: '2026-06-15T12:00:00.000Z' },
  }
  return (await js.publish(blocksSubjectOf(0), JSON.stringify(record))).seq
}

interface Frame {
  readonly id: number | undefined
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly data: any
}

/** An open stream: `next` waits for frames with data. */
async function open(query = '', apiKey = a.apiKey, headers: Record<string, string> = {}) {
  const leave = new AbortController()
  t.teardown(() => leave.abort())
  const response = await fetch(`${node.url}/dashboard/api/live${query}`, {
    headers: { 'x-api-key': apiKey, ...headers },
    signal: leave.signal,
  })
  t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  const chunks = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  /** The next frame; one without data only where it is asked for. */
  const next = async (heartbeats = false): Promise<Frame> => {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end < 0) {
        const { value, done } = await chunks.read()
        if (done) throw new Error('the stream ended')
        text += value
        continue
      }
      const lines = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      const of = (name: string): string | undefined =>
        lines.find(line => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = of('data')
      if (data === undefined && !(heartbeats && lines[0] === ': heartbeat')) continue
      return {
        id: of('id') === undefined ? undefined : Number(of('id')),
        data: data === undefined ? 'heartbeat' : data === '[DONE]' ? data : JSON.parse(data),
      }
    }
  }
  return { next, leave: () => leave.abort() }
}

t.test('what is stored is shown, to its organization alone and as the filters say', async t => {
  await store(event(1))
  const all = await open()
  const start = await all.next()
  t.match(start.data, { type: 'start' })
  const [others, failures, agents] = [
    await open('', b.apiKey),
    await open('?success=false'),
    await open('?agent_name=x'),
  ]
  for (const stream of [others, failures, agents]) await stream.next()
  await store(
    event(2),
    event(3, a.organization, { failed: 1, user_id: 'ada' }),
    event(4, b.organization, { event_id: id(2), name: 'spy' }),
    event(5, a.organization, { name: 'x' }),
  )
  const shown = [await all.next(), await all.next(), await all.next()]
  t.match(
    shown.map(frame => frame.data.event),
    [
      { event_id: id(2), preview: { first_input: 'question 2', last_output: null }, success: true },
      { event_id: id(3), success: false, user_id: 'ada' },
      { event_id: id(5) },
    ],
  )
  t.notOk('input' in shown[0]!.data.event, 'texts are asked for one by one')
  t.match((await others.next()).data, { event: { event_id: id(2), primitive_name: 'spy' } })
  t.match((await failures.next()).data, { event: { event_id: id(3) } })
  t.match((await agents.next()).data, { event: { event_id: id(5) } })
})

t.test('a client goes on after the last id, and what a correction writes is no news', async t => {
  const stream = await open()
  await stream.next()
  await store(event(10), event(11))
  const first = await stream.next()
  const second = await stream.next()
  t.equal(first.id, undefined, 'the step is not told to its end')
  t.type(second.id, 'number')
  stream.leave()
  await insertMove(node.db.store, [event(10)], { conversation_id: id(101), move_id: id(1) } as object)
  await store(event(12))
  const again = await open(`?after=${second.id}`)
  t.match((await again.next()).data, { type: 'start' })
  t.match((await again.next()).data, { event: { event_id: id(12) } })
  const reconnected = await open('', a.apiKey, { 'last-event-id': String(second.id) })
  t.match(await reconnected.next(), { id: second.id, data: { type: 'start' } })
  t.match((await reconnected.next()).data, { event: { event_id: id(12) } })
  const both = await open(`?after=${second.id}`, a.apiKey, { 'last-event-id': '0' })
  t.match(await both.next(), { id: second.id, data: { type: 'start' } }, 'what is asked for in words counts')
  const whole = await open('?after=0')
  await whole.next()
  const seen = []
  for (let n = 0; n < 5; n++) seen.push((await whole.next()).data.event.event_id)
  t.strictSame(seen.slice(0, 2), [id(1), id(2)])
})

t.test('a place ahead of the stream is that of another installation', async t => {
  const stream = await open('?after=999999')
  t.equal((await stream.next()).id, node.stored.last())
  await store(event(20))
  t.match((await stream.next()).data, { event: { event_id: id(20) } })
})

t.test('more than a screen is skipped and said', async t => {
  const stream = await open()
  await stream.next()
  await store(...Array.from({ length: 501 }, (_, i) => event(1000 + i)))
  t.match((await stream.next()).data, { type: 'skipped' })
  t.match((await stream.next()).data, { event: { event_id: id(1001) } }, 'the latest are shown')
})

t.test('who has nothing to hear while others store hears that the stream lives, and how far it is', async t => {
  const stream = await open('', b.apiKey)
  const start = await stream.next()
  let heard: Frame | undefined
  const hearing = stream.next(true).then(frame => (heard = frame))
  // Never silent for as long as a heartbeat takes: the silence of the store cannot be what it is told for.
  for (let n = 0; heard === undefined && n < 150; n++) await store(event(3000 + n))
  if (heard === undefined) return t.fail('nothing was heard')
  await hearing
  t.equal(heard.data, 'heartbeat')
  t.ok((heard.id as number) > (start.id as number), 'what others stored lies behind it')
  stream.leave()
})

t.test('a wrong place or filter is refused before the stream begins', async t => {
  const ask = (query: string) => node.ask('GET', `/dashboard/api/live${query}`, { headers: { 'x-api-key': a.apiKey } })
  t.match(await ask('?after=x'), { status: 400, body: { field: 'after' } })
  t.match(await ask('?success=maybe'), { status: 400, body: { field: 'success' } })
  const headers = { 'x-api-key': a.apiKey, 'last-event-id': '-1' }
  t.match(await node.ask('GET', '/dashboard/api/live', { headers }), { status: 400, body: { field: 'Last-Event-ID' } })
  t.equal((await node.ask('GET', '/dashboard/api/live')).status, 401)
})
