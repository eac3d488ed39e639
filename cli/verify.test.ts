// `parley verify` from outside, against a system that has stored something.
import { randomUUID } from 'node:crypto'
import { jetstream } from '@nats-io/jetstream'
import t from 'tap'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { cursorKeyOf, subjectOf } from '#proto/streams.ts'
import { readSettled } from '#streams/settled.ts'
import { commandOf, ends } from '#test/command.ts'
import { eventually, startSystem } from '#test/rig.ts'

t.test('what was stored differs in nothing; a row too many is told and taken back', async t => {
  const system = await startSystem(t, { receivers: 0, limits: { partitions: 1 } })
  const engines = { NATS_URL: system.nats.url, CLICKHOUSE_URL: system.clickhouseUrl }
  const parley = commandOf({ ...engines, PARLEY_DATABASE: system.database }, 'verify')
  const writer = new EnvelopeWriter(100_000)
  for (let i = 0; i < 4; i++) {
    const event = { event_id: randomUUID(), session_id: randomUUID(), primitive_name: 'agent', args: 'a', result: 'b' }
    const body = Buffer.from(JSON.stringify(event))
    writer.append(FrameKind.event, FrameEncoding.json, uuidBytes(system.organization), Date.now(), null, body)
  }
  await jetstream(system.nc).publish(subjectOf(0), writer.finish())
  await eventually('the range to be settled', async () => {
    return (await readSettled(system.buckets.cursors, 1)).get(0) === 1
  })
  ends(t, await parley(), { code: 0, out: 'nothing differs: 4 rows' })

  ends(t, await parley('--ledger'), { code: 0, out: '1 ranges, 4 events recorded = 4 that count + 0 taken back' })
  await system.store.command('INSERT INTO events SELECT * FROM events WHERE origin_frame = 2')
  const answer = await parley('--json', '--org', system.organization)
  t.equal(answer.code, 1)
  t.match(JSON.parse(answer.out), { found: 1, differences: [{ check: 'position', at: '0-1-2-0', sum: 2 }] })
  ends(t, await parley('--since', '2h', '--repair'), { code: 0, out: 'repaired 1 of 1' })
  ends(t, await parley('--until', '2h'), { code: 0, out: 'nothing differs: 0 rows' })

  await system.store.command('ALTER TABLE events DELETE WHERE origin_frame = 1', { settings: { mutations_sync: '2' } })
  ends(t, await parley(), { code: 0 }, 'a row that is gone leaves no trace in the store')
  ends(t, await parley('--ledger'), { code: 1, out: 'ledger 0 1-1: 3 of 4 rows of events' })

  const f = async (args: string[], message: string) => ends(t, await parley(...args), { code: 2, err: message })
  await f(['--org', 'mine'], '--org must be a uuid')
  await f(['--since', 'soon'], '--since: not a time: soon')
  await f(['--ledger', '--repair'], '--ledger speaks of whole ranges')
})

t.test('what somebody still works on is not settled', async t => {
  const cursors = new Map<string, object>([
    [cursorKeyOf(0), { floor: 9, lanes: [{ floor: 9 }, { floor: 12 }], intents: [] }],
    [cursorKeyOf(1), { floor: 9, lanes: [{ floor: 9 }, { floor: 3 }], intents: [{ from: 7 }, { from: 4 }] }],
    [cursorKeyOf(2), { floor: 9, intents: [{ from: 2 }] }],
  ])
  const get = async (key: string) => (cursors.has(key) ? { operation: 'PUT', json: () => cursors.get(key) } : null)
  const settled = await readSettled({ get } as unknown as Parameters<typeof readSettled>[0], 4)
  t.strictSame([...settled.values()], [9, 3, 1, 0])
})
