// What a call cost, in US dollars: the total that the report states, else the total of its breakdown, else the sum of its items.
import { isObject, type JsonObject } from '#proto/json.ts'
import { places } from './places.ts'
import { asNumber, at } from './values.ts'

/** The cost of a call. */
export interface Cost {
  /** null when the report states none, or none that can be read. */
  readonly dollars: number | null
  /** True when something was sent as the cost that is no amount. */
  readonly isInvalid: boolean
}

/** The cost of a report's message. A stated total counts alone: breakdowns say the same again in parts. */
export function costOf(message: JsonObject): Cost {
  let isInvalid = false
  for (const path of [...places.cost, ...places['cost total']]) {
    const sent = at(message, path)
    const dollars = asNumber(sent)
    if (dollars !== null && dollars >= 0) return { dollars, isInvalid: false }
    isInvalid ||= sent !== undefined && sent !== null && sent !== ''
  }
  for (const path of places['cost items']) {
    const items = at(message, path)
    if (!Array.isArray(items) || items.length === 0) continue
    const amounts = items.map(item => (isObject(item) ? asNumber(item.cost) : null))
    if (amounts.every(amount => amount !== null && amount >= 0))
      return { dollars: total(amounts as number[]), isInvalid: false }
    isInvalid = true
  }
  return { dollars: null, isInvalid }
}

/** The sum in billionths of a dollar, as costs are stored: 0.1 + 0.2 is 0.3. */
function total(amounts: readonly number[]): number {
  return amounts.reduce((sum, amount) => sum + Math.round(amount * 1e9), 0) / 1e9
}
