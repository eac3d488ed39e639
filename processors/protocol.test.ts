import t from 'tap'
import { canJoin, divide, isStoredAt, join, liveOf, replay, setAside, split, storedRanges } from './lanes.ts'
import type { Cursor, Intent, Lane } from './protocol.ts'
import { emptyIntent, finish, freshCursor, propose, raiseClearing, readCursor, supersede, tokenOf } from './protocol.ts'

t.test('the floor is the end of the finished prefix', t => {
  const intent = (from: number, to: number): Intent => ({
    lane: 1,
    generation: 1,
    from,
    to,
    parser: '1',
    settings: '1',
    classes: {},
    dead: [],
    letters: 0,
    repeats: [],
    units: 1,
    blocks: [],
    clearing: 0,
    done: false,
  })
  const named = (from: number) => ({ lane: 1, from })
  let cursor = propose(propose(propose(freshCursor(), intent(1, 5)), intent(6, 6)), intent(7, 9))
  cursor = finish(cursor, named(6))
  t.equal(cursor.floor, 0)
  cursor = finish(cursor, named(1))
  t.equal(cursor.floor, 6)
  t.same(
    cursor.intents.map(open => open.from),
    [7],
  )
  t.throws(() => propose(cursor, intent(11, 12)), { code: 'BUG' }, 'a hole is refused')
  t.throws(() => finish(cursor, named(6)), { code: 'BUG' }, 'a finished intent cannot finish again')
  const anew = supersede(cursor, { ...intent(7, 9), generation: 2 })
  t.match(anew, { generation: 2, intents: [{ generation: 2, clearing: 1 }] })
  t.equal(raiseClearing(anew, named(7)).intents[0]?.clearing, 2)
  t.throws(() => supersede(anew, { ...intent(7, 9), generation: 2 }), { code: 'BUG' }, 'a generation is used once')
  t.end()
})

t.test('lanes are divided, joined and set aside; what is stored is known for each organization', t => {
  const shape = (cursor: Cursor): string =>
    cursor.lanes
      .map(({ kind, floor, end, only, without }) => {
        const scope = only ? `+${only.join('')}` : without ? `-${without.join('')}` : ''
        return `${kind}${scope} ${floor}-${end ?? ''}`
      })
      .join(', ')
  const stored = (cursor: Cursor, lane: number, from: number, to: number): Cursor => {
    const { only, without } = cursor.lanes.find(({ id }) => id === lane) as Lane
    const scope = { ...(only && { only }), ...(without && { without }) }
    const intent = emptyIntent({ lane, from, to, generation: 1, ...scope })
    return finish(propose(cursor, intent), intent)
  }
  let cursor = split(stored(freshCursor(), 1, 1, 5), 100)
  t.equal(shape(cursor), 'backlog 5-100, live 100-')
  cursor = divide(cursor, 1, 5, ['a'])
  t.equal(shape(cursor), 'live 100-, backlog-a 5-100, bulk+a 5-100')
  cursor = divide(cursor, 2, 100, ['b'])
  t.equal(shape(cursor), 'backlog-a 5-100, bulk+a 5-100, live-b 100-, bulk+b 100-')
  t.throws(() => divide(cursor, 5, 100, ['b']), { code: 'BUG' }, 'its frames are left out already')
  t.throws(() => propose(cursor, emptyIntent({ lane: 5, from: 101, to: 102, generation: 1 })), { code: 'BUG' })

  // The bulk lane of `b` and the live lane are ahead, and `a` is behind the others.
  cursor = stored(stored(stored(cursor, 3, 6, 50), 4, 6, 20), 6, 101, 110)
  t.same(storedRanges(cursor), [
    { after: 0, through: 20 },
    { after: 20, through: 50, without: ['a'] },
    { after: 100, through: 110, only: ['b'] },
  ])
  t.same(
    ['a', 'b', 'c'].map(organization => [30, 60, 105].map(at => isStoredAt(cursor, at, organization))),
    [
      [false, false, false],
      [true, false, true],
      [true, false, false],
    ],
  )
  t.equal(cursor.floor, 20)

  cursor = setAside(cursor, 5, 101)
  t.equal(shape(cursor), 'backlog-a 50-100, bulk+a 20-100, bulk+b 110-, suspect-b 100-101, live-b 101-')
  t.notOk(canJoin(cursor, 6, 109), 'it has read further')
  cursor = join(cursor, 6, 120)
  t.equal(
    shape(cursor),
    'backlog-a 50-100, bulk+a 20-100, bulk+b 110-120, suspect-b 100-101, backlog-b 101-120, live 120-',
  )
  cursor = setAside(cursor, liveOf(cursor).id, 121)
  const suspect = cursor.lanes.find(({ kind, end }) => kind === 'suspect' && end === 121) as Lane
  t.equal(shape(stored(cursor, suspect.id, 121, 121)).includes('suspect 120-121'), false, 'and is folded away')
  t.throws(() => replay(cursor, { from: 10, to: 21 }), { code: 'BUG' }, 'not stored for all')
  t.match(replay(cursor, { from: 10, to: 20 }), { generation: 2 })

  const block = { table: 'events', retention: 0, month: 202601, rows: 1, checksum: '', attempt: 1 } as const
  const name = { from: 1, to: 2, generation: 1 }
  t.equal(tokenOf(0, emptyIntent({ lane: 7, ...name }), block), 'p0.s1-2.g1.events.r0.m202601.a1')
  t.equal(tokenOf(0, emptyIntent({ lane: 7, ...name, only: ['a'] }), block), 'p0.l7.s1-2.g1.events.r0.m202601.a1')
  t.end()
})

t.test('a record of the version before has no lane to be mistaken for another', t => {
  const { nextLane: _, ...old } = split(freshCursor(), 9)
  t.match(readCursor({ ...old, version: 2 }), { version: 3, nextLane: 3 })
  t.throws(() => readCursor({ ...old, version: 4 }), { code: 'RUN_CURSOR_NEWER' })
  t.end()
})
