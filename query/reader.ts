// The only way an endpoint reaches the store: reads of one organization, with bound values, limits and a cancel signal. What the
// client gave up is cancelled in the store as well. Every read says whose rows it may see, and the store holds it to that.
import { randomUUID } from 'node:crypto'
import type { ClickHouseSettings } from '@clickhouse/client'
import { ClickHouseError } from '@clickhouse/client'
import { ParleyError } from '#proto/errors.ts'
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'
import { CLASSES, settingsOfClass } from '#store/classes.ts'
import type { Parameter, Store } from '#store/client.ts'
import type { CoresOf } from '#store/cores.ts'
import { isTimeout, timed } from '#store/patience.ts'
import { ORGANIZATION_HEADER } from '#store/wall/tables.ts'
import { createAllowance } from './allowance.ts'
import { QUESTIONS, type Question } from './questions.ts'
import { createShares } from './shares.ts'

/** Values bound to a query's `{name:Type}` placeholders. */
export type Parameters = Readonly<Record<string, Parameter>>

/** Reads of one request. */
export interface Reader {
  /**
   * Rows of a query. `{organization:UUID}` is bound by the reader; every table that the text names must be narrowed by it.
   * `question` names the query in metrics, and says what it may take.
   * @throws ParleyError QRY_LIMIT, QRY_RATE, QRY_STORE_FAILED, or QRY_CANCELLED when the client went away.
   */
  read<T>(question: Question, sql: string, parameters?: Parameters, settings?: ClickHouseSettings): Promise<T[]>
  /** The same, whose reads all end together: as long from now as one query may take. What comes too late is QRY_LIMIT. */
  bounded(): Reader
}

/** What one store query may take. */
export interface ReaderLimits {
  readonly maxSeconds: number
  readonly maxMemoryMb: number
  /** Rows that it may read; 0 = no limit. */
  readonly maxRows: number
  /** Queries of one organization that run at once. */
  readonly organizationQueries: number
  /** Rows a minute that one organization may read; 0 = no limit. */
  readonly organizationRows: number
  /** Seconds a minute that its queries may take together; 0 = no limit. */
  readonly organizationSeconds: number
}

/** Rows and bytes of one result: above any page, below what would hurt this process. */
const RESULT_MAX_ROWS = 200_000
const RESULT_MAX_BYTES = 256 * 1024 * 1024
/** An answer up to here waits for its end in the engine's memory; nearly all pages do. */
const ANSWER_IN_MEMORY_BYTES = 1024 * 1024

/**
 * The engine looks at the clock between blocks. Who waits for an answer is told of the limit when it is over, whatever the engine is busy
 * with; the connection that closes then is what ends the query there.
 */
const PATIENCE = 1.1

/** Error codes of ClickHouse that mean "too much asked": rows, time, memory. */
const LIMIT_CODES = new Set(['158', '159', '160', '241', '307', '396'])

const TABLE = /\b(?:FROM|JOIN)\s+(events|texts|sessions|corrections|replaced_reports|audit|ledger)\b/g
const NARROWED = /organization = \{organization:UUID\}/g

/** Makes the reader of a request. */
export type OpenReader = (organization: string, signal: AbortSignal) => Reader

