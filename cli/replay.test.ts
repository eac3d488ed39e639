// `parley replay` from outside: a range and a time are read again while the system runs; what cannot be is said.
import { randomUUID } from 'node:crypto'
import { jetstream } from '@nats-io/jetstream'
import t from 'tap'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { subjectOf } from '#proto/streams.ts'
import { commandOf, ends } from '#test/command.ts'
import { eventually, startSystem } from '#test/rig.ts'

t.test('stored payloads are read again by position and by time, and count once', async t => {
  const system = await startSystem(t, { receivers: 0, limits: { partitions: 1 } })
  const parley = commandOf({ NATS_URL: system.nats.url }, 'replay')
  ends(t, await parley('status'), { code: 0, out: 'partition 0: never' })
  for (let i = 0; i < 4; i++) {
    const writer = new EnvelopeWriter(100_000)
    const event = { event_id: randomUUID(), session_id: randomUUID(), primitive_name: 'agent', args: 'a', result: 'b' }
    const body = Buffer.from(JSON.stringify(event))
    writer.append(FrameKind.event, FrameEncoding.json, uuidBytes(system.organization), Date.now(), null, body)
    await jetstream(system.nc).publish(subjectOf(0), writer.finish())
  }
  const counted = async (): Promise<string> => {
    const sql = 'SELECT sum(sign) AS n, max(origin_generation) AS g FROM events'
    const rows = await system.store.read<{ n: string; g: number }>(sql)
    return `${rows[0]?.n} ${rows[0]?.g}`
  }
  await eventually('four events', async () => (await counted()) === '4 1')
  ends(t, await parley('--partition', '0', '--from', '2', '--to', '3'), { code: 0, out: 'partition 0: 2-3 done' })
  t.equal(await counted(), '4 2')
  ends(t, await parley('--since', '1h'), { code: 0, out: 'partition 0: 1-4 done' })
  t.equal(await counted(), '4 3')
  ends(t, await parley('status'), { code: 0, out: 'partition 0: 1-4 done' })
  ends(t, await parley('--since', '2h', '--until', '1h'), { code: 0, out: 'no partition holds anything of that time' })
  ends(t, await parley('--partition', '0', '--from', '2', '--to', '9'), {
    code: 1,
    out: 'refused: everything up to 4 is stored',
  })
  const f = async (args: string[], message: string) => ends(t, await parley(...args), { code: 2, err: message })
  await f(['--from', '1', '--to', '2'], 'parley replay --partition P')
  await f(['statsu', '--since', '2h'], 'parley replay --partition P')
  await f(['--partition', '7', '--from', '1', '--to', '2'], 'there are 1 partitions')
  await f(['--since', 'soon'], '--since: not a time: soon')
  await f(['--partition', '0', '--from', 'x', '--to', '2'], '--from must be a whole number')
})
