import { randomBytes } from 'node:crypto'
import t from 'tap'
import type { OrdinalRun } from './protocol.ts'
import type { Batch } from './repeats.ts'
import { RepeatWindow, runsOf } from './repeats.ts'
import type { JudgedRange } from './verdicts.ts'
import { Verdicts } from './verdicts.ts'

/** What an owner does with a window for one range; `batch` is what it may take back. */
function judge(window: RepeatWindow, list: Uint8Array): { runs: OrdinalRun[]; batch: Batch } {
  window.trim()
  const from = window.mark
  const runs = runsOf({ list, sequences: [] }, words => !window.add(words, 0))
  return { runs, batch: { from, to: window.mark } }
}

/** A model: a plain Map in insertion order. */
class Model {
  readonly seen = new Set<string>()
  readonly max: number
  constructor(max: number) {
    this.max = max
  }
  judge(list: Buffer): [number, number][] {
    const runs: [number, number][] = []
    for (let i = 0; i * 12 < list.length; i++) {
      const key = list.toString('hex', i * 12, i * 12 + 12)
      if (key === '0'.repeat(24)) continue
      if (!this.seen.has(key)) this.seen.add(key)
      else if (runs.at(-1)?.[1] === i - 1) (runs.at(-1) as [number, number])[1] = i
      else runs.push([i, i])
    }
    for (const key of this.seen) {
      if (this.seen.size <= this.max) break
      this.seen.delete(key)
    }
    return runs
  }
}

t.test('the window judges like a set in insertion order, through growth, eviction and wrap-around', t => {
  for (const max of [10, 1000, 1500, 5000]) {
    const window = new RepeatWindow(max)
    const model = new Model(max)
    const pool = Array.from({ length: max * 3 }, () => randomBytes(12))
    let repeats = 0
    for (let round = 0; round < 300; round++) {
      // Blocks are smaller than the slack between `max` and the ring's capacity, as in production.
      const length = Math.floor(Math.random() * Math.min(24, max / 2))
      const none = Buffer.alloc(12)
      const list = Buffer.concat(
        Array.from({ length }, () =>
          Math.random() < 0.05 ? none : (pool[Math.floor(Math.random() ** 2 * pool.length)] as Buffer),
        ),
      )
      if (Math.random() < 0.3) {
        window.undo(judge(window, list).batch)
      }
      const { runs } = judge(window, list)
      window.trim()
      const expected = model.judge(list)
      repeats += expected.length
      if (JSON.stringify(runs) !== JSON.stringify(expected) || window.size !== model.seen.size) {
        t.same(runs, expected, `round ${round} of max ${max}`)
        t.equal(window.size, model.seen.size)
        return t.end()
      }
    }
    t.ok(repeats > 0, `${repeats} runs of repeats with max ${max}`)
  }
  t.end()
})

t.test('a repeat inside one block is found, and units without identity are never repeats', t => {
  const window = new RepeatWindow(100)
  const [a, b, none] = [randomBytes(12), randomBytes(12), Buffer.alloc(12)]
  const { runs, batch } = judge(window, Buffer.concat([a, none, b, a, b, none, a]))
  t.same(runs, [
    [3, 4],
    [6, 6],
  ])
  t.equal(window.size, 2)
  window.undo(batch)
  t.equal(window.size, 0)
  t.same(judge(window, a).runs, [], 'after undo it is new again')
  t.end()
})

t.test('a batch is taken back from under later ones, and a window with holes still forgets the oldest first', t => {
  const max = 1000
  const window = new RepeatWindow(max)
  let standing: Buffer[] = []
  for (let round = 0; round < 400; round++) {
    const lists = Array.from({ length: 3 }, () => Array.from({ length: 7 }, () => randomBytes(12)))
    const batches = lists.map(list => judge(window, Buffer.concat(list)).batch)
    const taken = Math.floor(Math.random() * 3)
    window.undo(batches[taken] as Batch)
    standing.push(...lists.flatMap((list, i) => (i === taken ? [] : list)))
    window.trim()
    standing = standing.slice(-max)
    if (window.size !== standing.length) {
      t.equal(window.size, standing.length, `round ${round}`)
      return t.end()
    }
  }
  t.same(judge(window, Buffer.concat(standing.slice(100))).runs, [[0, 899]], 'all that stand are known')
  t.end()
})

t.test('a lane drops what another lane has; a replay drops nothing of its own', t => {
  const ids = Array.from({ length: 7 }, () => randomBytes(12)) as [
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
  ]
  const [a, b, c, d, e, f, g] = ids
  const verdicts = new Verdicts(100)
  const judged = (range: Partial<JudgedRange>, list: readonly (readonly [Buffer, number])[]): string => {
    const sequences = list.map(([, sequence]) => sequence)
    const judgement = verdicts.open({
      replay: false,
      from: Math.min(...sequences),
      to: Math.max(...sequences),
      ...range,
    })
    const prints = { list: Buffer.concat(list.map(([id]) => id)), sequences }
    const first = JSON.stringify(judgement.judge(prints))
    judgement.undo()
    t.equal(JSON.stringify(judgement.judge(prints)), first, 'the same after undo')
    return first
  }
  const backlog = [
    [a, 10],
    [b, 11],
    [c, 12],
  ] as const
  const live = [
    [a, 100],
    [d, 101],
  ] as const
  t.equal(judged({}, live), '[]')
  t.equal(judged({}, backlog), '[[0,0]]', 'the live lane was first')
  const replay = [
    [a, 10],
    [b, 11],
    [b, 11],
    [e, 12],
  ] as const
  t.equal(
    judged({ replay: true }, replay),
    '[[0,0],[2,2]]',
    'its own b, once; a stands elsewhere; e was not stored before',
  )
  t.equal(
    judged({ replay: true, from: 13, to: 14 }, [
      [b, 13],
      [c, 14],
    ]),
    '[[0,1]]',
    'stored by another range of the replay, or before',
  )
  t.equal(
    judged({}, [
      [e, 200],
      [f, 201],
    ]),
    '[[0,0]]',
    'what a replay adds is known to the live lane',
  )
  // Stored at its later position first; a replay of both keeps the earlier one, and the next replay knows.
  t.equal(judged({}, [[g, 309]]), '[]')
  t.equal(
    judged({ replay: true, from: 307, to: 309 }, [
      [g, 307],
      [g, 309],
    ]),
    '[[1,1]]',
  )
  verdicts.beginReplay()
  t.equal(judged({ replay: true, from: 305, to: 307 }, [[g, 307]]), '[]', 'where it stands now is its own')
  const next = new Verdicts(100)
  next.learn({ list: Buffer.concat([a, b]), sequences: [1, 2] }, [[0, 0]])
  t.same(
    [next.main.size, JSON.stringify(next.open({ replay: false, from: 9, to: 9 }).judge({ list: a, sequences: [9] }))],
    [1, '[]'],
  )
  t.end()
})

t.test('a full window of millions costs at most 32 bytes an entry; an idle one some kilobytes', t => {
  const max = 200_000
  const window = new RepeatWindow(max)
  t.ok(window.bytes <= 32 * 1024, `${window.bytes} bytes when idle`)
  for (let i = 0; i < 300; i++) {
    judge(window, randomBytes(12 * 1000))
    window.trim()
  }
  t.equal(window.size, max)
  t.ok(window.bytes / max <= 32, `${window.bytes / max} bytes an entry`)
  t.end()
})
