import t from 'tap'
import { putGuard } from '#control/admin.ts'
import { openControlView } from '#control/view.ts'
import { openBuckets } from '#streams/apply.ts'
import { connectNats, eventually, silentLog, startNats, tempDir } from '#test/rig.ts'
import { startDiskGuard } from './disk-guard.ts'

t.test('the guard closes below its bound, opens with some room above it, and every process sees it', async t => {
  const nats = await startNats(t)
  const { control } = await openBuckets(await connectNats(t, nats.url))
  // As an earlier run may have left it.
  await putGuard(control, { disk: 'full', free_percent: 1, at: '' })
  const view = await openControlView(control, silentLog)
  t.teardown(() => view.close())
  t.equal(view.guard()?.disk, 'full')
  let free = 50
  const said: string[] = []
  const guard = startDiskGuard({
    path: '/',
    minFreePercent: 10,
    lowPercent: 15,
    publish: record => putGuard(control, record),
    say: line => said.push(line),
    everyMs: 1_000_000,
    measure: async () => ({ free, size: 100 }),
  })
  t.teardown(() => guard.stop())
  const f = async (now: number, disk: 'ok' | 'low' | 'full'): Promise<void> => {
    free = now
    await guard.look()
    await guard.look()
    await eventually(`${disk} at ${now} %`, () => view.guard()?.disk === disk, 5_000)
  }
  await f(50, 'ok')
  await f(15, 'ok')
  await f(14.9, 'low')
  await f(16, 'low')
  await f(10, 'low')
  await f(9.9, 'full')
  await f(11, 'full')
  await f(12, 'low')
  await f(17, 'ok')
  await f(5, 'full')
  await f(50, 'ok')
  t.equal(said.length, 7, said.join('; '))
})

t.test('what cannot be published is tried again, and a real file system can be measured', async t => {
  let fail = true
  const published: number[] = []
  const guard = startDiskGuard({
    path: await tempDir(t),
    minFreePercent: 0,
    publish: async ({ free_percent }) => {
      if (fail) throw new Error('away')
      published.push(free_percent)
    },
    say: () => {},
    everyMs: 1_000_000,
  })
  t.teardown(() => guard.stop())
  await guard.look()
  t.equal(published.length, 0)
  fail = false
  await guard.look()
  t.ok((published[0] as number) >= 0 && (published[0] as number) <= 100)
})
