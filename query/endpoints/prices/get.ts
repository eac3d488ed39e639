// GET /dashboard/api/prices: the price list, and what the organization says differently.
import { PricesResponse } from '#proto/dashboard/prices.ts'
import { endpoint } from '../../endpoint.ts'
import { ownPrices, readOwn } from './own.ts'

export const getPrices = endpoint({
  method: 'GET',
  path: '/dashboard/api/prices',
  auth: 'any',
  about:
    "Prices of models in dollars a million tokens: the list, and the organization's own entries, which come first.",
  response: PricesResponse,
  work: async ({ organization, records, prices }) => ({
    ...ownPrices(prices, await readOwn(records, organization.id)),
    entries: [...prices.entries],
  }),
})
