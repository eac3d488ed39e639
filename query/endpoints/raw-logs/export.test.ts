// Exports in slices: nothing is left out or doubled between them, nobody's texts fill the memory, and a cap is said.
import t from 'tap'
import { ParleyError } from '#proto/errors.ts'
import { NIL_UUID } from '#proto/ids.ts'
import { silentLog } from '#test/rig.ts'
import type { Call } from '../../endpoint.ts'
import type { EventRecord } from '../../reads/events.ts'
import { lines } from './export.ts'

/** An event with `bytes` of input. */
const event = (n: number, bytes: number): EventRecord =>
  ({
    ...{ event_id: `e${n}`, conversation_id: 'c', session_id: '', ts: '2026-06-15T11:58:00.000000000Z' },
    ...{ input_bytes: bytes, output_bytes: 0, input_preview: '', output_preview: '', present: 1 },
    ...{ parent_id: NIL_UUID, trace_id: NIL_UUID, duration_ns: '-1', metadata: {}, kind: 'agent' },
  }) as unknown as EventRecord

/** A call whose store has a text for every event; how many it is asked for at a time is noted. */
function callOf(asked: number[]): Call {
  const read = async (question: string, _sql: string, parameters: { events?: string[] } = {}): Promise<unknown[]> => {
    if (question !== 'texts') return []
    const ids = parameters.events ?? []
    asked.push(ids.length)
    return ids.map(event_id => ({ event_id, input: 'x', output: '' }))
  }
  return { reader: { read }, log: silentLog } as unknown as Call
}

async function* slices(bytes: number, ...sizes: number[]): AsyncGenerator<EventRecord[]> {
  let n = 0
  for (const size of sizes) yield Array.from({ length: size }, () => event(n++, bytes))
}

const COLUMNS = [['event_id', ({ row }: { row: { event_id: string } }) => row.event_id]] as const

t.test('what fails before the first rows fails before the first chunk', async t => {
  async function* refused(events: Promise<EventRecord[]>): AsyncGenerator<EventRecord[]> {
    yield await events
  }
  const events = refused(Promise.reject(new ParleyError('REQ_BODY_INVALID', 'timezone')))
  const chunks = lines(callOf([]), events, COLUMNS, true)
  await t.rejects(chunks.next(), { code: 'REQ_BODY_INVALID' })
})

t.test('rows follow each other over slices, and what is beyond the cap is said', async t => {
  const f = async (sizes: number[], maxRows: number | undefined, rows: number, truncated: boolean): Promise<void> => {
    const text: string[] = []
    const call = callOf([])
    for await (const chunk of lines(call, slices(0, ...sizes), COLUMNS, true, maxRows)) text.push(chunk)
    const expected = [
      'event_id',
      ...Array.from({ length: rows }, (_, n) => `e${n}`),
      ...(truncated ? ['#truncated'] : []),
    ]
    t.strictSame(text.join('').split('\r\n').slice(0, -1), expected, `${sizes.join()} up to ${maxRows}`)
  }
  await f([3, 2], undefined, 5, false)
  await f([], undefined, 0, false)
  await f([3, 3, 1], 7, 7, false)
  await f([3, 3, 1], 6, 6, true)
  await f([3, 3, 1], 5, 5, true)
  await f([3, 3], 6, 6, false)
})

t.test('texts are read a few megabytes at a time, and not before the client has taken what came before', async t => {
  const asked: number[] = []
  const chunks = lines(callOf(asked), slices(65_536, 300, 10), COLUMNS, false)
  t.strictSame(asked, [], 'nothing before somebody reads')
  await chunks.next()
  t.strictSame(asked, [128])
  await chunks.next()
  t.strictSame(asked, [128, 128])
  await chunks.next()
  await chunks.next()
  t.strictSame(asked, [128, 128, 44, 10])
  t.equal((await chunks.next()).done, true)
})
