// POST /dashboard/api/attribute-rules/try: what rules would make of an event that is stored. Nothing is saved.
import type { ExplainedEvent, ExplainedField } from '#processors/parsers/explain.ts'
import { TryRulesRequest, TryRulesResponse } from '#proto/dashboard/explain.ts'
import { ParleyError } from '#proto/errors.ts'
import type { RuleDraft } from '#proto/rules.ts'
import { endpoint } from '../../endpoint.ts'
import { findToExplain } from '../explain/read.ts'
import { readOwn } from '../prices/own.ts'
import { requireKey } from './create.ts'

export const tryRules = endpoint({
  method: 'POST',
  path: '/dashboard/api/attribute-rules/try',
  auth: 'any',
  about:
    'Reads the payload of a span again, without and with some rules, and tells what they change; nothing is saved.',
  request: TryRulesRequest,
  response: TryRulesResponse,
  errors: ['QRY_PAYLOAD_GONE'],
  work: async (call, { event_id, rules }) => {
    for (const [i, { attribute }] of rules.entries()) requireKey(attribute, `rules.${i}.attribute`)
    const { record, read } = await findToExplain(call, event_id.toLowerCase())
    if (record.source !== 'otlp') {
      throw new ParleyError('REQ_BODY_INVALID', 'event_id is no span: rules are for spans', { field: 'event_id' })
    }
    const said = await readOwn(call.records, call.organization.id)
    const prices = said?.prices ?? []
    const kept = said?.rules ?? []
    const before = read?.({ prices, rules: kept }) ?? null
    const after = read?.({ prices, rules: [...kept, ...rules] }) ?? null
    if (before === null || after === null) throw new ParleyError('QRY_PAYLOAD_GONE')
    return { event_id: record.event_id, changes: changesOf(before, after), idle: idleOf(rules, after) }
  },
})

function changesOf(before: ExplainedEvent, after: ExplainedEvent) {
  const was = new Map(before.fields.map(field => [field.field, field]))
  return after.fields.flatMap(({ field, value, from, because }) => {
    const earlier = was.get(field)?.value ?? ''
    return earlier === value ? [] : [{ field, before: earlier, after: value, from: from && { ...from }, because }]
  })
}

/** Rules that gave nothing, each with the reason. */
function idleOf(rules: readonly RuleDraft[], { fields, attributes }: ExplainedEvent) {
  const sent = new Set(attributes.map(each => each.attribute))
  return rules.flatMap(({ attribute, field }) => {
    const target = fields.find(each => each.field === field)
    return target === undefined || isOfRule(target.from, attribute)
      ? []
      : [{ attribute, field, why: whyIdle(target, attribute, sent) }]
  })
}

function whyIdle(target: ExplainedField, attribute: string, sent: ReadonlySet<string>): string {
  const passed = target.ignored.find(place => isOfRule(place, attribute))
  if (passed !== undefined) return passed.why
  const [key = '', ...path] = attribute.split('#')
  if (!sent.has(key)) return 'the span has no such attribute'
  return path.length > 0 ? 'the attribute holds nothing there' : `${target.field} of such a span comes from elsewhere`
}

function isOfRule(place: ExplainedField['from'], attribute: string): boolean {
  return place !== null && place.step === 'organization' && place.attribute === attribute
}
