// Which part of the store is verified: an organization or all, a time or all, and only what is settled.
import type { Parameter } from '#store/client.ts'

/** What to look at. */
export interface VerifyScope {
  /** One organization; undefined = all. */
  readonly organization?: string
  /** Events of this time; undefined = no limit. Projections are compared for the whole parts that touch it. */
  readonly fromMs?: number
  readonly toMs?: number
  /** Projections of these tables and partitions only; undefined = of all. */
  readonly tables?: readonly string[]
  readonly partitionIds?: readonly string[]
}

/** A condition with the values it binds. */
export interface Bound {
  readonly sql: string
  readonly parameters: Readonly<Record<string, Parameter>>
}

/** Binds the organization, where one is given. */
export function ofOrganization({ organization }: VerifyScope): Bound {
  return organization === undefined
    ? { sql: '1', parameters: {} }
    : { sql: 'organization = {organization:UUID}', parameters: { organization } }
}

/** Binds organization and time. */
export function ofScope(scope: VerifyScope): Bound {
  const { sql, parameters } = ofOrganization(scope)
  const time: string[] = []
  if (scope.fromMs !== undefined) time.push('ts >= fromUnixTimestamp64Milli({from_ms:Int64})')
  if (scope.toMs !== undefined) time.push('ts < fromUnixTimestamp64Milli({to_ms:Int64})')
  return {
    sql: [sql, ...time].join(' AND '),
    parameters: {
      ...parameters,
      ...(scope.fromMs === undefined ? {} : { from_ms: scope.fromMs }),
      ...(scope.toMs === undefined ? {} : { to_ms: scope.toMs }),
    },
  }
}

/** Rows of settled positions; numbers of our own stand in the text. */
export function isSettled(settled: ReadonlyMap<number, number>): string {
  const each = [...settled].map(
    ([partition, through]) => `(origin_partition = ${partition} AND origin_sequence <= ${through})`,
  )
  return each.length === 0 ? '0' : `(${each.join(' OR ')})`
}

/** Long questions in the background: few threads, bounded memory, groups that don't fit go to disk. */
export const GENTLE = {
  max_threads: 2,
  max_memory_usage: String(2 * 1024 ** 3),
  max_bytes_before_external_group_by: String(512 * 1024 ** 2),
  max_execution_time: 600,
  optimize_use_projections: 0,
} as const
