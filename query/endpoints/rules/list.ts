// GET /dashboard/api/attribute-rules: which attributes of spans the organization reads as which fields.
import { RulesResponse } from '#proto/dashboard/explain.ts'
import { ruleFields } from '#proto/rules.ts'
import { endpoint } from '../../endpoint.ts'
import { readOwn } from '../prices/own.ts'

export const listRules = endpoint({
  method: 'GET',
  path: '/dashboard/api/attribute-rules',
  auth: 'any',
  about:
    "The organization's own rules for spans, in the order in which they count, and the fields that a rule may give.",
  response: RulesResponse,
  work: async ({ organization, records }) => ({
    rules: [...((await readOwn(records, organization.id))?.rules ?? [])],
    fields: [...ruleFields],
  }),
})
