// What is written to a copy of a store is not in the store that it was made of, and both go on.
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { withTeardown } from '../teardown.ts'
import { copyStore } from './copy.ts'
import { openStore } from './machine.ts'

/** Opens a store, writes and merges, and says what it holds then. */
const numbersAfter = (folder: string, insert: readonly number[]): Promise<number[]> =>
  withTeardown(async t => {
    const { store } = await openStore(t, folder)
    for (const n of insert) await store.command(`INSERT INTO bench_numbers VALUES (${n})`)
    await store.command('OPTIMIZE TABLE bench_numbers FINAL')
    const rows = await store.read<{ n: number }>('SELECT n FROM bench_numbers ORDER BY n')
    return rows.map(({ n }) => n)
  })

t.test('a store and its copy', async t => {
  const dir = t.testdir()
  const [built, copy] = [join(dir, 'events'), join(dir, 'events.run')]
  await withTeardown(async t => {
    const { store } = await openStore(t, built)
    await store.command('CREATE TABLE bench_numbers (n UInt32) ENGINE = MergeTree ORDER BY n')
  })
  t.same(await numbersAfter(built, [1, 2]), [1, 2])
  await mkdir(copy)
  await writeFile(join(copy, 'of an earlier run'), '')
  await copyStore(built, copy)
  t.same((await readdir(copy)).sort(), (await readdir(built)).sort())
  t.same(await numbersAfter(copy, [3]), [1, 2, 3])
  t.same(await numbersAfter(built, [4]), [1, 2, 4])
  await rm(copy, { recursive: true })
  t.same(await numbersAfter(built, []), [1, 2, 4])
})
