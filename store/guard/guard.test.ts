// The guard and the wall against a corpus of hostile statements, alone and together, and ordinary questions that must pass. What either
// lets through alone is listed in docs/sql.md, and the list is compared.
import { readFile } from 'node:fs/promises'
import { ClickHouseError } from '@clickhouse/client'
import t from 'tap'
import { createMetrics } from '#runtime/metrics.ts'
import { ORGANIZATION_HEADER } from '#store/wall/tables.ts'
import { walledDatabase } from '#test/rig.ts'
import type { Hostile } from './fixture-corpus.ts'
import { HOSTILE, ORDINARY } from './fixture-corpus.ts'
import { spliced } from './fixture-splice.ts'
import { A, B, MARK, writeTenant, writeTenants } from './fixture-tenants.ts'
import { createGuard } from './guard.ts'
import { createTenantSql } from './run.ts'

/** Statements that are made by splicing; `npm run bench -- sql-guard` makes as many as are asked for. */
const SPLICED = 150

const db = await walledDatabase(t)
const guard = createGuard({ store: db.sql })
const sqlOf = ({ sql }: Hostile): string => sql.replaceAll('{{tables}}', db.database)
/** A statement as a line of the page. */
const labelOf = ({ sql }: Hostile): string => {
  const line = sql.replaceAll(
    /[^\x20-\x7e]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return line.length > 150 ? `${line.slice(0, 150)}…` : line
}

t.before(() => writeTenants(db.store))

/** Runs jobs a few at a time, in order of their results. */
async function several<T, R>(items: readonly T[], job: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let i = 0; i < items.length; i += 4) results.push(...(await Promise.all(items.slice(i, i + 4).map(job))))
  return results
}

/** What the wall alone answers: text of rows, or undefined when it refuses. */
async function answerOfWall(sql: string): Promise<string | undefined> {
  try {
    const headers = { [ORGANIZATION_HEADER]: A }
    const result = await db.sql.client.query({ query: sql, format: 'JSONEachRow', http_headers: headers })
    return await result.text()
  } catch (error) {
    // Errors of its libraries have no code of the engine's.
    if (!(error instanceof ClickHouseError) && !String(error).includes('Poco::Exception')) throw error
    return undefined
  }
}

t.test('ordinary questions pass and are answered with the rows of their own', async t => {
  t.ok(ORDINARY.length >= 20)
  const sql = createTenantSql({ store: db.sql, mode: 'sql', metrics: createMetrics('test') })
  for (const text of ORDINARY) {
    const { rows } = await sql.run(A, text)
    t.notMatch(JSON.stringify(rows), MARK, text)
  }
})

let guardLets: string[] = []
let wallLets: string[] = []

t.test('hostile statements are refused by guard and wall together', async t => {
  t.ok(HOSTILE.length >= 160, `${HOSTILE.length} statements`)
  const outcomes = await several(HOSTILE, async statement => {
    const sql = sqlOf(statement)
    const verdict = await guard.check(sql)
    const answer = statement.heavy || sql.trim() === '' ? undefined : await answerOfWall(sql)
    return { statement, verdict, answer }
  })
  guardLets = outcomes.filter(({ verdict }) => verdict.ok).map(({ statement }) => labelOf(statement))
  wallLets = outcomes.filter(({ answer }) => answer !== undefined).map(({ statement }) => labelOf(statement))
  for (const { statement, verdict, answer } of outcomes) {
    t.notOk(verdict.ok, `guard: ${labelOf(statement).slice(0, 120)}`)
    // Whatever it answers, no row of another tenant is in it.
    if (answer !== undefined) t.notMatch(answer, MARK, `wall: ${labelOf(statement)}`)
  }
})

t.test('what guard and wall let through alone is documented', async t => {
  const page = await readFile(new URL('../../docs/sql.md', import.meta.url), 'utf8')
  const listed = (name: string): string[] =>
    (new RegExp(`<!-- ${name} -->\\n+\`\`\`sql\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? '').split('\n').filter(Boolean)
  t.strictSame(listed('guard alone'), guardLets)
  t.strictSame(listed('wall alone'), wallLets)
})

t.test('every fault is named at once, with its place and a hint', async t => {
  const f = async (sql: string, ...expected: (readonly [string, string, number | null])[]): Promise<void> => {
    const verdict = await guard.check(sql)
    if (verdict.ok) {
      t.fail(`${sql} passed`)
      return
    }
    const found = verdict.violations.map(({ kind, what, position }) => [kind, what, position])
    for (const violation of expected)
      t.strictSame(
        found.find(([, what]) => what === violation[1]),
        violation,
        sql,
      )
    t.ok(
      verdict.violations.every(({ hint }) => hint !== ''),
      sql,
    )
  }
  await f(
    "SELECT file('a'), sleep(1) FROM numbers(3), system.tables",
    ['function', 'file', 7],
    ['function', 'sleep', 18],
    ['table', 'numbers', 32],
    ['table', 'system.tables', 44],
  )
  await f('SELECT 1 FROM events FORMAT JSON', ['clause', 'FORMAT, INTO OUTFILE or SETTINGS', null])
  await f('WITH events AS (SELECT 1) SELECT * FROM events', ['name', 'events', 5])
})

t.test('hostile pieces are found wherever they stand in an ordinary question', async t => {
  const statements = spliced(20_261_122, SPLICED)
  const verdicts = await several(statements, sql => guard.check(sql))
  const passed = statements.filter((_, i) => verdicts[i]?.ok)
  t.strictSame(passed, [])
})

t.test('what one tenant is answered does not depend on the rows of another', async t => {
  const sql = createTenantSql({ store: db.sql, mode: 'sql', metrics: createMetrics('test') })
  // Where only some of many are asked for, which ones is the store's choice.
  const questions = ORDINARY.filter(text => !/LIMIT|any\(/.test(text))
  const answers = () =>
    several(questions, async text => (await sql.run(A, text)).rows.map(row => JSON.stringify(row)).toSorted())
  const before = await answers()
  await writeTenant(db.store, B, 'mallory2', 500)
  t.strictSame(await answers(), before)
})

t.test('nothing runs where it is switched off, or beyond what one organization may', async t => {
  const metrics = (): ReturnType<typeof createMetrics> => createMetrics('test')
  const off = createTenantSql({ store: db.sql, mode: 'off', metrics: metrics() })
  await t.rejects(off.run(A, 'SELECT 1', { plan: true }), { code: 'SQL_OFF' })
  const plans = createTenantSql({ store: db.sql, mode: 'plans', metrics: metrics() })
  await t.rejects(plans.run(A, 'SELECT 1'), { code: 'SQL_OFF' })
  t.strictSame((await plans.run(A, 'SELECT 1', { plan: true })).rows, [[1]])
  const sql = createTenantSql({ store: db.sql, mode: 'sql', metrics: metrics() })
  await t.rejects(sql.run(A, 'SELECT sleep(1)'), { code: 'SQL_REFUSED', message: /sleep \(at character 8\)/ })
  const five = await Promise.allSettled([1, 2, 3, 4, 5].map(n => sql.run(A, `SELECT ${n}`)))
  t.strictSame(
    five.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'fulfilled', 'rejected'],
  )
  t.strictSame((await sql.run(A, 'SELECT 6')).rows, [[6]], 'and again when they have ended')
})
