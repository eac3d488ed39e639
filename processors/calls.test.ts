// Which report of a call stands, as far as that can be told without engines: order, undo, what is under way, what is forgotten.
import t from 'tap'
import { CallBook, type CallReport, type FoundCalls, withCalls } from './calls.ts'
import type { Cursor, Intent } from './protocol.ts'
import { emptyIntent, finish, freshCursor, propose } from './protocol.ts'
import type { Judgement } from './verdicts.ts'

const ORGANIZATION = '11111111-1111-4111-8111-111111111111'
const NOTHING: FoundCalls = new Map()

/** Reports of calls by position: `[call, what it says]`; one message a position. */
const reports = (from: number, ...said: readonly (readonly [call: string, report: string])[]): CallReport[] =>
  said.map(([conversation, report], i) => ({
    ordinal: i,
    organization: ORGANIZATION,
    conversation,
    sequence: from + i,
    frame: 0,
    report,
  }))

const intent = (from: number, to: number): Intent => emptyIntent({ lane: 1, generation: 1, from, to })

/** A book over a cursor that the test moves. */
function open(max?: number) {
  let cursor: Cursor = freshCursor()
  const book = new CallBook(() => cursor, max)
  return {
    book,
    record: (from: number, to: number): void => {
      cursor = propose(cursor, intent(from, to))
    },
    finish: (from: number): void => {
      cursor = finish(cursor, { lane: 1, from })
    },
  }
}

const range = (from: number, to: number, lane = 1) => ({ lane, from, to })

t.test('of one range the last report of a call is stored, and the first of those that say the same', t => {
  const { book } = open()
  const list = reports(1, ['a', 'x'], ['b', 'x'], ['a', 'y'], ['a', 'y'], ['b', 'x'])
  t.match(book.judge(list, range(1, 5), NOTHING), { repeats: [0, 3, 4], replaced: [] })
  const back = reports(6, ['a', 'z'], ['a', 'y'], ['b', 'y'], ['b', 'x'])
  t.match(book.judge(back, range(6, 9), NOTHING), { repeats: [0, 1, 2, 3], replaced: [] }, 'back to what stood before')
  t.end()
})

t.test('a later report replaces, an earlier position gives way, whatever was judged first', t => {
  const { book } = open()
  book.judge(reports(100, ['a', 'late']), range(100, 100), NOTHING)
  t.match(book.judge(reports(5, ['a', 'early']), range(5, 5, 2), NOTHING), { repeats: [0], replaced: [] })
  t.match(book.judge(reports(101, ['a', 'last']), range(101, 101), NOTHING), {
    repeats: [],
    replaced: [{ at: '100/0', by: '101/0' }],
  })
  const stored: FoundCalls = new Map([
    [`${ORGANIZATION}/old`, { sequence: 7, frame: 2, report: 'old', before: [] }],
    [`${ORGANIZATION}/ahead`, { sequence: 900, frame: 0, report: 'ahead', before: [] }],
  ])
  const list = reports(102, ['old', 'new'], ['ahead', 'behind'], ['a', 'last'])
  t.same(
    book.unknown(list, range(102, 104)).map(report => report.conversation),
    ['old', 'ahead'],
    'only of these the store is asked',
  )
  t.match(book.judge(list, range(102, 104), stored), { repeats: [1, 2], replaced: [{ at: '7/2', by: '102/0' }] })
  t.end()
})

t.test('until a range is finished, what it replaces is replaced by the next report too', t => {
  const { book, record, finish } = open()
  book.judge(reports(1, ['a', '1']), range(1, 1), NOTHING)
  record(1, 1)
  finish(1)
  book.judge(reports(2, ['a', '2']), range(2, 2), NOTHING)
  record(2, 2)
  const third = book.judge(reports(3, ['a', '3']), range(3, 3), NOTHING)
  t.same(third.replaced, [
    { at: '2/0', by: '3/0' },
    { at: '1/0', by: '3/0' },
  ])
  record(3, 3)
  finish(2)
  const fourth = book.judge(reports(4, ['a', '4']), range(4, 4), NOTHING)
  t.same(fourth.replaced, [
    { at: '3/0', by: '4/0' },
    { at: '2/0', by: '4/0' },
  ])
  record(4, 4)
  finish(3)
  finish(4)
  const fifth = book.judge(reports(5, ['a', '5']), range(5, 5), NOTHING)
  t.same(fifth.replaced, [{ at: '4/0', by: '5/0' }])
  t.end()
})

