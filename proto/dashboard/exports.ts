// Shapes of /dashboard/api/exports: an export that is ordered now and downloaded once, by an address that needs no header.
import type { Static } from 'typebox'
import Type from 'typebox'
import { RawLogsRequest } from '#proto/dashboard/raw-logs.ts'
import { DateTime } from '#proto/dashboard/shared.ts'

/** Addresses of an organization that wait for their download, and how long each may wait. */
export const EXPORTS_WAITING_MAX = 20
export const EXPORT_WAIT_MS = 15 * 60_000
/** Bytes of the filters of one: what waits is one record. */
export const EXPORT_FILTERS_MAX_BYTES = 4096

export const ExportOrder = Type.Object({
  kind: Type.Enum(['raw-logs', 'errors']),
  /** Those of raw-logs; errors take the base filters of them. */
  filters: Type.Object(RawLogsRequest.properties, { default: {} }),
})
export type ExportOrder = Static<typeof ExportOrder>

export const ExportAddress = Type.Object({
  /** Path on the address that answered; good for one GET. */
  url: Type.String({ pattern: '^/dashboard/api/exports/[0-9a-f]{96}$' }),
  expires_at: DateTime,
})
