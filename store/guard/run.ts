// SQL of tenants, judged and run: an organization and a statement go in, its rows come out, and no other organization's. What one
// organization may run at once is bounded here, what one statement may take in the store.
import { ClickHouseError } from '@clickhouse/client'
import { ParleyError } from '#proto/errors.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { Store } from '#store/client.ts'
import { isTimeout, timed } from '#store/patience.ts'
import { SQL_MAX_ROWS, SQL_MAX_SECONDS } from '#store/wall/profiles.ts'
import { ORGANIZATION_HEADER } from '#store/wall/tables.ts'
import type { Guard, Violation } from './guard.ts'
import { createGuard } from './guard.ts'
import { saidPlainly } from './plain-errors.ts'

/** Whether SQL that somebody wrote is run: never, only what parley builds itself, or what passes the guard. */
export type UserSql = 'off' | 'plans' | 'sql'

/** Rows of a statement. 64-bit integers come as strings. */
export interface SqlResult {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly unknown[])[]
  /** There were more than are here. */
  readonly truncated: boolean
}

/** What runs statements of tenants. */
export interface TenantSql extends Guard {
  /**
   * Judges and runs a statement. `plan`: parley built it and somebody only chose its values.
   * @throws ParleyError SQL_OFF, SQL_REFUSED with every violation, QRY_RATE when the organization runs too many, QRY_LIMIT when it takes
   * too much, QRY_STORE_FAILED.
   */
  run(organization: string, text: string, options?: { plan?: boolean; signal?: AbortSignal }): Promise<SqlResult>
}

/** The engine looks at the clock between blocks, and a join may be in one for long: then the connection is closed, which ends it. */
const GIVE_UP_MS = SQL_MAX_SECONDS * 1_050

/** Statements of one organization that are under way: one runs, the others wait for it. Two cores are all that a tenant gets. */
const AT_ONCE = 4
/** Too much time, memory or rows. */
const LIMIT_CODES = new Set(['158', '159', '160', '241', '307', '396', '167', '168', '306', '707', '202'])

/** Makes it. `store` asks as the user of tenants' SQL. */
export function createTenantSql(options: { store: Store; mode: UserSql; metrics: Metrics }): TenantSql {
  const { store, mode } = options
  const guard = createGuard({ store })
  const judged = options.metrics.counter('tenant_sql_total', 'statements of tenants by outcome', ['outcome'])
  const running = new Map<string, number>()
  const turns = new Map<string, Promise<unknown>>()

  const judge = async (text: string, signal?: AbortSignal): Promise<string> => {
    const verdict = await guard.check(text, signal)
    if (verdict.ok) return verdict.canonical
    judged.inc({ outcome: 'refused' })
    throw new ParleyError('SQL_REFUSED', describeViolations(verdict.violations))
  }
  const answer = async (organization: string, sql: string, signal?: AbortSignal): Promise<SqlResult> => {
    try {
      return await timed(GIVE_UP_MS, signal, async both => {
        const result = await store.client.query({
          query: sql,
          format: 'JSONCompact',
          http_headers: { [ORGANIZATION_HEADER]: organization },
          abort_signal: both,
        })
        const { meta = [], data } = await result.json<unknown[]>()
        return { columns: meta, rows: data.slice(0, SQL_MAX_ROWS), truncated: data.length > SQL_MAX_ROWS }
      })
    } catch (cause) {
      if (!isTimeout(cause) || signal?.aborted) throw cause
      judged.inc({ outcome: 'limit' })
      throw new ParleyError('QRY_LIMIT', `longer than ${SQL_MAX_SECONDS} s`, { cause })
    }
  }
  const inTurn = <T>(organization: string, work: () => Promise<T>): Promise<T> => {
    const mine = (turns.get(organization) ?? Promise.resolve()).then(work)
    turns.set(
      organization,
      mine.catch(() => undefined),
    )
    return mine
  }
  return {
    ...guard,
    run: async (organization, text, { plan = false, signal } = {}) => {
      if (mode === 'off' || (mode === 'plans' && !plan)) throw new ParleyError('SQL_OFF', `PARLEY_USER_SQL is ${mode}`)
      const before = running.get(organization) ?? 0
      if (before >= AT_ONCE) throw new ParleyError('QRY_RATE', `${AT_ONCE} statements are running`)
      running.set(organization, before + 1)
      try {
        const canonical = await judge(text, signal)
        const found = await inTurn(organization, () => answer(organization, canonical, signal))
        judged.inc({ outcome: 'answered' })
        return found
      } catch (error) {
        if (!(error instanceof ClickHouseError)) throw error
        const limit = LIMIT_CODES.has(error.code)
        judged.inc({ outcome: limit ? 'limit' : 'failed' })
        throw new ParleyError(limit ? 'QRY_LIMIT' : 'SQL_REFUSED', saidPlainly(error, text), { cause: error })
      } finally {
        const left = (running.get(organization) ?? 1) - 1
        if (left === 0) {
          running.delete(organization)
          turns.delete(organization)
        } else running.set(organization, left)
      }
    },
  }
}

/** Violations as lines that a person can act on. */
export function describeViolations(violations: readonly Violation[]): string {
  return violations
    .map(({ what, position, hint }) => `${what}${position === null ? '' : ` (at character ${position + 1})`}: ${hint}`)
    .join('\n')
}
