// Which days' rows are kept, and until when.
import t from 'tap'
import { createEdgeDays, type EdgeRow } from './edges.ts'
import { createIds } from './ids.ts'

const NONE = { kind: '', name: '', ids: '', instants: [], counts: [], micros: [], buckets: [], failed: [] } as const
const dayOf = (n: number): string => `2026-03-${String(n).padStart(2, '0')}`
const DAYS = Array.from({ length: 30 }, (_, i) => dayOf(i + 1))

t.test('days that are asked for together stay, whatever goes for them', async t => {
  const edges = createEdgeDays(createIds())
  const read: string[] = []
  const ask = async (days: readonly string[], version = '1', found = version) => {
    read.length = 0
    const versions = new Map(DAYS.map(day => [day, version]))
    return edges.refresh(days, versions, async (day): Promise<EdgeRow[]> => {
      read.push(day)
      return [{ ...NONE, version: found }]
    })
  }
  for (const day of DAYS.slice(0, 16)) await ask([day])
  await ask([dayOf(1), dayOf(17), dayOf(18)])
  t.strictSame(read, [dayOf(17), dayOf(18)], 'the oldest is kept')
  t.strictSame(
    [1, 17, 18].map(n => edges.rowsOf(dayOf(n)).length),
    [1, 1, 1],
    'and stays while others come',
  )
  await ask([dayOf(4)])
  t.strictSame(read, [], 'as does what was asked for of late')
  await ask([dayOf(2)])
  t.strictSame(read, [dayOf(2)], 'what was not is gone')

  t.equal(await ask([dayOf(1)], '2'), false)
  t.strictSame(read, [dayOf(1)], 'another version is read')
  t.equal(await ask([dayOf(1)], '3', '4'), true, 'one that came later is told')
  edges.shrink([dayOf(4)])
  await ask([dayOf(4)])
  t.strictSame(read, [], 'what must stay stays')
  await ask([dayOf(18)])
  t.strictSame(read, [dayOf(18)])
  t.equal(await edges.refresh([dayOf(4)], new Map(), async () => t.fail('it is not read') as never), false)
  t.strictSame(edges.rowsOf(dayOf(4)), [], 'a day that the store no longer has is gone')
})
