import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Kvm } from '@nats-io/kv'
import t from 'tap'
import { LEASE_TTL_MS, leaseKeyOf } from '#proto/streams.ts'
import { createMetrics, type Metrics } from '#runtime/metrics.ts'
import { Outage } from '#runtime/outage.ts'
import { openBuckets } from '#streams/apply.ts'
import { connectNats, eventually, silentLog, startNats } from '#test/rig.ts'
import { Stopped } from './cursor.ts'
import type { Holder, Lease } from './lease.ts'
import { GUARD_MS, isGone, takeLease, thisHolder } from './lease.ts'
import type { Members } from './members.ts'
import { joinMembers } from './members.ts'
import { createProcessorMetrics } from './metrics.ts'
import type { Owner } from './owner.ts'

const outage = new Outage(silentLog, 'test')

/** An owner that does nothing but be stopped, and ends with what it is given then. */
function idleOwner(error?: Error): Owner {
  let end = (): void => {}
  const ended = new Promise<Error | undefined>(resolve => {
    end = () => resolve(error)
  })
  return {
    ended,
    trouble: () => undefined,
    stop: async () => {
      end()
      await ended
    },
  }
}

t.test(
  'processes share the partitions: one has all, two have half, and the rest takes over what one gives back',
  async t => {
    const nats = await startNats(t)
    const { leases } = await openBuckets(await connectNats(t, nats.url))
    const registries = new Map<string, Metrics>()
    const join = (name: string): Members => {
      const registry = createMetrics(name)
      registries.set(name, registry)
      const metrics = createProcessorMetrics(registry)
      const members = joinMembers({
        leases,
        partitions: 4,
        holder: thisHolder(name),
        // As an owner ends that is stopped while it takes over.
        start: () => idleOwner(new Stopped()),
        log: silentLog,
        metrics,
      })
      t.teardown(() => members.stop(0))
      return members
    }
    const holding = (members: readonly Members[]): string => members.map(m => m.held().length).join()
    const a = join('a')
    await eventually('a has all', () => holding([a]) === '4')
    const b = join('b')
    await eventually('halves', () => holding([a, b]) === '2,2')
    const c = join('c')
    await eventually(
      'all partitions are held with three',
      () => a.held().length + b.held().length + c.held().length === 4,
    )
    await b.stop(1_000)
    await eventually('halves again', () => holding([a, c]) === '2,2')
    t.equal(new Set([...a.held(), ...c.held()]).size, 4, 'nobody holds the same')
    await eventually('nothing to complain about', () => a.reasons().length === 0)
    const said = await registries.get('a')?.registry.metrics()
    t.match(said, /lease_moves_total\{[^\n]*move="released"[^\n]* [1-9]/)
    t.match(said, /lease_moves_total\{[^\n]*move="ended"[^\n]* 0\n/, 'an end that was asked for is no error')
  },
)

t.test('a lease is exclusive, is renewed before it is trusted, and is lost to whoever took it', async t => {
  const nats = await startNats(t)
  // A bucket whose keys do not run out by themselves: here only the test's clock decides.
  const kv = await new Kvm(await connectNats(t, nats.url)).create('endless')
  let now = 0
  const take = (member: string): Promise<Lease | null> =>
    takeLease({ kv, key: leaseKeyOf(0), holder: thisHolder(member), outage, clock: () => now })
  const lease = (await take('a')) as Lease
  t.equal(await take('b'), null, 'held')
  const { signal } = new AbortController()
  const before = (await kv.get(leaseKeyOf(0)))?.revision
  await lease.fresh(signal)
  t.equal((await kv.get(leaseKeyOf(0)))?.revision, before, 'young enough')
  now += GUARD_MS
  await lease.fresh(signal)
  t.not((await kv.get(leaseKeyOf(0)))?.revision, before, 'renewed')
  // It ran out while nobody looked, and nobody came: taken again.
  await kv.delete(leaseKeyOf(0))
  now += LEASE_TTL_MS
  await lease.fresh(signal)
  t.equal(lease.lost.aborted, false)
  // It ran out and somebody else came.
  await kv.delete(leaseKeyOf(0))
  const other = (await take('b')) as Lease
  now += LEASE_TTL_MS
  await t.rejects(lease.fresh(signal), /gone/)
  t.equal(lease.lost.aborted, true)
  await lease.release()
  t.equal(await take('c'), null, 'a lost lease gives nothing back')
  await other.release()
  const free = await take('c')
  t.ok(free)
  await free?.release()
})

t.test('a holder of this machine that is gone is not waited for', async t => {
  const self = thisHolder('self')
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child, 'spawn')
  const holder: Holder = { ...self, member: 'other', pid: child.pid as number }
  t.equal(isGone(holder, self), false, 'alive')
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.equal(isGone(holder, self), self.host !== '', 'gone')
  t.equal(isGone({ ...holder, host: 'elsewhere' }, self), false, 'another machine: who knows')
})
