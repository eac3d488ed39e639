// Holding still: nothing is stored while a backup asks for it, what was on its way is finished before, and all of it goes on afterwards.
import t from 'tap'
import { cursorKeyOf, leaseKeyOf } from '#proto/streams.ts'
import { holdOwners, whileOwnersHold } from '#streams/hold.ts'
import { readSettled } from '#streams/settled.ts'
import { eventually } from '#test/rig.ts'
import { countsOf, createBench, envelopeOf, own, poolOf, publish, someEvents } from './fixture.ts'

const pool = poolOf(t)

const PATIENCE_MS = 120_000

t.test('an owner holds still, and goes on when it is released', async t => {
  const bench = await createBench(t, { partitions: 2, pool })
  const { leases, cursors } = bench.buckets
  // The second partition is nobody's, and still by itself.
  const { stop } = await own(t, bench)
  let published = 0
  const publishSome = async (): Promise<void> => {
    for (let i = 0; i < 5; i++) published = await publish(bench, envelopeOf(someEvents(10)))
  }
  const stored = async (): Promise<number> => (await countsOf(bench.db.store, -1)).raw as number
  const options = { nc: bench.nc, leases, cursors, partitions: 2, patienceMs: PATIENCE_MS }
  // A machine that pauses for long breaks a hold; then it is tried again, as a backup does.
  const seen = await eventually('a hold without a break', async () => {
    await publishSome()
    const held = await holdOwners(options)
    const before = [await stored(), await readSettled(cursors, 2)] as const
    await publishSome()
    const after = [await stored(), await readSettled(cursors, 2)] as const
    if (await held.isUnbroken()) return { held, before, after }
    await held.release()
    return undefined
  })
  const [rows, settled] = seen.before
  t.equal(rows, 10 * (settled.get(0) ?? 0), 'what is stored is what the cursor says')
  t.strictSame(seen.after, seen.before, 'and so it stays')
  seen.held.keep()
  await eventually('everything, while only purges wait', async () => (await stored()) === 10 * published)
  await seen.held.release()
  await stop()

  const again = await holdOwners(options)
  await cursors.put(cursorKeyOf(1), JSON.stringify({ floor: 0, intents: [] }))
  t.equal(await again.isUnbroken(), false, 'somebody has come')
  await again.release()
})

t.test('work that needs everything to be still is done alone, and everything goes on afterwards', async t => {
  const bench = await createBench(t, { pool })
  const { stop } = await own(t, bench)
  const stored = async (): Promise<number> => (await countsOf(bench.db.store, -1)).raw as number
  let published = 0
  let inside = 0
  const alone = async (isUnbroken: () => Promise<boolean>): Promise<void> => {
    t.equal(++inside, 1, 'nobody else')
    const before = await stored()
    published = await publish(bench, envelopeOf(someEvents(10)))
    if (await isUnbroken()) t.equal(await stored(), before, 'nothing was stored')
    inside--
  }
  await Promise.all([1, 2].map(() => whileOwnersHold(bench.nc, 'migrate', alone)))
  await eventually('what was published meanwhile', async () => (await stored()) === 10 * published)
  await t.rejects(
    whileOwnersHold(bench.nc, 'migrate', () => Promise.reject(new Error('no'))),
    /no/,
  )
  published = await publish(bench, envelopeOf(someEvents(10)))
  await eventually('owners go on after a failure, too', async () => (await stored()) === 10 * published)
  await stop()
})

t.test('an owner that does not come to rest in time is named', async t => {
  const bench = await createBench(t, { pool })
  const { leases, cursors } = bench.buckets
  const options = { nc: bench.nc, leases, cursors, partitions: 1, patienceMs: 0 }
  await eventually('the refusal', async () => {
    // Of an older version, perhaps: it has the lease, and does not listen. The lease runs out.
    await leases.put(leaseKeyOf(0), '{}')
    const why = await holdOwners(options).then(
      held => held.release(),
      (error: Error) => error.message,
    )
    return why?.includes('the owner of partition 0 does not come to rest')
  })
  t.pass('it is named')
})
