// The guard and the wall against a corpus of hostile statements, alone and together, and ordinary questions that must pass. What either
// lets through alone is listed in docs/sql.md, and the list is compared.
import { readFile } from 'node:fs/promises'
import { text as textOf } from 'node:stream/consumers'
import { ClickHouseError } from '@clickhouse/client'
import t from 'tap'
import { createMetrics } from '#runtime/metrics.ts'
import type { Store } from '#store/client.ts'
import { ORGANIZATION_HEADER } from '#store/wall/tables.ts'
import { walledDatabase } from '#test/rig.ts'
import { ALLOWED_FUNCTIONS, HIGHER_ORDER } from './allowed.ts'
import type { Hostile } from './fixture-corpus.ts'
import { HOSTILE, ORDINARY } from './fixture-corpus.ts'
import { spliced } from './fixture-splice.ts'
import { A, B, MARK, writeTenant, writeTenants } from './fixture-tenants.ts'
import { createGuard } from './guard.ts'
import { createTenantSql } from './run.ts'

/** Statements that are made by splicing; `npm run bench -- sql-guard` makes as many as are asked for. */
const SPLICED = 150

const db = await walledDatabase(t)
/** Everything that the guard has asked the engine. */
const asked: string[] = []
const guard = createGuard({ store: listening(db.sql) })
const sqlOf = ({ sql }: Hostile): string => sql.replaceAll('{{tables}}', db.database)
/** A statement as a line of the page. */
const labelOf = ({ sql }: Hostile): string => {
  const line = sql.replaceAll(
    /[^\x20-\x7e]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return line.length > 150 ? `${line.slice(0, 150)}…` : line
}

/** A store that writes down what it is asked. */
function listening(store: Store): Store {
  return {
    ...store,
    read: (sql, options) => {
      asked.push(sql)
      return store.read(sql, options)
    },
    client: Object.assign(Object.create(store.client) as Store['client'], {
      exec: (params: Parameters<Store['client']['exec']>[0]) => {
        asked.push(params.query)
        return store.client.exec(params)
      },
    }),
  }
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
  await f("SELECT 'ü' 1 1", ['syntax', 'SYNTAX_ERROR: the statement cannot be parsed', 11])
})

t.test('a statement is judged by its form alone: nothing that it says is looked up or run', async t => {
  await several([...ORDINARY, 'SELECT (SELECT intDiv(1, 0)), intDiv(1, 0), nothing.of.the.kind'], sql =>
    guard.check(sql),
  )
  t.ok(asked.length > HOSTILE.length)
  const parsing =
    /^EXPLAIN (?:AST|QUERY TREE run_passes = 0) |^SELECT formatQuerySingleLine\(\{text:String\}\)|FROM system\.functions/
  t.strictSame(
    asked.filter(sql => !parsing.test(sql)),
    [],
  )
  // What would be seen if such a look did run something.
  const seen = "SELECT (SELECT throwIf(1)), throwIf(1), intDiv(1, 0), file('/nothing'), arrayCumSum(throwIf, [1])"
  for (const explain of ['EXPLAIN AST', 'EXPLAIN QUERY TREE run_passes = 0']) {
    const { stream } = await db.sql.client.exec({ query: `${explain} ${seen}` })
    t.match(await textOf(stream), /throwIf/)
  }
  await t.rejects(db.sql.client.exec({ query: `EXPLAIN QUERY TREE ${seen}` }), 'as the whole look does')
})

t.test('a function by its bare name is refused wherever the engine would call it', async t => {
  const ordinary = await db.store.read<{ name: string; higher_order: number }>(
    'SELECT name, higher_order FROM system.functions WHERE NOT is_aggregate AND name IN ({names:Array(String)})',
    { parameters: { names: ALLOWED_FUNCTIONS } },
  )
  const told = ordinary.filter(row => row.higher_order !== 0).map(({ name }) => name)
  t.strictSame(told.toSorted(), [...HIGHER_ORDER].toSorted(), 'the list is what the engine says')
  const given = ['throwIf, [1]', '[1], throwIf', 'x -> x, throwIf', 'throwIf, map(1, 1)']
  const statements = ordinary.flatMap(({ name }) => given.map(argument => `SELECT (SELECT ${name}(${argument}))`))
  const called = await several(statements, async sql => {
    try {
      const result = await db.sql.client.query({ query: sql, format: 'JSONEachRow' })
      await result.text()
      return sql
    } catch (error) {
      // 395 is what throwIf throws.
      return String(error).includes('throwIf') && error instanceof ClickHouseError && error.code === '395' ? sql : ''
    }
  })
  const executed = called.filter(Boolean)
  t.ok(executed.length >= HIGHER_ORDER.size - 3, `${executed.length} were called`)
  const verdicts = await several(executed, sql => guard.check(sql))
  t.strictSame(
    executed.filter((_, i) => verdicts[i]?.ok),
    [],
  )
})

t.test('an error says what kind it is, and no value', async t => {
  const sql = createTenantSql({ store: db.sql, mode: 'sql', metrics: createMetrics('test') })
  const f = async (text: string, expected: RegExp): Promise<void> => {
    const error = await sql.run(A, text).then(
      () => undefined,
      (refused: unknown) => refused,
    )
    t.match(error, { code: 'SQL_REFUSED' }, text)
    t.match(String(error), expected, text)
    t.notMatch(String(error), /ada|secret|executing|In scope/, text)
  }
  await f("SELECT toUInt8(concat('sec', 'ret'))", /CANNOT_PARSE_TEXT: a text cannot be read as what it is made into$/)
  await f('SELECT toUInt8(user_id) FROM events', /CANNOT_PARSE_TEXT/)
  await f('SELECT intDiv(1, 0)', /ILLEGAL_DIVISION: something is divided by zero$/)
  await f('SELECT nmae FROM events', /UNKNOWN_IDENTIFIER: there is no column of that name: nmae$/)
  await f('SELECT name, count() FROM events', /NOT_AN_AGGREGATE/)
  await f('SELECT length(name, name, name) FROM events', /NUMBER_OF_ARGUMENTS_DOESNT_MATCH/)
})

t.test('gaps of a time series are filled, and no more than a statement may have', async t => {
  const sql = createTenantSql({ store: db.sql, mode: 'sql', metrics: createMetrics('test') })
  const { rows } = await sql.run(
    A,
    `SELECT toStartOfInterval(ts, INTERVAL 15 MINUTE) AS t, count() AS n FROM events WHERE event_id IN (
       SELECT event_id FROM events ORDER BY ts LIMIT 1) OR event_id IN (SELECT event_id FROM events ORDER BY ts DESC LIMIT 1)
     GROUP BY t ORDER BY t WITH FILL STEP 900`,
  )
  // The first and the last of 40 events are 273 minutes apart.
  t.strictSame(
    rows.map(([, n]) => Number(n)),
    [1, ...Array.from({ length: rows.length - 2 }, () => 0), 1],
  )
  t.ok(rows.length === 19 || rows.length === 20, `${rows.length} quarters of an hour`)
  const many = await sql.run(A, 'SELECT 1 AS n ORDER BY n WITH FILL FROM 0 TO 5000')
  t.match(many, { truncated: true })
  t.equal(many.rows.length, 1_000)
  const endless = sql.run(A, 'SELECT count() FROM (SELECT 1 AS n ORDER BY n WITH FILL FROM 0 TO 1000000000000)')
  await t.rejects(endless, { code: 'QRY_LIMIT' })
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
