// GET /dashboard/api/organization/audit and …/export: who did what, newest first, as pages and as CSV.
import type { AuditEntry, AuditRequest } from '#proto/dashboard/audit.ts'
import { AuditPage, AuditRequest as Request } from '#proto/dashboard/audit.ts'
import { isoTime } from '../../answers.ts'
import { csvLine } from '../../csv.ts'
import { decodeCursor, encodeCursor } from '../../cursor.ts'
import type { Call } from '../../endpoint.ts'
import { Chunks, endpoint } from '../../endpoint.ts'
import { OURS } from '../../reads/sql.ts'

const PATH = '/dashboard/api/organization/audit'
const PAGE = 100
const SLICE = 5_000
const EXPORT_MAX_ROWS = 1_000_000

type StoredEntry = Omit<AuditEntry, 'actor_name'>

async function readEntries({ reader }: Call, request: AuditRequest, limit: number): Promise<StoredEntry[]> {
  const { action, actor, cursor } = request
  const after = cursor === undefined ? undefined : decodeCursor(cursor)
  const conditions = [
    ...(action === undefined ? [] : ['action = {action:String}']),
    ...(actor === undefined ? [] : ['actor = {actor:String}']),
    ...(after === undefined
      ? []
      : ["(at, id) < (parseDateTime64BestEffort({at:String}, 3, 'UTC'), toUUIDOrZero({id:String}))"]),
  ]
  const rows = await reader.read<StoredEntry>(
    'audit',
    `SELECT id, at, actor_kind, actor, action, target, address, request
    FROM audit FINAL
    WHERE ${[OURS, ...conditions].join(' AND ')}
    ORDER BY at DESC, id DESC
    LIMIT ${limit}`,
    {
      ...(action === undefined ? {} : { action }),
      ...(actor === undefined ? {} : { actor }),
      ...(after === undefined ? {} : { at: after.at, id: after.id }),
    },
  )
  return rows.map(row => ({ ...row, at: isoTime(row.at) }))
}

function namesIn({ control: { view }, organization }: Call): (row: StoredEntry) => string | null {
  const keys = new Map(view.apiKeysOf(organization.id).map(({ record }) => [record.id, record.name]))
  return ({ actor_kind, actor }) => (actor_kind === 'user' ? view.user(actor)?.email : keys.get(actor)) ?? null
}

const cursorAfter = (rows: readonly StoredEntry[], limit: number): string | null => {
  const last = rows.at(-1)
  return last === undefined || rows.length < limit ? null : encodeCursor({ at: last.at, id: last.id })
}

export const auditList = endpoint({
  method: 'GET',
  path: PATH,
  auth: 'bearer',
  about: 'Who signed in, read, exported and changed what, newest first; an entry is there within seconds.',
  request: Request,
  response: AuditPage,
  work: async (call, request) => {
    const rows = await readEntries(call, request, PAGE + 1)
    const entries = rows.slice(0, PAGE)
    const nameOf = namesIn(call)
    return {
      entries: entries.map(row => ({ ...row, actor_name: nameOf(row) })),
      next_cursor: rows.length > PAGE ? cursorAfter(entries, PAGE) : null,
    }
  },
})

export const auditExport = endpoint({
  method: 'GET',
  path: `${PATH}/export`,
  auth: 'bearer',
  about: 'All entries of the audit log that the filters let through, newest first, as CSV.',
  request: Request,
  response: Chunks,
  produces: 'text/csv',
  work: async (call, request) => lines(call, request),
})

/** The header waits for the first rows: what fails at once is then an error answer. */
async function* lines(call: Call, request: AuditRequest): AsyncGenerator<string> {
  let head = csvLine(['at', 'actor_kind', 'actor', 'actor_name', 'action', 'target', 'address', 'request'])
  const nameOf = namesIn(call)
  let { cursor } = request
  for (let written = 0; written < EXPORT_MAX_ROWS; written += SLICE) {
    const rows = await readEntries(call, { ...request, ...(cursor === undefined ? {} : { cursor }) }, SLICE)
    const cells = rows.map(row =>
      csvLine([row.at, row.actor_kind, row.actor, nameOf(row), row.action, row.target, row.address, row.request]),
    )
    yield head + cells.join('')
    head = ''
    const next = cursorAfter(rows, SLICE)
    if (next === null) return
    cursor = next
  }
  yield '#truncated\r\n'
}
