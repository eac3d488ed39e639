// POST /dashboard/api/exports: an export as an address that a browser can download by itself, once.
import {
  EXPORT_FILTERS_MAX_BYTES,
  EXPORT_WAIT_MS,
  EXPORTS_WAITING_MAX,
  ExportAddress,
  ExportOrder,
} from '#proto/dashboard/exports.ts'
import { ParleyError } from '#proto/errors.ts'
import { endpoint } from '../../endpoint.ts'
import { issuerOf, issueTicket } from '../../tickets.ts'
import { windowOf } from '../../window.ts'

export const exportsOrder = endpoint({
  method: 'POST',
  path: '/dashboard/api/exports',
  auth: 'any',
  about:
    'Orders an export of raw-logs or errors and answers the address of its one download, good for fifteen minutes.',
  request: ExportOrder,
  response: ExportAddress,
  status: 201,
  work: async ({ records, organization, principal, nowMs }, order) => {
    // What cannot be answered is said now, while somebody reads the answer.
    windowOf(order.filters, nowMs)
    if (Buffer.byteLength(JSON.stringify(order.filters)) > EXPORT_FILTERS_MAX_BYTES) {
      const detail = `filters must be at most ${EXPORT_FILTERS_MAX_BYTES} bytes of JSON`
      throw new ParleyError('REQ_BODY_INVALID', detail, { field: 'filters' })
    }
    const limits = { by: issuerOf(principal), nowMs, waitMs: EXPORT_WAIT_MS, max: EXPORTS_WAITING_MAX }
    const ticket = await issueTicket(records, organization.id, order, limits)
    const expires_at = new Date(nowMs + EXPORT_WAIT_MS).toISOString()
    return { url: `/dashboard/api/exports/${ticket}`, expires_at }
  },
})
