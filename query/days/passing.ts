// Metadata filters -> what kept days say of the events of windows, and which of them pass: whole days from memory, edges from the store.
import type { KeyFilter } from '../filters.ts'
import type { Reader } from '../reader.ts'
import type { Days } from './figures.ts'
import { keptSays, kindsOf, type Passes, passesOf, toldSays } from './filter.ts'
import { asOfNow, type OrganizationDays, type Refresh } from './organization.ts'
import { type Said, saidOf } from './said.ts'
import { isCurrent, readSaidEdges } from './said-edges.ts'
import { createUsers } from './users.ts'

/** What windows hold of a day. */
export interface PassingDay {
  readonly day: string
  /** Not of the window before. */
  readonly current: boolean
  readonly said: Said
  readonly passes: Passes
}

/** Brings days to what the store holds. Null: what they need does not fit. Precondition: `kindsOf` knows what it is, and it is asked for. */
export async function readPassing(
  reader: Reader,
  memory: OrganizationDays,
  { asked, filters, days }: { asked: Refresh; filters: readonly KeyFilter[]; days: Days },
): Promise<PassingDay[] | null> {
  const { events } = kindsOf(filters) as NonNullable<ReturnType<typeof kindsOf>>
  const isWhole = (day: string): boolean => day > days.first && day < days.last && day !== days.split
  const isAfterSplit = (day: string): boolean => days.split === undefined || day > days.split
  // The edges first, as with all figures.
  const edges = await readSaidEdges(reader, filters, days)
  if ((await memory.refresh(reader, asOfNow(memory, asked))) !== 'done') return null
  const texts = createUsers()
  const atEdges = edges.map(row => ({
    ...{ day: row.key.slice(0, 10), current: isCurrent(row) },
    said: saidOf(memory.ids, texts, row),
  }))
  const whole = [...memory.saidOf(events).days].filter(([day]) => isWhole(day))
  const kept = passesOf(memory, filters, place => keptSays(memory, filters, place))
  const told = passesOf(memory, filters, place => toldSays(place, texts.nameOf, texts.size()))
  return [
    ...whole.map(([day, said]) => ({ day, current: isAfterSplit(day), said, passes: kept })),
    ...atEdges.map(edge => ({ ...edge, passes: told })),
  ]
}
