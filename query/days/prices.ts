// Kept prices -> cost metadata of some conversations together: what the aggregate by conversation would be summed up to.
import type { CostMetadata } from '#proto/dashboard/shared.ts'
import { APART, costsByKey, type SummaryRecord } from '../reads/summary-costs.ts'
import type { OrganizationDays } from './organization.ts'
import type { Priced } from './rows.ts'
import { withBytes } from './scratch.ts'

/** Under which keys conversations are summed. */
export interface Owners {
  /** By number of a conversation the place of its key, from 1 on; 0 = none. */
  readonly first: Uint32Array | Uint8Array
  /** Places of conversations that have several keys, but for the first. */
  readonly others: ReadonlyMap<number, readonly number[]>
}

const NONE: readonly number[] = []

interface Sum {
  readonly key: string
  readonly priced: Priced
  readonly sums: number[]
}

/** Cost metadata by key; keys without any are absent. Where model calls of a conversation say what they used, agents that may say it again don't count. */
export const pricesOfKeys = (
  memory: OrganizationDays,
  keys: readonly string[],
  owners: Owners,
): Map<string, CostMetadata[]> =>
  withBytes(owners.first.length, called => sumPrices(memory, keys, { ...owners, called }))

/** `called`: marks of conversations. */
function sumPrices(
  memory: OrganizationDays,
  keys: readonly string[],
  { first, others, called }: Owners & { readonly called: Uint8Array },
): Map<string, CostMetadata[]> {
  const priced = [...memory.days()].flatMap(memory.pricesOf)
  const found = new Map<string, Sum>()
  const add = (one: Priced): void => {
    const { conversations, repeating } = one
    const byPlace = new Map<number, Sum>()
    for (let i = 0; i < conversations.length; i++) {
      const conversation = conversations[i] as number
      const place = first[conversation] as number
      if (place === 0) continue
      if (repeating === 0) called[conversation] = 1
      else if (called[conversation] === 1) continue
      for (const at of [place, ...(others.get(conversation) ?? NONE)]) {
        const sum = byPlace.get(at) ?? sumOf(found, keys[at - 1] as string, one)
        byPlace.set(at, sum)
        for (let n = 0; n < one.sums.length; n++) {
          sum.sums[n] = (sum.sums[n] as number) + ((one.sums[n] as Float64Array)[i] ?? 0)
        }
      }
    }
  }
  // Calls of models first: once they are through, it is known which conversations have any.
  for (const one of priced) if (one.repeating === 0) add(one)
  for (const one of priced) if (one.repeating !== 0) add(one)
  return costsByKey([...found.values()].map(recordOf).sort(byOrder))
}

function sumOf(found: Map<string, Sum>, key: string, priced: Priced): Sum {
  const { model, provider, how, size } = priced
  const name = JSON.stringify([key, model, provider, how & APART, size])
  const known = found.get(name) ?? { key, priced, sums: priced.sums.map(() => 0) }
  found.set(name, known)
  return known
}

function recordOf({ key, priced, sums }: Sum): SummaryRecord {
  const { model, provider, how, size } = priced
  const [events, input, output, cacheRead, cacheWrite, reasoning, nanos] = sums as [number, ...number[]]
  const text = (n = 0): string => String(n)
  return {
    ...{
      key,
      model,
      provider,
      how: how & APART,
      size,
      usual_input: text(Math.floor(((input ?? 0) + events - 1) / events)),
    },
    ...{ input_tokens: text(input), output_tokens: text(output), cache_read_tokens: text(cacheRead) },
    ...{ cache_write_tokens: text(cacheWrite), reasoning_tokens: text(reasoning), cost_nanos: text(nanos) },
  } as SummaryRecord
}

const bytewise = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** As the store sorts them: buckets of one key by provider, model, how the cost is known and size. */
function byOrder(a: SummaryRecord, b: SummaryRecord): number {
  const sizes = [a, b].map(record => (record as SummaryRecord & { size: number }).size) as [number, number]
  return bytewise(a.provider, b.provider) || bytewise(a.model, b.model) || a.how - b.how || sizes[0] - sizes[1]
}
