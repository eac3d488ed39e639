// POST /dashboard/api/attribute-rules: one more rule. Holds for what processors read from then on; what is stored stays as it is until
// it is read again (`parley replay`).
import { randomUUID } from 'node:crypto'
import { changeReading } from '#control/readings.ts'
import { isSecretName } from '#processors/parsers/explain.ts'
import { Rule } from '#proto/dashboard/explain.ts'
import { ParleyError } from '#proto/errors.ts'
import { RULES_MAX, RuleDraft } from '#proto/rules.ts'
import { authorOf } from '../../auth.ts'
import { endpoint } from '../../endpoint.ts'

export const createRule = endpoint({
  method: 'POST',
  path: '/dashboard/api/attribute-rules',
  auth: 'any',
  about: 'Adds a rule behind the others: this attribute of spans is that field, after the keys of the contract.',
  request: RuleDraft,
  response: Rule,
  status: 201,
  work: async ({ organization, principal, records, nowMs }, { attribute, field }) => {
    requireKey(attribute)
    const by = authorOf(principal)
    const rule = { id: randomUUID(), attribute, field, created_at: new Date(nowMs).toISOString(), created_by: by }
    await changeReading(records, organization.id, by, ({ prices, rules }) => {
      if (rules.length >= RULES_MAX) throw new ParleyError('REQ_BODY_INVALID', `there are ${RULES_MAX} rules already`)
      if (rules.some(each => each.attribute === attribute && each.field === field)) {
        throw new ParleyError('REQ_BODY_INVALID', 'there is such a rule already', { field: 'attribute' })
      }
      return { prices, rules: [...rules, rule] }
    })
    return rule
  },
})

/** @throws ParleyError REQ_BODY_INVALID for an attribute that can be no key, or that is masked: no field shows what may not be stored. */
export function requireKey(attribute: string, field = 'attribute'): void {
  const [key = '', ...path] = attribute.split('#')
  if (key.trim() === '' || (path.length > 0 && path.join('#') === '')) {
    throw new ParleyError('REQ_BODY_INVALID', `${field} must be a key, or KEY#PATH`, { field })
  }
  if ([key, ...path].some(isSecretName)) {
    throw new ParleyError('REQ_BODY_INVALID', `${field} is the name of a secret, whose value is masked`, { field })
  }
}
