// Rows that come back: in parts of which form they lie.
import t from 'tap'
import { freshDatabase } from '#test/rig.ts'
import { inWideParts, readRows, writeRows } from './rows.ts'

t.test('what comes back lies in wide parts, what is inserted afterwards in compact ones', async t => {
  const { store } = await freshDatabase(t)
  // A row is as large as a block of 32 MiB is otherwise.
  await store.command('ALTER TABLE texts MODIFY SETTING min_bytes_for_wide_part = 1')
  await store.command('SYSTEM STOP MERGES texts')
  const insert = (input: string): Promise<void> =>
    store.command(
      `INSERT INTO texts (organization, ts, input) VALUES (generateUUIDv4(), '2026-06-15 12:00:00', '${input}')`,
    )
  const parts = async (): Promise<Record<string, number>> => {
    const rows = await store.read<{ type: string; n: string }>(
      `SELECT part_type AS type, count() AS n FROM system.parts
       WHERE database = currentDatabase() AND table = 'texts' AND active GROUP BY type`,
    )
    return Object.fromEntries(rows.map(({ type, n }) => [type, Number(n)]))
  }
  await insert('as processors do')
  t.strictSame(await parts(), { Compact: 1 })
  const texts = `${store.database}.texts`
  await inWideParts(store, 'texts', async () => {
    await writeRows(store, texts, await readRows(store, texts, '0-202606'))
  })
  t.strictSame(await parts(), { Compact: 1, Wide: 1 })
  await insert('and go on')
  t.strictSame(await parts(), { Compact: 2, Wide: 1 })
})

t.test('a table whose inserts may be wide is left as it is', async t => {
  const { store } = await freshDatabase(t)
  const settings = async (): Promise<unknown> =>
    store.read("SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = 'links'")
  const before = await settings()
  let written = 0
  await inWideParts(store, 'links', async () => {
    written++
    t.strictSame(await settings(), before)
  })
  t.equal(written, 1)
})
