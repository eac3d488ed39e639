import t from 'tap'
import { randomOf } from '#runtime/seeded.ts'
import { plotSeries } from './plot.ts'
import { exitCodeOf, judge, type Series } from './verdict.ts'

const HOUR_S = 3_600

/** Six hours, a sample a minute: a level, what an hour adds, and saw teeth of a height with noise. */
function series(options: { level: number; perHour?: number; teeth?: number; most?: number; hours?: number }): Series {
  const { level, perHour = 0, teeth = 0, hours = 6 } = options
  const random = randomOf(7)
  const points = Array.from({ length: hours * 60 }, (_, i) => {
    const at = i * 60
    const tooth = ((i % 17) / 17) * teeth + (random(1_000) / 1_000 - 0.5) * teeth * 0.3
    return [at, level + (perHour * at) / HOUR_S + tooth] as const
  })
  return { name: 'x', unit: 'MiB', slack: 16, points, ...(options.most === undefined ? {} : { most: options.most }) }
}

const judgementOf = (one: Series, warmUpS = 600) => judge(one, warmUpS).judgement

t.test('what stays is flat, saw teeth and all', async t => {
  t.equal(judgementOf(series({ level: 200 })), 'flat')
  t.equal(judgementOf(series({ level: 200, teeth: 120 })), 'flat')
  t.equal(judgementOf(series({ level: 0 })), 'flat')
  t.equal(judgementOf(series({ level: 200, perHour: -20, teeth: 50 })), 'flat', 'what shrinks does not grow')
  t.equal(judgementOf(series({ level: 1_000, perHour: 5, teeth: 20 })), 'flat', 'within a tenth of its level')
})

t.test('a leak is seen through the saw teeth', async t => {
  const leak = judge(series({ level: 200, perHour: 12, teeth: 60 }), 600)
  t.equal(leak.judgement, 'grows')
  t.ok(Math.abs(leak.perHour - 12) < 3, `${leak.perHour} an hour`)
  t.ok(leak.low < leak.perHour && leak.perHour < leak.high)
  t.equal(judgementOf(series({ level: 50, perHour: 10 })), 'grows')
})

t.test('what happens in the warm-up does not count', async t => {
  const { points, ...rest } = series({ level: 200, teeth: 30 })
  const warming = { ...rest, points: points.map(([at, value]) => [at, at < 1_800 ? value - 150 : value] as const) }
  t.equal(judgementOf(warming, 1_800), 'flat')
})

t.test('a short or a wild run decides nothing', async t => {
  t.equal(judgementOf({ ...series({ level: 200 }), points: [] }), 'undecided')
  t.equal(judgementOf(series({ level: 200, hours: 1 }), HOUR_S - 600), 'undecided', 'ten samples')
  const minutes = series({ level: 50, perHour: 600 }).points.map(([at, value]) => [at / 60, value] as const)
  t.equal(judge({ name: 'x', unit: 'MiB', slack: 1, points: minutes }, 0).judgement, 'undecided', 'six minutes')
  const random = randomOf(3)
  const wild = Array.from({ length: 200 }, (_, i) => [i * 60, random(10) ** 3] as const)
  t.equal(judge({ name: 'x', unit: 'MiB', slack: 1, points: wild }, 0).judgement, 'undecided')
})

t.test('a level that may not be passed is passed by one sample', async t => {
  t.equal(judgementOf(series({ level: 200, most: 300 })), 'flat')
  const { points, ...rest } = series({ level: 200, most: 300 })
  const peak = { ...rest, points: points.map(([at, value], i) => [at, i === 200 ? 301 : value] as const) }
  t.equal(judgementOf(peak), 'too high')
})

t.test('the exit code is that of the worst', async t => {
  const flat = judge(series({ level: 200 }), 600)
  const grows = judge(series({ level: 50, perHour: 10 }), 600)
  const undecided = judge({ ...series({ level: 200 }), points: [] }, 0)
  t.equal(exitCodeOf([flat], 0), 0)
  t.equal(exitCodeOf([flat, undecided], 0), 2)
  t.equal(exitCodeOf([grows, undecided], 0), 1)
  t.equal(exitCodeOf([flat], 1), 1, 'a process that was started again')
})

t.test('the plot has a line for each series and a panel for each unit', async t => {
  const handles: Series = { ...series({ level: 30 }), name: 'handles <&>', unit: 'handles' }
  const svg = plotSeries('soak', [series({ level: 200 }), series({ level: 100, teeth: 9 }), handles], 600)
  t.equal(svg.match(/<polyline/g)?.length, 3)
  t.equal(svg.match(/class="panel"/g)?.length, 2)
  t.match(svg, 'handles &lt;&amp;>')
  t.notMatch(svg, /NaN|Infinity/)
  t.notMatch(plotSeries('none', [{ ...handles, points: [] }], 0), /NaN|Infinity/)
})
