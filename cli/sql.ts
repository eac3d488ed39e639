// parley sql: what the guard says of a statement, and what a tenant would be answered.
import { parseArgs } from 'node:util'
import { isUuid } from '#proto/ids.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { readSettings } from '#runtime/settings.ts'
import { createTenantSql, describeViolations } from '#store/guard/run.ts'
import { cliSettings } from './config.ts'
import { openSqlStore } from './instance.ts'
import { SQL_USAGE, UsageError } from './usage.ts'

/** Runs the command; returns the exit code: 1 for a statement that is refused. */
export async function sql(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { org: { type: 'string' }, json: { type: 'boolean' } },
  })
  const [what, text] = positionals
  if (text === undefined || positionals.length > 2 || (what !== 'check' && what !== 'run'))
    throw new UsageError(SQL_USAGE)
  if (what === 'run' && !isUuid(values.org ?? '')) throw new UsageError('--org must be a uuid')
  const { userSql: mode } = readSettings({ ...process.env }, cliSettings)
  const store = await openSqlStore()
  try {
    const tenants = createTenantSql({ store, mode, metrics: createMetrics('cli') })
    if (what === 'check') {
      const verdict = await tenants.check(text)
      if (values.json) console.log(JSON.stringify(verdict))
      else console.log(verdict.ok ? `allowed: ${verdict.canonical}` : describeViolations(verdict.violations))
      return verdict.ok ? 0 : 1
    }
    const { columns, rows, truncated } = await tenants.run(values.org ?? '', text)
    if (values.json) {
      console.log(JSON.stringify({ columns, rows, truncated }))
      return 0
    }
    console.log(columns.map(({ name }) => name).join('\t'))
    for (const row of rows)
      console.log(row.map(cell => (typeof cell === 'string' ? cell : JSON.stringify(cell))).join('\t'))
    if (truncated) console.log('#truncated')
    return 0
  } finally {
    await store.close()
  }
}
