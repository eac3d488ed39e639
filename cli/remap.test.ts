// `parley remap` from outside: payloads that are kept are read again, costs of older rows are computed from the rows, and what cannot be
// mapped is said.
import { randomUUID } from 'node:crypto'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { changeReading } from '#control/readings.ts'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { jsonBytes, request, span } from '#proto/otlp/fixture.ts'
import { streamOf, subjectOf } from '#proto/streams.ts'
import { commandOf, ends } from '#test/command.ts'
import { eventually, startSystem } from '#test/rig.ts'

/** A million tokens. */
const usage = { 'gen_ai.request.model': 'm', 'gen_ai.usage.input_tokens': 1_000_000, 'gen_ai.usage.output_tokens': 0 }

t.test('history follows prices and rules as far as it can be told', async t => {
  const system = await startSystem(t, { receivers: 0, limits: { partitions: 1 } })
  const engines = { NATS_URL: system.nats.url, CLICKHOUSE_URL: system.clickhouseUrl }
  const parley = commandOf({ ...engines, PARLEY_DATABASE: system.database }, 'remap')
  const send = async (trace: number): Promise<void> => {
    const writer = new EnvelopeWriter(100_000)
    const body = jsonBytes(request([span(trace, 1, {}, { ...usage, 'gen_ai.operation.name': 'chat', plan: 'gold' })]))
    writer.append(
      FrameKind.otlp,
      FrameEncoding.json,
      uuidBytes(system.organization),
      Date.now(),
      null,
      Buffer.from(body),
    )
    await jetstream(system.nc).publish(subjectOf(0), writer.finish())
  }
  const price = (input: number) =>
    changeReading(system.buckets.control, system.organization, 'test', ({ rules }) => ({
      prices: [{ model: 'm', prices: { input, output: 0 } }],
      rules,
    }))
  /** What each row costs in dollars, and whose it is. */
  const told = async (): Promise<string> => {
    const rows = await system.store.read<{ row: string }>(
      `SELECT concat(toString(origin_sequence), ': ', toString(cost_nanos / 1e9), ' ', user_id) AS row FROM events FINAL
       WHERE sign = 1 ORDER BY origin_sequence`,
    )
    return rows.map(({ row }) => row.trim()).join(', ')
  }
  const org = ['--org', system.organization]

  await price(1)
  for (const trace of [1, 2, 3]) await send(trace)
  await eventually('three rows', async () => (await told()).split(', ').length === 3)
  // Processors hear of prices when they hear of them: the rows may have the list's, which has no such model.
  await (await jetstreamManager(system.nc)).streams.purge(streamOf(0), { seq: 3 })
  await price(5)
  await changeReading(system.buckets.control, system.organization, 'test', reading => ({
    ...reading,
    rules: [
      {
        id: randomUUID(),
        attribute: 'plan',
        field: 'user_id',
        created_at: new Date().toISOString(),
        created_by: 'test',
      },
    ],
  }))
  // One event more is read by what holds now.
  for (let trace = 4, heard = false; !heard && trace < 600; trace++) {
    await send(trace)
    const rows = await eventually('the next row', async () => (await told()).includes(`${trace}: `) && told())
    heard = rows.includes(`${trace}: 5 gold`)
  }

  const estimate = await parley(...org, '--estimate')
  t.match(estimate, { code: 0, out: 'partition 0: 2 events are mapped from their rows' })
  t.match(estimate.out, /rule plan -> user_id: 2 rows hold that attribute and stay as they are/)
  t.match(estimate.out, /remap done: 2 rows looked at, 2 would change/)
  t.match(estimate.out, /estimate: 2 rows would change/)
  t.notMatch(await told(), /1: 5/, 'nothing has changed')

  const mapped = await parley(...org)
  t.match(mapped, { code: 0, out: 'remap done: 2 rows looked at, 2 changed' })
  t.match(await told(), /^1: 5, 2: 5, 3: 5 gold, 4: 5 gold/, 'costs of all; the user where a payload tells it')
  ends(t, await parley('status'), { code: 0, out: 'partition 0: remap done' })
  ends(t, await parley('cancel'), { code: 0, out: 'nothing is under way' })
  ends(t, await parley(...org, '--stored', '--since', '2h', '--until', '1h'), { code: 0, out: 'remap done: 0 rows' })

  const f = async (args: string[], message: string) => ends(t, await parley(...args), { code: 2, err: message })
  await f(['--org', 'mine'], 'parley remap --org UUID')
  await f(['again'], 'parley remap --org UUID')
  await f(['cancel', 'it'], 'parley remap --org UUID')
})
