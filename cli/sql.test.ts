// `parley sql` from outside: what the guard says, and what a tenant is answered where it is switched on.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { A, writeTenant } from '#store/guard/fixture-tenants.ts'
import { nodeEnv, walledDatabase } from '#test/rig.ts'

const main = fileURLToPath(new URL('./main.ts', import.meta.url))
const run = promisify(execFile)

t.test('a statement is judged, and answered with rows of one tenant where that is switched on', async t => {
  const db = await walledDatabase(t)
  await writeTenant(db.store, A, 'ada', 4)
  const parley = async (args: readonly string[], more: Record<string, string> = {}) => {
    const env = { PATH: process.env.PATH, ...nodeEnv, PARLEY_SQL_URL: db.sqlUrl, PARLEY_DATABASE: db.database, ...more }
    return run(process.execPath, [main, 'sql', ...args], { env }).then(
      ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
      (error: { code: number; stdout: string; stderr: string }) => ({
        ...{ code: error.code, out: error.stdout, err: error.stderr },
      }),
    )
  }
  t.match(await parley(['check', 'select 1 -- one']), { code: 0, out: 'allowed: SELECT 1\n' })
  t.match(await parley(['check', 'SELECT hostName()']), { code: 1, out: 'hostName (at character 8): The function' })
  const asked = ['run', 'SELECT count() AS n FROM events', '--org', A]
  t.match(await parley(asked), { code: 2, err: 'PARLEY_USER_SQL is plans' })
  t.match(await parley(asked, { PARLEY_USER_SQL: 'sql' }), { code: 0, out: 'n\n4\n' })
  t.match(await parley(['run', 'SELECT 1']), { code: 2, err: '--org must be a uuid' })
  t.match(await parley(['check']), { code: 2, err: 'parley sql check' })
})
