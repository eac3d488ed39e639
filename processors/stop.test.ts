// A processor that is stopped (SIGSTOP) for longer than its lease lives, and then goes on as if nothing had happened.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { jetstream } from '@nats-io/jetstream'
import t from 'tap'
import { LEASE_TTL_MS, leaseKeyOf, subjectOf } from '#proto/streams.ts'
import { applyStreams } from '#streams/apply.ts'
import { connectNats, eventually, freshDatabase, startNats, startPart, testLimits } from '#test/rig.ts'
import { allEqual, countsOf, envelopeOf, someEvents } from './fixture.ts'
import type { Holder } from './lease.ts'

t.test('a stopped processor is replaced once its lease has run out, and harms nothing when it wakes up', async t => {
  const [nats, { store, url, database }] = await Promise.all([startNats(t), freshDatabase(t)])
  const nc = await connectNats(t, nats.url)
  const { buckets } = await applyStreams(nc, { ...testLimits, partitions: 1 })
  const js = jetstream(nc)
  const env = {
    NATS_URL: nats.url,
    CLICKHOUSE_URL: url,
    PARLEY_DATABASE: database,
    PARLEY_INSERT_INTERVAL_MS: '20',
  }
  const holder = async (): Promise<number> => (await buckets.leases.get(leaseKeyOf(0)))?.json<Holder>().pid ?? 0
  const first = await startPart(t, 'processors/main.ts', env)
  await eventually('the first has the partition', async () => (await holder()) === first.pid)
  const second = await startPart(t, 'processors/main.ts', env)

  let sent = 0
  let arriving = true
  const arrivals = (async () => {
    while (arriving) {
      await js.publish(subjectOf(0), envelopeOf(someEvents(10, { session_id: randomUUID() })))
      sent += 10
      await delay(20)
    }
  })()
  await eventually('rows', async () => (await countsOf(store, -1)).raw !== 0)

  first.kill('SIGSTOP')
  const stoppedAt = performance.now()
  await eventually('the second has it', async () => (await holder()) === second.pid, LEASE_TTL_MS + 5_000)
  const before = sent
  await eventually('rows again', async () => ((await countsOf(store, -1)).raw ?? 0) >= before)
  const takeoverMs = performance.now() - stoppedAt
  t.comment(`rows again ${Math.round(takeoverMs)} ms after the stop`)

  first.kill('SIGCONT')
  await eventually('the first knows', () => /partition lost|lease is gone|lost to another/.test(first.logs()))
  arriving = false
  await arrivals
  let counts: Record<string, number> = {}
  await eventually('every event', async () => allEqual((counts = await countsOf(store, sent)), sent)).catch(() => {})
  t.same(counts, Object.fromEntries(Object.keys(counts).map(name => [name, sent])))
  // Unless the machine paused the second one for so long that its own lease ran out.
  const lost = /partition lost|lease is gone|lost to another/.test(second.logs())
  t.ok(lost || (await holder()) === second.pid, 'it stays where it is')
})

t.test('a processor is told to stop while NATS is away, with work before it: it ends in order', async t => {
  const [nats, { url, database }] = await Promise.all([startNats(t), freshDatabase(t)])
  const nc = await connectNats(t, nats.url, { hasty: true })
  await applyStreams(nc, { ...testLimits, partitions: 2 })
  const js = jetstream(nc)
  const part = await startPart(t, 'processors/main.ts', {
    NATS_URL: nats.url,
    CLICKHOUSE_URL: url,
    PARLEY_DATABASE: database,
    PARLEY_INSERT_INTERVAL_MS: '0',
  })
  let arriving = true
  const arrivals = (async () => {
    while (arriving) {
      await js.publish(subjectOf(0), envelopeOf(someEvents(10))).catch(() => {
        arriving = false
      })
    }
  })()
  await eventually('it works', () => /partition taken over/.test(part.logs()))
  await nats.kill9()
  await eventually('it knows', () => /NATS connection lost/.test(part.logs()))
  t.equal((await part.stop()).code, 0)
  await eventually('its last line', () => /"msg":"stopped"/.test(part.logs()))
  await nats.restart()
  await arrivals
})
