// Pages over large texts: the whole answer stays within what docs/api.md says, and every text that was cut says so.
import t from 'tap'
import { IO_PREVIEW_MAX_BYTES, LIST_IO_MAX_BYTES } from '#proto/dashboard/raw-logs.ts'
import { CONVERSATION_IO_MAX_BYTES, STORIES_IO_MAX_BYTES } from '#proto/dashboard/user-stories.ts'
import { createTenant, eventually } from '#test/rig.ts'
import { id, insertEvents, NOW_MS, startNode, storedEvent } from '../../fixture.ts'

const CONVERSATIONS = 50
const EVENTS = 20
const LARGE = 'größer '.repeat(4_000)

const node = await startNode(t)
const { organization, apiKey } = await createTenant(node.buckets)
const post = (path: string, body: object) =>
  node.ask('POST', `/dashboard/api/${path}`, { body, headers: { 'x-api-key': apiKey } })
await eventually('the tenant', async () => (await post('raw-logs/count', {})).status === 200)

interface Shown {
  readonly input: string | null
  readonly output: string | null
  readonly input_truncated: boolean
  readonly output_truncated: boolean
}

const bytesOf = (events: readonly Shown[]): number =>
  events.reduce((sum, { input, output }) => sum + Buffer.byteLength(input ?? '') + Buffer.byteLength(output ?? ''), 0)

t.before(async () => {
  for (let n = 0; n < CONVERSATIONS; n++) {
    await insertEvents(
      node.db.store,
      Array.from({ length: EVENTS }, (_, i) =>
        storedEvent({
          ...{ organization, conversation_id: id(1 + n), event_id: id(1_000 + n * EVENTS + i) },
          at: new Date(NOW_MS - 3_600_000 - n * 60_000 - i * 1_000).toISOString(),
          input: i === 0 ? 'short' : LARGE,
          ...(i === 1 ? {} : { output: LARGE }),
        }),
      ),
    )
  }
})

t.test('a page of user stories is some hundred kilobytes, however large its texts', async t => {
  const { body } = await post('user-stories', {})
  const events: Shown[] = body.conversations.flatMap((row: { events: Shown[] }) => row.events)
  t.equal(events.length, CONVERSATIONS * EVENTS)
  t.ok(bytesOf(events) <= STORIES_IO_MAX_BYTES, `${bytesOf(events)} bytes of texts`)
  t.ok(bytesOf(events) > STORIES_IO_MAX_BYTES * 0.9)
  t.ok(Buffer.byteLength(JSON.stringify(body)) < 1_000_000, `${Buffer.byteLength(JSON.stringify(body))} bytes in all`)
  for (const { input, output, ...cut } of events) {
    t.ok(
      input !== null && LARGE.startsWith(input) === cut.input_truncated && (cut.input_truncated || input === 'short'),
    )
    t.equal(cut.output_truncated, output !== null)
  }
})

t.test('a small page shows as much of each text as it may', async t => {
  const [conversation] = (await post('user-stories', { page_size: 1 })).body.conversations
  const longest = conversation.events.map(({ input }: Shown) => Buffer.byteLength(input ?? ''))
  t.strictSame(Math.max(...longest), CONVERSATION_IO_MAX_BYTES)
})

t.test('lists of events are bounded as a whole; event-io has everything', async t => {
  const { events } = (await post('raw-logs', { page_size: 200 })).body
  t.equal(events.length, 200)
  t.ok(bytesOf(events) <= LIST_IO_MAX_BYTES, `${bytesOf(events)} bytes`)
  t.ok(bytesOf(events) > LIST_IO_MAX_BYTES * 0.9)
  t.ok(events.every(({ input, input_truncated }: Shown) => input_truncated === (input !== 'short')))
  const page = (await post('raw-logs', {})).body.events
  t.ok(
    page.every((event: Shown) => event.input === 'short' || event.input === LARGE),
    'a page of twenty is whole',
  )
  t.ok(Buffer.byteLength(LARGE) < IO_PREVIEW_MAX_BYTES)
  const whole = (await post('event-io', { event_id: events.at(-1).event_id })).body
  t.equal(whole.output, LARGE)
})
