// What events at the edges of windows say, for requests of several parts: the figures of a window and of the one before it, its tools and its
// page have edges in common, which are read once.
import { boundTo, type KeyFilter } from '../filters.ts'
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import { type Days, daysOf } from './figures.ts'
import type { SaidRow } from './said.ts'
import { raggedSaidSql } from './said-sql.ts'
import { BEFORE } from './sql.ts'

interface Asked {
  readonly filters: string
  readonly parameters: Days['parameters']
  readonly rows: Promise<readonly SaidRow[]>
}

/** By the reader of the request, which is made for one. */
const asked = new WeakMap<Reader, Asked>()

/** What windows hold of days that they don't hold whole, read for this request or for another part of it. */
export function readSaidEdges(reader: Reader, filters: readonly KeyFilter[], days: Days): Promise<readonly SaidRow[]> {
  const known = days.split === undefined ? knownEdges(reader, filters, days) : undefined
  if (known !== undefined) return known
  const sql = raggedSaidSql(filters, { split: days.split !== undefined })
  const rows = reader.read<SaidRow>('ragged_said', sql, { ...days.parameters, ...boundTo(filters) })
  asked.set(reader, { filters: JSON.stringify(filters), parameters: days.parameters, rows })
  return rows
}

/** The edges of a window that this request has read; undefined: it has not. */
export function knownSaidEdges(
  reader: Reader,
  filters: readonly KeyFilter[],
  window: Window,
): Promise<readonly SaidRow[]> | undefined {
  return knownEdges(reader, filters, daysOf(window, null))
}

/** Of one window, which may have been read with the one before it: then it begins where that one ends. */
function knownEdges(reader: Reader, filters: readonly KeyFilter[], { parameters: { from, to } }: Days) {
  const known = asked.get(reader)
  if (known === undefined || known.filters !== JSON.stringify(filters)) return undefined
  const { split = known.parameters.from, to: end } = known.parameters
  return split === from && end === to ? known.rows.then(rows => rows.filter(isCurrent)) : undefined
}

/** Whether a row is not of the window before. */
export const isCurrent = ({ key }: SaidRow): boolean => !key.endsWith(BEFORE)
