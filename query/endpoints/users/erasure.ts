// GET /dashboard/api/users/{user_id}/erasure: how far the erasure of an end user is.
import { Erasure } from '#proto/dashboard/erasures.ts'
import { userHash } from '#proto/erasure.ts'
import { ParleyError } from '#proto/errors.ts'
import { getErasure } from '#streams/erasures.ts'
import { endpoint } from '../../endpoint.ts'
import { shownErasure } from './shown.ts'

export const userErasure = endpoint({
  method: 'GET',
  path: '/dashboard/api/users/{user_id}/erasure',
  auth: 'any',
  about: 'How far the erasure of an end user is, what was deleted, and its certificate.',
  response: Erasure,
  errors: ['QRY_NOT_FOUND'],
  work: async ({ organization, kept, cursors, params }) => {
    // What is said to be gone is shown by no later answer.
    kept.endLoans(organization.id)
    const found = await getErasure(cursors, organization.id, userHash(organization.id, params.user_id as string))
    if (!found) throw new ParleyError('QRY_NOT_FOUND', 'nobody asked for this erasure', { field: 'user_id' })
    return shownErasure(found.record)
  },
})
