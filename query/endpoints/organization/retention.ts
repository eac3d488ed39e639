// GET and PUT /dashboard/api/organization/retention: how long events and their texts are kept. The analysis process deletes.
import { settled } from '#control/members.ts'
import { changeRetention } from '#control/organizations.ts'
import { Retention, RetentionUpdate } from '#proto/dashboard/retention.ts'
import { KEEP_EVERYTHING } from '#proto/retention.ts'
import { endpoint } from '../../endpoint.ts'

const PATH = '/dashboard/api/organization/retention'

export const retention = endpoint({
  method: 'GET',
  path: PATH,
  auth: 'any',
  about: 'How many days events and their texts are kept; null means for ever.',
  response: Retention,
  work: async ({ organization }) => organization.keep ?? KEEP_EVERYTHING,
})

export const retentionUpdate = endpoint({
  method: 'PUT',
  path: PATH,
  auth: 'any',
  about: 'Changes how many days events and their texts are kept; what is older is deleted for good within a day.',
  request: RetentionUpdate,
  response: Retention,
  work: async ({ control, organization, log }, change) => {
    const { keep } = await changeRetention(control.records, organization.id, change)
    await settled(control)
    log.info({ keep }, 'the retention of an organization was changed')
    return keep
  },
})
