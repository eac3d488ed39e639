// Metadata filters -> what kept days say of the events of windows, and which of them pass: whole days from memory, edges from rows that are
// kept, or from the store.
import type { KeyFilter } from '../filters.ts'
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import { type AskedEdge, type EdgeRows, edgesOf, type Passes } from './edges.ts'
import { daysOf } from './figures.ts'
import { keptSays, kindsOf, passesOf, toldSays } from './filter.ts'
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

/** The same of a day of which rows are kept. */
export interface PassingEdge {
  readonly current: boolean
  readonly rows: readonly EdgeRows[]
  readonly edge: AskedEdge
}

/** All that windows hold. */
export interface Passing {
  readonly days: readonly PassingDay[]
  readonly edges: readonly PassingEdge[]
}

/** Of what. */
interface AskedPassing {
  readonly asked: Refresh
  readonly filters: readonly KeyFilter[]
  readonly window: Window
  readonly before: Window | null
}

/** Brings days to what the store holds. Null: what they need does not fit. Precondition: `kindsOf` knows what it is, and it is asked for. */
export async function readPassing(
  reader: Reader,
  memory: OrganizationDays,
  { asked, filters, window, before }: AskedPassing,
): Promise<Passing | null> {
  const { events } = kindsOf(filters) as NonNullable<ReturnType<typeof kindsOf>>
  const days = daysOf(window, before)
  const isWhole = (day: string): boolean => day > days.first && day < days.last && day !== days.split
  const isAfterSplit = (day: string): boolean => days.split === undefined || day > days.split
  const windows = before === null ? [window] : [window, before]
  const edges = windows.flatMap(of => edgesOf(of).map(edge => ({ edge, current: of === window })))
  const dates = [...new Set(edges.map(({ edge }) => edge.day))]
  const inMemory = memory.keepsRowsOf(dates, asked.maxBytes)
  // The edges first, as with all figures.
  const ragged = inMemory ? [] : await readSaidEdges(reader, filters, days)
  const asking = inMemory ? { ...asked, edges: dates, edgesOf: events } : asOfNow(memory, asked)
  if ((await memory.refresh(reader, asking)) !== 'done') return null
  const texts = createUsers()
  const told = ragged.map(row => ({
    ...{ day: row.key.slice(0, 10), current: isCurrent(row) },
    said: saidOf(memory.ids, texts, row),
  }))
  const whole = [...memory.saidOf(events).days].filter(([day]) => isWhole(day))
  const keptPasses = passesOf(memory, filters, place => keptSays(memory, filters, place))
  const toldPasses = passesOf(memory, filters, place => toldSays(place, texts.nameOf, texts.size()))
  return {
    days: [
      ...whole.map(([day, said]) => ({ day, current: isAfterSplit(day), said, passes: keptPasses })),
      ...told.map(edge => ({ ...edge, passes: toldPasses })),
    ],
    edges: inMemory
      ? edges.map(({ edge, current }) => ({
          ...{ current, rows: memory.rowsOf(edge.day, events) },
          edge: { ...edge, passes: keptPasses },
        }))
      : [],
  }
}
