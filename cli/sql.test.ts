// `parley sql` from outside: what the guard says, and what a tenant is answered where it is switched on.
import t from 'tap'
import { A, writeTenant } from '#store/guard/fixture-tenants.ts'
import { ends, runCommand } from '#test/command.ts'
import { walledDatabase } from '#test/rig.ts'

t.test('a statement is judged, and answered with rows of one tenant where that is switched on', async t => {
  const db = await walledDatabase(t)
  await writeTenant(db.store, A, 'ada', 4)
  const parley = (args: readonly string[], more: Record<string, string> = {}) =>
    runCommand(['sql', ...args], { PARLEY_SQL_URL: db.sqlUrl, PARLEY_DATABASE: db.database, ...more })
  ends(t, await parley(['check', 'select 1 -- one']), { code: 0, out: 'allowed: SELECT 1\n' })
  ends(t, await parley(['check', 'SELECT hostName()']), { code: 1, out: 'hostName (at character 8): The function' })
  const asked = ['run', 'SELECT count() AS n FROM events', '--org', A]
  ends(t, await parley(asked), { code: 2, err: 'PARLEY_USER_SQL is plans' })
  ends(t, await parley(asked, { PARLEY_USER_SQL: 'sql' }), { code: 0, out: 'n\n4\n' })
  ends(t, await parley(['run', 'SELECT 1']), { code: 2, err: '--org must be a uuid' })
  ends(t, await parley(['check']), { code: 2, err: 'parley sql check' })
})
