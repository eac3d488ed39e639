// GET /dashboard/api/organization/rejected-requests: what receivers refused of the organization lately, and why.
import { readRecord } from '#control/lists.ts'
import type { RejectedRequest } from '#proto/dashboard/rejects.ts'
import { RejectedRequests } from '#proto/dashboard/rejects.ts'
import { endpoint } from '../../endpoint.ts'

export const rejectedRequests = endpoint({
  method: 'GET',
  path: '/dashboard/api/organization/rejected-requests',
  auth: 'any',
  about: 'The last twenty requests of the organization that receivers refused within a week, and why; newest first.',
  response: RejectedRequests,
  work: async ({ rejects, organization }) => ({
    requests: (await readRecord<RejectedRequest[]>(rejects, organization.id)) ?? [],
  }),
})
