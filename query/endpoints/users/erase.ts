// DELETE /dashboard/api/users/{user_id}: the end user and everything it said is erased for good, in the background.
import Type from 'typebox'
import { requestErasure } from '#streams/erasures.ts'
import { authorOf } from '../../auth.ts'
import { endpoint } from '../../endpoint.ts'

export const eraseUser = endpoint({
  method: 'DELETE',
  path: '/dashboard/api/users/{user_id}',
  auth: 'any',
  about:
    'Erases an end user for good, in the background, and whatever of it arrives later; asked again it changes nothing.',
  response: Type.Null(),
  status: 204,
  work: async ({ organization, principal, cursors, params, nowMs, log }) => {
    const user = params.user_id as string
    const request = { organization: organization.id, kind: 'user', user, by: authorOf(principal), nowMs } as const
    const { id, state } = await requestErasure(cursors, request)
    log.info({ erasure: id, state }, 'the erasure of a user is asked for')
    return null
  },
})