/** Builds readers over one store or several. */
export function createReaders(deps: {
  /** The store that has an organization. */
  storeOf: (organization: string) => Store
  /** Left out: as many as a class may have. */
  coresOf?: CoresOf
  limits: ReaderLimits
  metrics: Metrics
  log: Log
}): OpenReader {
  const seconds = deps.metrics.histogram(
    'query_store_seconds',
    'time of store queries by question',
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    ['question'],
  )
  const cancelled = deps.metrics.counter(
    'query_store_cancelled_total',
    'store queries cancelled for a client that left',
  )
  const failed = deps.metrics.counter('query_store_failed_total', 'store queries that failed, by reason', ['reason'])
  // There before the first, so that it shows as an increase.
  for (const reason of ['limit', 'error']) failed.inc({ reason }, 0)
  const settings = settingsOf(deps.limits)
  const { maxSeconds } = deps.limits
  const shares = createShares(deps.limits.organizationQueries)
  const rowsLeft = createAllowance(deps.limits.organizationRows, 'rows')
  const secondsLeft = createAllowance(deps.limits.organizationSeconds, 'seconds of store queries')
  const waiting = deps.metrics.gauge('query_store_waiting', "store queries that wait for their organization's turn")
  waiting.set(0)

  const open = (organization: string, signal: AbortSignal): Reader => ({
    bounded: () => open(organization, AbortSignal.any([signal, AbortSignal.timeout(deps.limits.maxSeconds * 1000)])),
    read: async <T>(question: Question, sql: string, parameters: Parameters = {}, more: ClickHouseSettings = {}) => {
      requireNarrowed(question, sql)
      for (const allowance of [rowsLeft, secondsLeft]) allowance.require(organization)
      const end = seconds.startTimer({ question })
      try {
        const running = shares.run(organization, signal, () =>
          timed(maxSeconds * 1000 * PATIENCE, signal, async both => {
            const store = deps.storeOf(organization)
            const cores = await deps.coresOf?.(store)
            const startedAt = performance.now()
            try {
              return await store.read<T>(sql, {
                parameters: { ...parameters, organization },
                settings: { ...settings, ...limitsOf(question, deps.limits, cores), ...planOf(sql), ...more },
                headers: { [ORGANIZATION_HEADER]: organization },
                signal: both,
                queryId: randomUUID(),
                onRows: rows => rowsLeft.spend(organization, rows),
              })
            } finally {
              secondsLeft.spend(organization, (performance.now() - startedAt) / 1000)
            }
          }),
        )
        waiting.set(shares.waiting())
        return await running
      } catch (error) {
        const late = isTimeout(signal.aborted ? signal.reason : error)
        if (signal.aborted && !late) {
          cancelled.inc()
          throw new ParleyError('QRY_CANCELLED', question, { cause: error })
        }
        const limit = late || (error instanceof ClickHouseError && LIMIT_CODES.has(error.code))
        failed.inc({ reason: limit ? 'limit' : 'error' })
        deps.log.warn({ err: error, question, organization }, 'a store query failed')
        throw new ParleyError(limit ? 'QRY_LIMIT' : 'QRY_STORE_FAILED', undefined, { cause: error })
      } finally {
        end()
        waiting.set(shares.waiting())
      }
    },
  })
  return open
}

/**
 * A statement in which no projection is named is planned without any: to look through ten of them costs more than most answers
 * (decision 0035). One that names them says nothing here: whoever wants to recount by rows switches them off beneath us.
 */
function planOf(sql: string): ClickHouseSettings {
  return sql.includes('preferred_optimize_projection_name') ? {} : { optimize_use_projections: 0 }
}

function limitsOf(question: Question, limits: ReaderLimits, cores: number | undefined): ClickHouseSettings {
  const of = QUESTIONS[question]
  const memory = Math.floor(limits.maxMemoryMb * CLASSES[of].memory * 1024 * 1024)
  return { ...settingsOfClass(of, cores), max_memory_usage: String(memory) }
}

function settingsOf(limits: ReaderLimits): ClickHouseSettings {
  return {
    // 2 = reads only, settings may be sent along. The engine stops a query of a closed connection only when it is a read.
    readonly: '2',
    cancel_http_readonly_queries_on_client_close: 1,
    max_execution_time: limits.maxSeconds,
    timeout_overflow_mode: 'throw',
    max_rows_to_read: String(limits.maxRows),
    read_overflow_mode: 'throw',
    max_result_rows: String(RESULT_MAX_ROWS),
    max_result_bytes: String(RESULT_MAX_BYTES),
    result_overflow_mode: 'throw',
    // An error after the first byte would be a 200 with a torn body; pages are small enough to wait for their end.
    http_wait_end_of_query: 1,
    // Else the engine keeps every answer in a file until its end; larger ones go there still.
    http_response_buffer_size: String(ANSWER_IN_MEMORY_BYTES),
    // Two threads, four buffers and a queue for what are some kilobytes.
    output_format_parallel_formatting: 0,
    // What minimum, maximum and count of whole parts answer is never asked: they hold rows of many organizations.
    optimize_use_implicit_projections: 0,
    // Rows of one key always lie in one partition: reversals copy every partition column.
    do_not_merge_across_partitions_select_final: 1,
  }
}

/** Stops a query that names a table without narrowing it to the organization: a mistake here would show another tenant. */
function requireNarrowed(question: string, sql: string): void {
  const tables = sql.match(TABLE)?.length ?? 0
  const narrowed = sql.match(NARROWED)?.length ?? 0
  if (narrowed < tables) {
    throw new ParleyError('BUG', `${question} reads ${tables} tables and narrows ${narrowed} to the organization`)
  }
}
