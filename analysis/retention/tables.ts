// Organizations whose rows expire -> which rows of which table go. Only rows of settled positions: nobody will count, move or take back
// one of them.
import { NIL_UUID } from '#proto/ids.ts'
import { sqlMillis } from '#proto/time.ts'
import type { Parameter } from '#store/client.ts'

/** One organization, and the instants (Unix ms) before which its rows go. */
export interface Expiring {
  readonly organization: string
  readonly events: number | null
  readonly texts: number | null
}

/** A table and the rows of it that go. */
export interface ExpiredRows {
  readonly table: string
  readonly where: string
  readonly parameters: Readonly<Record<string, Parameter>>
}

/** Tables without rows that expire: books of what was done, and what is no row of an organization. */
export const LASTING = ['audit', 'erased', 'fences', 'ledger', 'migrations']

interface Rule {
  readonly table: string
  readonly of: 'events' | 'texts'
  /** The column that the instant is compared with; absent: what the row belongs to decides. */
  readonly at?: string
  /** Rows that go only with the last event of theirs. */
  readonly alone?: (database: string) => string
}

const OURS = 'organization IN {organizations:Array(UUID)}'

/** The instant of a row's organization. */
const BEFORE = `transform(organization, {organizations:Array(UUID)}, {befores:Array(DateTime64(3, 'UTC'))}, toDateTime64(0, 3, 'UTC'))`

const noEvents =
  (column: 'conversation_id' | 'trace_id') =>
  (database: string): string =>
    `(organization, ${column}) NOT IN (SELECT organization, ${column} FROM ${database}.events
       WHERE ${OURS} AND ${column} != toUUID('${NIL_UUID}') GROUP BY organization, ${column} HAVING sum(sign) > 0)`

const noCaptures = (database: string): string =>
  `(organization, conversation_id) NOT IN (SELECT organization, conversation_id FROM ${database}.sessions WHERE ${OURS})`

/** In the order in which they go: texts before the events that lead to them, captures after them. */
const RULES: readonly Rule[] = [
  { table: 'texts', of: 'texts', at: 'ts' },
  { table: 'corrections', of: 'events', at: 'ts' },
  { table: 'events', of: 'events', at: 'ts' },
  { table: 'links', of: 'events', at: 'started_at', alone: noEvents('trace_id') },
  { table: 'sessions', of: 'events', at: 'received_at', alone: noEvents('conversation_id') },
  { table: 'replaced_reports', of: 'events', alone: noCaptures },
]

/** The rows that go now, table by table; `settled` is a condition on positions. */
export function expiredRows(database: string, expiring: readonly Expiring[], settled: string): ExpiredRows[] {
  return RULES.flatMap(({ table, of, at, alone }) => {
    const those = expiring.flatMap(one => {
      const before = one[of]
      return before === null ? [] : [{ organization: one.organization, before }]
    })
    if (those.length === 0) return []
    // Spelled with the database, and with the set bound: a deletion goes on by itself after a restart of the server.
    const where = [
      OURS,
      ...(at === undefined ? [] : [`${at} < ${BEFORE}`]),
      settled,
      ...(alone === undefined ? [] : [alone(database)]),
    ].join(' AND ')
    const parameters = {
      organizations: those.map(one => one.organization),
      befores: those.map(one => sqlMillis(one.before)),
    }
    return { table, where, parameters }
  })
}
