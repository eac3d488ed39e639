// Series over time -> lines as SVG, a panel for each unit, the warm-up in grey.
import type { Series } from './verdict.ts'

const WIDTH = 980
const LEFT = 70
const RIGHT = 190
const PANEL = 170
const GAP = 34
const TOP = 44
const LEGEND_ROW = 14
const COLORS = ['#2f6fb3', '#d08a2e', '#4b8f4b', '#b3261e', '#7a5fa3', '#7a7a7a', '#2a9d9d', '#a0522d']

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
const short = (value: number): string =>
  value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(2)))

/** The chart. */
export function plotSeries(title: string, all: readonly Series[], warmUpS: number): string {
  const units = [...new Set(all.map(({ unit }) => unit))]
  const endS = Math.max(1, ...all.map(({ points }) => points.at(-1)?.[0] ?? 0))
  const x = (atS: number): number => LEFT + (atS / endS) * (WIDTH - LEFT - RIGHT)
  const panels = units.map((unit, i) =>
    panel({ top: TOP + i * (PANEL + GAP), x, endS, warmUpS, unit, lines: all.filter(one => one.unit === unit) }),
  )
  const height = TOP + units.length * (PANEL + GAP) + 10
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/><text x="${LEFT}" y="22" font-size="15">${escaped(title)}</text>${panels.join('')}</svg>\n`
}

interface Panel {
  readonly top: number
  readonly x: (atS: number) => number
  readonly endS: number
  readonly warmUpS: number
  readonly unit: string
  readonly lines: readonly Series[]
}

function panel({ top, x, endS, warmUpS, unit, lines }: Panel): string {
  const highest = lines.reduce((most, { points }) => points.reduce((high, [, value]) => Math.max(high, value), most), 0)
  const scale = highest === 0 ? 1 : highest
  const y = (value: number): number => top + PANEL - (value / scale) * (PANEL - 8)
  const grid = [0, 0.5, 1].map(share => {
    const at = y(scale * share).toFixed(1)
    return `<line x1="${LEFT}" y1="${at}" x2="${WIDTH - RIGHT}" y2="${at}" stroke="#ddd"/><text x="${LEFT - 6}" y="${at}" text-anchor="end" dominant-baseline="middle" fill="#666">${short(scale * share)}</text>`
  })
  const warm = `<rect x="${LEFT}" y="${top}" width="${(x(Math.min(warmUpS, endS)) - LEFT).toFixed(1)}" height="${PANEL}" fill="#f2f2f2"/>`
  const drawn = lines.map(({ name, points }, i) => {
    const color = COLORS[i % COLORS.length]
    const path = points.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(' ')
    const legendY = top + 10 + i * LEGEND_ROW
    return `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="1.2"/><text x="${WIDTH - RIGHT + 8}" y="${legendY}" fill="${color}">${escaped(name)}</text>`
  })
  const hours = `<text x="${WIDTH - RIGHT}" y="${top + PANEL + 14}" text-anchor="end" fill="#666">${short(endS / 60)} min</text>`
  return `<g class="panel">${warm}${grid.join('')}<text x="${LEFT}" y="${top - 4}" fill="#444">${escaped(unit)}</text>${drawn.join('')}${hours}</g>`
}
