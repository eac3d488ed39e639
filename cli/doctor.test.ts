// `parley doctor` against a system that is well, and against one that isn't.
import { jetstream } from '@nats-io/jetstream'
import t from 'tap'
import { GUARD_KEY } from '#control/records.ts'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { subjectOf } from '#proto/streams.ts'
import { runCommand } from '#test/command.ts'
import { eventually, startSystem } from '#test/rig.ts'

interface Finding {
  readonly check: string
  readonly state: string
  readonly fix?: string
}

t.test('what is wrong is said with what to do about it', async t => {
  const system = await startSystem(t, { receivers: 0 })
  const engines = { NATS_URL: system.nats.url, CLICKHOUSE_URL: system.clickhouseUrl, PARLEY_DATABASE: system.database }
  const doctor = (env: Record<string, string> = {}, ...args: string[]) =>
    runCommand(['doctor', ...args], { ...engines, ...env })
  const found = async (
    env?: Record<string, string>,
  ): Promise<{ code: number | null; states: Record<string, string> }> => {
    const { code, out, err } = await doctor(env, '--json')
    t.equal(err, '')
    const { healthy, findings } = JSON.parse(out) as { healthy: boolean; findings: Finding[] }
    t.equal(healthy, code === 0)
    for (const one of findings)
      t.equal(one.fix !== undefined, one.state !== 'ok', `${one.check}: advice where it is needed`)
    return { code, states: Object.fromEntries(findings.map(one => [one.check, one.state])) }
  }
  // The machine's disk may be anything; all else is well, but for what nobody has verified yet.
  const { states } = await eventually('an owner of each partition', async () => {
    const seen = await found()
    return seen.states.owners === 'ok' && seen
  })
  const { disk: _disk, ...others } = states
  t.strictSame(others, {
    ...{
      settings: 'ok',
      nats: 'ok',
      copies: 'ok',
      clickhouse: 'ok',
      clocks: 'ok',
      schema: 'ok',
      parts: 'ok',
      'broken parts': 'ok',
      streams: 'ok',
    },
    ...{ owners: 'ok', lag: 'ok', 'dead letters': 'ok', numbers: 'warn', ledger: 'ok' },
  })
  t.match((await doctor()).out, /ok {4}schema: \d+ migrations/)

  const writer = new EnvelopeWriter(10_000)
  const body = Buffer.from('{"session_id": cut')
  writer.append(FrameKind.event, FrameEncoding.json, uuidBytes(system.organization), Date.now(), null, body)
  await jetstream(system.nc).publish(subjectOf(0), writer.finish())
  const guard = { disk: 'full', free_percent: 1, at: new Date().toISOString() }
  await system.buckets.control.put(GUARD_KEY, JSON.stringify(guard))
  await system.buckets.cursors.put('verified', JSON.stringify({ at: Date.now(), differences: 2, rows: 9 }))
  const sick = await eventually('the letter', async () => {
    const seen = await found({ PARLEY_INSERT_INTERVAL: '1' })
    return seen.states['dead letters'] === 'warn' && seen
  })
  t.match(sick, { code: 1, states: { settings: 'warn', disk: 'fail', numbers: 'fail' } })
  await system.processors[0]?.stop()
  const stopped = await eventually('nobody owns a partition', async () => {
    const seen = await found()
    return seen.states.owners === 'fail' && seen
  })
  t.equal(stopped.code, 1)
})
