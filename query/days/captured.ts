// Metadata filters -> the conversations whose captures meet them, from kept days, so that no statement looks through all captures anew.
import type { Captured, KeyFilter } from '../filters.ts'
import type { Reader } from '../reader.ts'
import { capturedOneOf, captureKindsOf, type Meets } from './filter.ts'
import type { KeptDays } from './kept.ts'
import type { OrganizationDays } from './organization.ts'

/** Conversations that are handed to a statement: ids go there as text. */
const HANDED_MAX = 2_000

/** Asks memory; null where there are too many, or nobody knows. */
export async function readCaptured(
  kept: KeptDays,
  reader: Reader,
  { organization, filters }: { organization: string; filters: readonly KeyFilter[] },
): Promise<Captured> {
  if (filters.length === 0) return []
  const kinds = filters.flatMap(({ key }) => captureKindsOf(key))
  const found = await kept.with({ organization, reader }, ['figures', ...kinds], async (memory, asked) => {
    if ((await memory.refresh(reader, asked)) !== 'done') return null
    return filters.map(filter => idsOf(memory, capturedOneOf(memory, filter)))
  })
  return found ?? filters.map(() => null)
}

function idsOf(memory: OrganizationDays, meets: Meets): string[] | null {
  const found: string[] = []
  for (let conversation = 0; conversation < memory.ids.size(); conversation++) {
    if (!meets(conversation)) continue
    if (found.length === HANDED_MAX) return null
    found.push(memory.ids.textOf(conversation))
  }
  return found
}
