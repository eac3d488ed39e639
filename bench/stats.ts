// The few statistics the benches print: medians over rounds, percentiles of samples, a Markdown table.

/** The middle of the values; the mean of the two middles for an even count. */
export function median(values: readonly number[]): number {
  return percentile(values, 50)
}

/** The p-th percentile (0 to 100) by linear interpolation. */
export function percentile(values: readonly number[], p: number): number {
  if (values.length === 0) return Number.NaN
  const sorted = [...values].sort((a, b) => a - b)
  const at = ((sorted.length - 1) * p) / 100
  const low = Math.floor(at)
  const a = sorted[low] as number
  const b = sorted[Math.min(low + 1, sorted.length - 1)] as number
  return a + (b - a) * (at - low)
}

/** A Markdown table: header cells, then rows of cells. */
export function table(header: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n')
}
