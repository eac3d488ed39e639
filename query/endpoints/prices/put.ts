// PUT /dashboard/api/prices: what the organization pays for models. Holds for what processors read from then on; what is stored keeps
// its cost until it is read again (`parley replay`).
import { changeReading } from '#control/readings.ts'
import { findTwice } from '#pricing/list.ts'
import { OwnPrices, PutPricesRequest } from '#proto/dashboard/prices.ts'
import { ParleyError } from '#proto/errors.ts'
import type { PriceOverride } from '#proto/prices.ts'
import { authorOf } from '../../auth.ts'
import { endpoint } from '../../endpoint.ts'
import { ownPrices } from './own.ts'

export const putPrices = endpoint({
  method: 'PUT',
  path: '/dashboard/api/prices',
  auth: 'any',
  about: "Replaces the organization's own prices; they hold for events that are stored from then on.",
  request: PutPricesRequest,
  response: OwnPrices,
  work: async ({ organization, principal, records, prices }, { overrides }) => {
    requireClear(overrides)
    const edit = <T extends object>(reading: T) => ({ ...reading, prices: overrides })
    return ownPrices(prices, await changeReading(records, organization.id, authorOf(principal), edit))
  },
})

/** @throws ParleyError REQ_BODY_INVALID where an entry prices nothing, or two speak of the same. */
export function requireClear(overrides: readonly PriceOverride[]): void {
  const empty = overrides.findIndex(({ prices }) => prices.input === undefined && prices.output === undefined)
  if (empty >= 0) {
    const field = `overrides.${empty}.prices`
    throw new ParleyError('REQ_BODY_INVALID', `${field} must have input or output`, { field })
  }
  const twice = findTwice(overrides)
  if (twice !== null) throw new ParleyError('REQ_BODY_INVALID', `${twice} has two prices`, { field: 'overrides' })
}
