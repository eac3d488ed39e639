// DELETE /dashboard/api/attribute-rules/{id}
import Type from 'typebox'
import { changeReading } from '#control/readings.ts'
import { ParleyError } from '#proto/errors.ts'
import { authorOf } from '../../auth.ts'
import { endpoint } from '../../endpoint.ts'

export const removeRule = endpoint({
  method: 'DELETE',
  path: '/dashboard/api/attribute-rules/{id}',
  auth: 'any',
  about: 'Removes a rule; events that were stored by it stay as they are.',
  response: Type.Null(),
  status: 204,
  work: async ({ organization, principal, records, params }) => {
    await changeReading(records, organization.id, authorOf(principal), ({ prices, rules }) => {
      const left = rules.filter(rule => rule.id !== params.id)
      if (left.length === rules.length) throw new ParleyError('QRY_NOT_FOUND', 'no such rule', { field: 'id' })
      return { prices, rules: left }
    })
    return null
  },
})
