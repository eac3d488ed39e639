import { createHash, randomUUID } from 'node:crypto'
import t from 'tap'
import { inPieces } from '#store/pieces.ts'
import { freshDatabase } from '#test/rig.ts'

const { store } = await freshDatabase(t)

t.test('what is short stays as it is', async t => {
  const parameters = { a: 'x', b: ['y'], c: 7 }
  t.strictSame(inPieces('SELECT {a:String}', parameters), { sql: 'SELECT {a:String}', parameters })
})

t.test('a long list is bound whole, wherever and however often it stands', async t => {
  const ids = Array.from({ length: 30_000 }, () => randomUUID())
  const rows = await store.read<{ n: string; last: 0 | 1; other: 0 | 1 }>(
    `SELECT length({ids:Array(UUID)}) AS n, {last:UUID} IN {ids:Array(UUID)} AS last, generateUUIDv4() IN {ids:Array(UUID)} AS other`,
    { parameters: { ids, last: ids.at(-1) as string } },
  )
  t.match(rows[0], { n: '30000', last: 1, other: 0 })
})

t.test('a list in a condition on the key is known to the planner', async t => {
  const ids = Array.from({ length: 4_000 }, () => randomUUID())
  const organization = randomUUID()
  await store.command(
    `INSERT INTO texts (organization, group_id, ts) VALUES ('${organization}', '${randomUUID()}', now64(9))`,
  )
  const plan = await store.read<{ explain: string }>(
    'EXPLAIN indexes = 1 SELECT 1 FROM texts WHERE organization = {organization:UUID} AND group_id IN {ids:Array(UUID)}',
    { parameters: { ids, organization } },
  )
  t.match(plan.map(row => row.explain).join('\n'), /group_id in 4000-element set/)
})

t.test('a long text is bound whole, characters and escapes included', async t => {
  const text = "ab\\'\n\t€😀".repeat(40_000)
  const rows = await store.read<{ same: string; n: string }>(
    'SELECT hex(MD5({text:String})) AS same, length({text:String}) AS n',
    {
      parameters: { text },
    },
  )
  t.equal(rows[0]?.n, String(Buffer.byteLength(text)))
  t.equal(rows[0]?.same, createHash('md5').update(text).digest('hex').toUpperCase())
})

t.test('text that would end a statement or a value stays a value', async t => {
  for (const text of [`'; DROP TABLE events; --`, '{a:String}', 'a\0b', '\\', `\\'`, '\r\n']) {
    const rows = await store.read<{ v: string; a: string[] }>('SELECT {v:String} AS v, {a:Array(String)} AS a', {
      parameters: { v: text, a: [text, text] },
    })
    t.strictSame(rows, [{ v: text, a: [text, text] }])
  }
})
