// The one way to talk to ClickHouse: a client with pinned settings, typed reads with bound parameters, and raw inserts whose
// outcome is told apart as "done", "refused" or "unknown".

import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { ClickHouseLogLevel, createClient } from '@clickhouse/client'
import { inPieces } from './pieces.ts'

/** Where the store is. `url` carries user and password. */
export interface StoreOptions {
  readonly url: string
  readonly database: string
  /** Shown in the engine's query log and process list. */
  readonly application: string
  readonly maxConnections?: number
  readonly requestTimeoutMs?: number
}

/** A bound query parameter; arrays are bound as ClickHouse arrays. */
export type Parameter = string | number | boolean | Date | readonly string[] | readonly number[]

/** A read: the SQL holds `{name:Type}` placeholders, never values. */
export interface ReadOptions {
  readonly parameters?: Readonly<Record<string, Parameter>>
  readonly settings?: ClickHouseSettings
  readonly signal?: AbortSignal
  readonly queryId?: string
  /** Headers of the HTTP request, by which the store knows whose rows may be seen. */
  readonly headers?: Readonly<Record<string, string>>
  /** Told how many rows the engine read for it, where the engine says so. */
  readonly onRows?: (rows: number) => void
  /** Told how many rows a statement has written, where the engine says so: of one that waits for the end of its query. */
  readonly onWritten?: (rows: number) => void
}

/** The store's client. */
export interface Store {
  readonly database: string
  /** Rows as objects. 64-bit integers come as strings: convert where the range is known. */
  read<T>(sql: string, options?: ReadOptions): Promise<T[]>
  /** DDL and other statements without a result. */
  command(sql: string, options?: ReadOptions): Promise<void>
  /** The client itself, for inserts and streams. */
  readonly client: ClickHouseClient
  ping(): Promise<boolean>
  close(): Promise<void>
}

/** Rows that a query read or wrote, from the header in which the engine sums it up; undefined when it doesn't. */
function rowsOf(summary: string | string[] | undefined, which: 'read_rows' | 'written_rows'): number | undefined {
  if (typeof summary !== 'string') return undefined
  const rows = (JSON.parse(summary) as Partial<Record<typeof which, string>>)[which]
  return rows === undefined ? undefined : Number(rows)
}

/** Opens a client; connects on first use. */
export function createStore(options: StoreOptions): Store {
  const client = createClient({
    url: options.url,
    database: options.database,
    application: options.application,
    max_open_connections: options.maxConnections ?? 10,
    request_timeout: options.requestTimeoutMs ?? 30_000,
    keep_alive: { enabled: true, idle_socket_ttl: 2_000 },
    compression: { request: false, response: false },
    // Long parameters go into the body: an address has a limit.
    use_multipart_params_auto: true,
    // Every failure is thrown: who asked decides what the log says, and how often.
    log: { level: ClickHouseLogLevel.OFF },
    clickhouse_settings: {
      // Answers say 64-bit integers as strings, so that none is rounded on the way.
      output_format_json_quote_64bit_integers: 1,
      date_time_output_format: 'iso',
    },
  })
  const common = (o: ReadOptions) => ({
    ...(o.parameters ? { query_params: { ...o.parameters } } : {}),
    ...(o.settings ? { clickhouse_settings: o.settings } : {}),
    ...(o.signal ? { abort_signal: o.signal } : {}),
    ...(o.queryId ? { query_id: o.queryId } : {}),
    ...(o.headers ? { http_headers: { ...o.headers } } : {}),
  })
  return {
    database: options.database,
    client,
    read: async <T>(sql: string, o: ReadOptions = {}): Promise<T[]> => {
      const bound = inPieces(sql, o.parameters ?? {})
      const options = common({ ...o, parameters: bound.parameters })
      const result = await client.query({ query: bound.sql, format: 'JSONEachRow', ...options })
      o.onRows?.(rowsOf(result.response_headers['x-clickhouse-summary'], 'read_rows') ?? 0)
      return result.json<T>()
    },
    command: async (sql, o = {}) => {
      const bound = inPieces(sql, o.parameters ?? {})
      const result = await client.command({ query: bound.sql, ...common({ ...o, parameters: bound.parameters }) })
      const written = rowsOf(result.response_headers['x-clickhouse-summary'], 'written_rows')
      if (written !== undefined) o.onWritten?.(written)
    },
    ping: async () => (await client.ping()).success,
    close: () => client.close(),
  }
}
