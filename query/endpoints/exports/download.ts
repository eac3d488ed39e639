// GET /dashboard/api/exports/{ticket}: the file that was ordered. The ticket is the credential and opens once.
import type { ExportOrder } from '#proto/dashboard/exports.ts'
import { ExportOrder as Order } from '#proto/dashboard/exports.ts'
import { Chunks, endpoint } from '../../endpoint.ts'
import { exportErrors, exportLogs } from '../raw-logs/export.ts'

export const exportsDownload = endpoint({
  method: 'GET',
  path: '/dashboard/api/exports/{ticket}',
  auth: 'address',
  about: 'The export that was ordered, as CSV; an address opens once.',
  request: Order,
  response: Chunks,
  produces: 'text/csv',
  work: (call, { kind, filters }: ExportOrder) =>
    kind === 'errors' ? exportErrors(call, filters) : exportLogs(call, filters),
})
