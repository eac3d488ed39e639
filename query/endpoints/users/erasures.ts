// GET /dashboard/api/erasures: every erasure of the organization.
import { ErasureList } from '#proto/dashboard/erasures.ts'
import { listErasures } from '#streams/erasures.ts'
import { endpoint } from '../../endpoint.ts'
import { shownErasure } from './shown.ts'

export const erasuresList = endpoint({
  method: 'GET',
  path: '/dashboard/api/erasures',
  auth: 'any',
  about: 'The erasures of the organization, newest first; users are named by hashes.',
  response: ErasureList,
  work: async ({ organization, kept, cursors }) => {
    // What is said to be gone is shown by no later answer.
    kept.endLoans(organization.id)
    const found = await listErasures(cursors, organization.id)
    return { erasures: found.map(({ record }) => shownErasure(record)) }
  },
})
