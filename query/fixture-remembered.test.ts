// Remembered answers: what was asked already is not asked again of the same rows, and of other rows it is.
import t from 'tap'
import type { ReadOptions } from '#store/client.ts'
import type { WalledDatabase } from '#test/rig.ts'
import { remembering } from './fixture-remembered.ts'

/** A database that counts what reaches it. */
function counting() {
  const reached = { reads: 0, writes: 0 }
  let blocked: Promise<void> = Promise.resolve()
  const written = async (): Promise<void> => void reached.writes++
  const read = async (sql: string, { onRows }: ReadOptions = {}): Promise<{ n: number }[]> => {
    const n = ++reached.reads
    await blocked
    if (sql.includes('broken')) throw new Error('broken')
    onRows?.(n)
    return [{ n }]
  }
  const db = {
    store: { command: written, client: { insert: written, exec: written, key: 'value' } },
    reader: { read },
  }
  const { store, reader } = remembering(db as unknown as WalledDatabase)
  return { reached, store, reader, block: (until: Promise<void>) => (blocked = until) }
}

t.test('the same question is asked once, with its values, its settings and its organization', async t => {
  const { reader } = counting()
  const f = async (sql: string, options: ReadOptions, expected: number): Promise<void> => {
    let rows = 0
    const found = await reader.read<{ n: number }>(sql, { ...options, onRows: read => (rows = read) })
    t.strictSame([found, rows], [[{ n: expected }], expected], JSON.stringify([sql, options]))
    // What comes back belongs to who asked.
    if (found[0]) found[0].n = 100
  }
  await f('a', {}, 1)
  await f('b', {}, 2)
  await f('a', { parameters: { n: 1 } }, 3)
  await f('a', { settings: { readonly: '2' } }, 4)
  await f('a', { headers: { organization: 'x' } }, 5)
  await f('a', { queryId: 'of one question alone' }, 1)
  await f('a', { parameters: { n: 1 } }, 3)
  await f('a', { headers: { organization: 'x' } }, 5)
  await t.rejects(reader.read('a', { signal: AbortSignal.abort() }), { name: 'AbortError' })
  await t.rejects(reader.read('broken'))
  await t.rejects(reader.read('broken'), 'a failure is none of the answers')
})

t.test('what was written is asked for again, also when it was written meanwhile', async t => {
  const { reader, store, reached, block } = counting()
  const readAgain = async (sql: string): Promise<boolean> => {
    const before = reached.reads
    await reader.read(sql)
    return reached.reads > before
  }
  const [events, texts] = ['SELECT 1 FROM events', 'SELECT 1 FROM texts JOIN sessions']
  const both = async () => [await readAgain(events), await readAgain(texts)]
  await both()
  t.strictSame(await both(), [false, false])
  await store.client.insert({ table: 'events', values: [] })
  t.strictSame(await both(), [true, false])
  await store.client.insert({ table: 'sessions', values: [] })
  t.strictSame(await both(), [false, true])
  await store.command('OPTIMIZE TABLE events')
  t.strictSame(await both(), [true, true])
  await store.client.exec({ query: 'anything' })
  t.strictSame(await both(), [true, true])
  t.equal(reached.writes, 4)

  await store.command('so that both are asked for')
  let go = (): void => {}
  block(new Promise(resolve => (go = resolve)))
  const asked = reader.read(events)
  await store.client.insert({ table: 'events', values: [] })
  go()
  await asked
  t.ok(await readAgain(events), 'an answer from before a write')
  t.notOk(await readAgain(events))
})
