// What an organization says about prices, as its control record holds it.
import type { KV } from '@nats-io/kv'
import type { ReadingRecord } from '#control/records.ts'
import { readingKey } from '#control/records.ts'
import type { OwnPrices } from '#proto/dashboard/prices.ts'
import type { PriceList } from '#proto/prices.ts'

/** The record of an organization; undefined when it never said anything. */
export async function readOwn(records: KV, organization: string): Promise<ReadingRecord | undefined> {
  const entry = await records.get(readingKey(organization))
  return entry?.operation === 'PUT' ? entry.json<ReadingRecord>() : undefined
}

/** The answer about it. */
export function ownPrices(list: PriceList, record: ReadingRecord | undefined): OwnPrices {
  return {
    version: list.version,
    overrides: [...(record?.prices ?? [])],
    updated_at: record?.updated_at ?? null,
    updated_by: record?.updated_by ?? null,
  }
}
