// Rows -> CSV (RFC 4180) that a spreadsheet may open: what would be taken for a formula is text.

/** A value of a cell; null is an empty one. */
export type Cell = string | number | boolean | null

/** Beginnings that spreadsheets evaluate; a tab or a return before them does not stop that. */
const FORMULA = /^[=+\-@\t\r]/
const QUOTED = /[",\r\n]/

/** One line with its end. Numbers are written as they are: only text can be a formula. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

function csvCell(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell !== 'string') return String(cell)
  const text = FORMULA.test(cell) ? `'${cell}` : cell
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