t.test('a judgement that is undone leaves the book as it was, but for what was judged later', t => {
  const { book } = open()
  book.judge(reports(1, ['a', '1'], ['b', '1']), range(1, 2), NOTHING)
  const undone = book.judge(reports(10, ['a', '2'], ['b', '2'], ['c', '2']), range(10, 12), NOTHING)
  t.ok(book.isUnderWay(10))
  book.judge(reports(20, ['b', '3']), range(20, 20, 2), NOTHING)
  undone.undo()
  t.notOk(book.isUnderWay(10))
  t.match(book.judge(reports(30, ['a', '1'], ['b', '3'], ['c', '2']), range(30, 32), NOTHING), {
    repeats: [0, 1],
    replaced: [],
  })
  t.end()
})

t.test('a position is under way from its judgement until the cursor says that its range is finished', t => {
  const { book, record, finish } = open()
  const states: boolean[] = []
  const look = (): unknown => states.push(book.isUnderWay(2), book.isStored(2, 'o'))
  book.judge(reports(1, ['a', '1'], ['b', '1']), range(1, 2), NOTHING)
  look()
  record(1, 2)
  look()
  finish(1)
  look()
  t.same(states, [true, false, true, false, false, true])
  t.end()
})

t.test('calls are forgotten only once they are stored; a recorded intent is learned as it was judged', t => {
  const { book, record, finish } = open(2)
  book.judge(reports(1, ['a', '1'], ['b', '1'], ['c', '1']), range(1, 3), NOTHING)
  t.equal(book.size, 3, 'none of them is stored yet')
  record(1, 3)
  finish(1)
  book.judge(reports(4, ['d', '1']), range(4, 4), NOTHING)
  t.equal(book.size, 2)
  t.same(book.unknown(reports(5, ['a', '1'], ['b', '1'], ['c', '1'], ['d', '1']), range(5, 8)).length, 2)
  const next = open().book
  next.learn(reports(4, ['d', '2'], ['d', '3'], ['e', '1']), [[0, 0]], [{ at: '1/0', by: '5/0' }])
  t.equal(next.size, 2)
  t.match(next.judge(reports(9, ['d', '4']), range(9, 9), NOTHING), {
    replaced: [
      { at: '5/0', by: '9/0' },
      { at: '1/0', by: '9/0' },
    ],
  })
  next.forget(range(4, 9))
  t.equal(next.size, 0)
  t.end()
})

t.test('an answer of the store that comes after an undo changes nothing', async t => {
  const { book } = open()
  let answer: (found: FoundCalls) => void = () => {}
  const find = (): Promise<FoundCalls> =>
    new Promise(resolve => {
      answer = resolve
    })
  let judged = 0
  const others: Judgement = {
    judge: () => {
      judged++
      return [[1, 1]]
    },
    undo: () => {},
  }
  const judgement = withCalls({ book, find }, others, range(1, 3))
  const [first, second, third] = reports(1, ['a', '1'], ['x', '1'], ['a', '1'])
  const calls = [first, third] as CallReport[]
  t.equal(second?.ordinal, 1, 'the second unit is no call')
  const prints = { list: new Uint8Array(), sequences: [], calls }
  const late = judgement.judge(prints)
  judgement.undo()
  answer(NOTHING)
  t.same(await late, [])
  t.equal(book.size, 0)
  t.equal(judged, 0)
  const again = judgement.judge(prints)
  answer(NOTHING)
  t.same(await again, [[1, 2]], 'runs of both kinds are joined')
  t.equal(book.size, 1)
})
