// Measured values by name -> a bar chart as SVG, on a logarithmic scale, with a mark where the aim is.

/** One row of a chart. */
export interface Bar {
  readonly name: string
  readonly values: readonly number[]
  readonly aim?: number | undefined
}

const ROW = 30
const LEFT = 260
const WIDTH = 980
const COLORS = ['#2f6fb3', '#d08a2e', '#7a7a7a']

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** The chart; `series` names the values of each bar, `unit` stands behind each number. */
export function plot(title: string, series: readonly string[], unit: string, bars: readonly Bar[]): string {
  const all = bars
    .flatMap(({ values, aim }) => [...values, ...(aim === undefined ? [] : [aim])])
    .filter(value => value > 0)
  const low = Math.floor(Math.log10(Math.min(...all)))
  const high = Math.ceil(Math.log10(Math.max(...all)))
  const x = (value: number): number =>
    LEFT + ((Math.log10(Math.max(value, 10 ** low)) - low) / Math.max(high - low, 1)) * (WIDTH - LEFT - 80)
  const top = 70
  const height = top + bars.length * ROW + 30
  const ticks = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i))
  const grid = ticks.map(
    tick =>
      `<line x1="${x(tick)}" y1="${top - 8}" x2="${x(tick)}" y2="${height - 24}" stroke="#ddd"/><text x="${x(tick)}" y="${height - 8}" text-anchor="middle" fill="#666">${tick} ${unit}</text>`,
  )
  const rows = bars.map(({ name, values, aim }, i) => {
    const y = top + i * ROW
    const thick = (ROW - 10) / values.length
    const parts = values.map(
      (value, n) =>
        `<rect x="${LEFT}" y="${y + n * thick}" width="${Math.max(1, x(value) - LEFT).toFixed(1)}" height="${(thick - 1).toFixed(1)}" fill="${COLORS[n]}"/><text x="${(x(value) + 4).toFixed(1)}" y="${(y + n * thick + thick - 2).toFixed(1)}" font-size="9" fill="#444">${value >= 10 ? Math.round(value) : value.toPrecision(2)}</text>`,
    )
    const mark =
      aim === undefined
        ? ''
        : `<line x1="${x(aim)}" y1="${y - 3}" x2="${x(aim)}" y2="${y + ROW - 7}" stroke="#b3261e" stroke-width="2"/>`
    return `<text x="${LEFT - 8}" y="${y + ROW / 2}" text-anchor="end">${escaped(name)}</text>${parts.join('')}${mark}`
  })
  const legend = series.map(
    (name, i) =>
      `<rect x="${LEFT + i * 190}" y="36" width="10" height="10" fill="${COLORS[i]}"/><text x="${LEFT + i * 190 + 15}" y="45">${escaped(name)}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/><text x="${LEFT}" y="22" font-size="15">${escaped(title)}</text>${legend.join('')}${grid.join('')}${rows.join('')}</svg>\n`
}
