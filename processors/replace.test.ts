// Calls whose end-of-call report comes more than once: whatever is killed or lied about, the latest report stands, exactly once.
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { conversationIdOf } from '#proto/ids.ts'
import type { Store } from '#store/client.ts'
import { getReplay, requestReplay } from '#streams/replay.ts'
import { eventually } from '#test/rig.ts'
import type { Bench, Fault } from './fixture.ts'
import {
  ambiguousWritings,
  createBench,
  envelopeOf,
  faultsOf,
  numbersOf,
  organization,
  own,
  poolOf,
  projected,
  publish,
  someEvents,
} from './fixture.ts'
import type { Cursor } from './protocol.ts'

const pool = poolOf(t)

const STARTED_MS = Date.now() - 3_600_000

/** What a test's report says; the rest follows. */
interface Said {
  readonly exchanges: number
  readonly cost?: number
  readonly summary?: string
  /** Before the start of the call, to have it in another month. */
  readonly earlierMs?: number
  /** Of the link to its recording. */
  readonly signature?: string
}

/** A report of `exchanges` questions and answers, long enough for a text of their own. */
function reportOf(
  id: string,
  { exchanges, cost, summary, earlierMs = 0, signature = 'first' }: Said,
): { message: object } {
  const at = STARTED_MS - earlierMs
  const words = (who: string, i: number): string => `${who} ${i} of ${exchanges} ${'x'.repeat(300)}`
  return {
    message: {
      type: 'end-of-call-report',
      timestamp: Date.now(),
      startedAt: new Date(at).toISOString(),
      ...(cost === undefined ? {} : { cost }),
      call: { id, customer: { number: '+15550001' } },
      ...(summary === undefined ? {} : { analysis: { summary } }),
      artifact: {
        recordingUrl: `https://recordings.example.org/${id}.wav?signature=${signature}`,
        messages: Array.from({ length: exchanges }, (_, i) => [
          { role: 'user', message: words('question', i), time: at + i * 2000 },
          { role: 'bot', message: words('answer', i), time: at + i * 2000 + 1000 },
        ]).flat(),
      },
    },
  }
}

const PROJECTIONS = ['ids', 'metrics_15m', 'metrics_daily', 'names_daily', 'conversations_daily', 'bounds', 'users']
/** Everything that shows how often a call counts, and with what. */
function shownOf(store: Store): Promise<Record<string, number>> {
  return numbersOf(store, {
    rows: 'SELECT sum(sign) AS n FROM events',
    folded: 'SELECT count() AS n FROM events FINAL',
    ...projected(PROJECTIONS),
    // Each event's preview is the beginning of the text that a read takes for it.
    texts: `SELECT countIf(input_preview = substring(input, 1, 200) AND input_bytes = length(input)) AS n
      FROM (SELECT * FROM events FINAL) AS e
      INNER JOIN (
        SELECT organization, event_id, argMax(input, (origin_sequence, origin_frame, origin_generation)) AS input FROM texts
        GROUP BY organization, event_id) AS x
      ON e.organization = x.organization AND e.event_id = x.event_id`,
  })
}

async function costOf(store: Store): Promise<[number, number]> {
  const rows = await store.read<{ rows: string; projected: string }>(`
    SELECT (SELECT sum(sign * toInt64(cost_nanos)) FROM events SETTINGS optimize_use_projections = 0) AS rows,
      (SELECT sumMerge(\`sum(multiply(sign, toInt64(cost_nanos)))\`)
       FROM mergeTreeProjection(currentDatabase(), 'events', 'metrics_15m')) AS projected`)
  return [Number(rows[0]?.rows) / 1e9, Number(rows[0]?.projected) / 1e9]
}

const cursorOf = async (bench: Bench): Promise<Cursor | undefined> =>
  (await bench.buckets.cursors.get('partition.0'))?.json<Cursor>()

/** Resolves when the floor has passed `sequence` and every number says `events`, after a merge too unless that is not wanted. */
async function shows(
  t: Test,
  bench: Bench,
  sequence: number,
  events: number,
  cost: number,
  merge = true,
): Promise<void> {
  const { store } = bench.db
  await eventually(`the floor at ${sequence}`, async () => ((await cursorOf(bench))?.floor ?? 0) >= sequence, 40_000)
  const check = async (when: string): Promise<void> => {
    const shown = await shownOf(store)
    t.same(shown, Object.fromEntries(Object.keys(shown).map(name => [name, events])), `${events} events ${when}`)
    t.equal(await ambiguousWritings(store), 0, `a writing says one thing ${when}`)
    t.same(await costOf(store), [cost, cost], `the cost is ${cost} ${when}`)
  }
  await check('as it was written')
  if (!merge) return
  await store.command('OPTIMIZE TABLE events FINAL')
  await check('merged')
}

/** What reads take a call's captures from. */
async function capturesOf(store: Store, call: string): Promise<Record<string, string>[]> {
  return (await readCaptures(store, call)).map(row => row.metadata)
}

const recordingsOf = async (store: Store, call: string): Promise<string[]> =>
  (await readCaptures(store, call)).map(row => row.recording_url)

function readCaptures(
  store: Store,
  call: string,
): Promise<{ metadata: Record<string, string>; recording_url: string }[]> {
  return store.read(
    `SELECT metadata, recording_url FROM sessions
     WHERE conversation_id = {conversation:UUID} AND (conversation_id, origin_sequence, origin_frame) NOT IN
       (SELECT conversation_id, origin_sequence, origin_frame FROM replaced_reports)`,
    { parameters: { conversation: conversationIdOf(organization, call) } },
  )
}

t.test('the latest report of a call stands: in one block, across blocks, across owners', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  const { store } = bench.db
  const call = randomUUID()
  const partial = { exchanges: 2, cost: 0.5, summary: 'partial' }
  const complete = { exchanges: 5, cost: 1.25 }
  let owner = await own(t, bench)
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, partial)])), 2, 0.5)
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, partial)])), 2, 0.5)
  t.match(await capturesOf(store, call), [{ 'analysis.summary': 'partial' }])
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, complete)])), 5, 1.25)
  const captures = await capturesOf(store, call)
  t.equal(captures.length, 1)
  t.notMatch(captures[0], { 'analysis.summary': 'partial' }, 'what the later report does not say is gone')
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, complete)])), 5, 1.25)
  t.match(await recordingsOf(store, call), [/signature=first$/], 'sent again as it was, it is a repeat')
  const fresh = reportOf(call, { ...complete, signature: 'fresh' })
  await shows(t, bench, await publish(bench, envelopeOf([fresh])), 5, 1.25)
  t.match(await recordingsOf(store, call), [/signature=fresh$/], 'the link that is good for longer stands, alone')
  await owner.stop()
  owner = await own(t, bench)
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, complete)])), 5, 1.25)
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, partial)])), 2, 0.5)
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, complete), reportOf(call, partial)])), 2, 0.5)
  const third = { exchanges: 3, cost: 2 }
  const all = [reportOf(call, complete), reportOf(call, third), ...someEvents(4)]
  await shows(t, bench, await publish(bench, envelopeOf(all)), 7, 2)
  await owner.stop()
  const parts = await store.read<{ n: string }>('SELECT count() AS n FROM corrections WHERE sign != -1')
  t.same(parts, [{ n: '0' }], 'corrections hold reversals alone')
})

t.test('many reports of one call in many small ranges, in flight at the same time', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  const calls = [randomUUID(), 'no uuid']
  let last = 0
  for (let i = 1; i <= 12; i++) {
    last = await publish(bench, envelopeOf(calls.map(call => reportOf(call, { exchanges: 1 + (i % 4), cost: i }))))
  }
  // The last but one is late: its reports are to be replaced before they are there.
  const store = held(bench.db.store, async from => {
    if (from !== 11) return
    await eventually('the last ones', async () => {
      const rows = await bench.db.store.read<{ n: string }>(
        'SELECT count() AS n FROM events WHERE origin_sequence = 12',
      )
      return rows[0]?.n === '2'
    })
    await new Promise(resolve => setTimeout(resolve, 1_000))
  })
  const { stop } = await own(t, bench, { blockBytes: 1, insertsInFlight: 4, insertIntervalMs: 1, store })
  await shows(t, bench, last, 2, 24)
  await stop()
})

t.test('a call that stands in another month than its later report is reversed there', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  const call = randomUUID()
  const { stop } = await own(t, bench)
  await shows(
    t,
    bench,
    await publish(bench, envelopeOf([reportOf(call, { exchanges: 3, earlierMs: 40 * 86_400_000 })])),
    3,
    0,
  )
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, { exchanges: 4, cost: 1 })])), 4, 1)
  await stop()
})

/** The store, whose inserts of events wait for `gate` of their range first. */
function held(store: Store, gate: (from: number) => Promise<void>): Store {
  const exec = async (options: { query: string; query_id?: string }): Promise<unknown> => {
    const from = Number(/\.s(\d+)-/.exec(options.query_id ?? '')?.[1])
    if (options.query.startsWith('INSERT INTO events FORMAT')) await gate(from)
    return store.client.exec(options as never)
  }
  const client = new Proxy(store.client, {
    get: (target, key) => {
      if (key === 'exec') return exec
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { ...store, client }
}

// ---- a store that lies, owners that vanish -------------------------------------------------------------------------------

/** The steps that replace a report, as the ends of their query ids. */
const STEPS = ['list0', 'stage0', 'copy0'] as const

/** The store, with `spoil` called instead of each statement that replaces a report. */
function spoiled(store: Store, spoil: (send: () => Promise<void>, step: string) => Promise<void>): Store {
  return {
    ...store,
    command: (sql, options) => {
      const step = options?.queryId?.split('.').at(-1) ?? ''
      const send = (): Promise<void> => store.command(sql, options)
      return STEPS.some(one => one === step) ? spoil(send, step) : send()
    },
  }
}

t.test('answers that are lost and statements that did nothing: every step is looked at', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  const call = randomUUID()
  let fault: Fault = send => send()
  const done = new Set<string>()
  const liar = spoiled(bench.db.store, (send, step) => {
    if (done.has(step)) return send()
    done.add(step)
    return fault(send)
  })
  const { stop } = await own(t, bench, { store: liar })
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, { exchanges: 3, cost: 1 })])), 3, 1)
  let exchanges = 3
  for (const [name, make] of Object.entries(faultsOf(bench.db.store))) {
    done.clear()
    fault = make
    exchanges++
    t.comment(name)
    await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, { exchanges, cost: 2 })])), exchanges, 2)
    t.same([...done].sort(), [...STEPS].sort(), `${name}: every step was hit`)
  }
  await stop()
})

t.test('an owner that vanishes at any step leaves what the next one completes', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  const call = randomUUID()
  let exchanges = 2
  const first = await own(t, bench)
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, { exchanges, cost: 1 })])), exchanges, 1)
  await first.stop()
  for (const step of STEPS) {
    for (const arrives of [false, true]) {
      let reached: () => void = () => {}
      const there = new Promise<void>(resolve => {
        reached = resolve
      })
      // From this step on the store never answers.
      const silent = spoiled(bench.db.store, async (send, at) => {
        if (at !== step) return send()
        if (arrives) await send()
        reached()
        return new Promise(() => {})
      })
      const dying = await own(t, bench, { store: silent })
      exchanges++
      const sequence = await publish(bench, envelopeOf([reportOf(call, { exchanges, cost: 3 })]))
      await there
      // What waits for an answer waits for ever: it is left behind like a killed process's.
      await Promise.race([dying.crash(), new Promise(resolve => setTimeout(resolve, 500))])
      await dying.lease.release()
      // Meanwhile a merge may fold what was reversed.
      await bench.db.store.command('OPTIMIZE TABLE events FINAL')
      const next = await own(t, bench)
      t.comment(`${step}, ${arrives ? 'done' : 'not done'}`)
      await shows(t, bench, sequence, exchanges, 3)
      await next.stop()
    }
  }
})

t.test('a later report that the store refuses replaces nothing; the next one replaces what stands', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  const call = randomUUID()
  const refused = { exchanges: 6, cost: 9, summary: 'poison-refused' }
  const first = await own(t, bench, { blockBytes: 1, insertsInFlight: 4, insertIntervalMs: 1 })
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, { exchanges: 2, cost: 1 })])), 2, 1)
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, refused)])), 2, 1)
  t.equal((await capturesOf(bench.db.store, call)).length, 1, 'nothing is captured from it')
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, { exchanges: 3, cost: 2 })])), 3, 2)
  // One right behind the other: the later one is judged before the store has said no.
  await publish(bench, envelopeOf([reportOf(call, refused)]))
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, { exchanges: 4, cost: 3 })])), 4, 3)
  await first.stop()
  const second = await own(t, bench)
  const both = [reportOf(call, { exchanges: 5, cost: 4 }), reportOf(call, refused)]
  await shows(t, bench, await publish(bench, envelopeOf(both)), 4, 3)
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, { exchanges: 5, cost: 4 })])), 5, 4)
  await second.stop()
})

// ---- lanes ---------------------------------------------------------------------------------------------------------------

t.test('a backlog that reaches an earlier report after the later one was stored leaves it out', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  const [known, fresh] = [randomUUID(), randomUUID()]
  const small = { backlogBytes: 64 * 1024, blockBytes: 64 * 1024, insertIntervalMs: 20 }
  const before = await own(t, bench, small)
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(known, { exchanges: 1, cost: 1 })])), 1, 1)
  await before.stop()
  const filling = (): object[] => someEvents(60, { args: 'a'.repeat(200) })
  for (let i = 0; i < 20; i++) await publish(bench, envelopeOf(filling()))
  const partial = { exchanges: 2, cost: 1 }
  for (const call of [known, fresh]) await publish(bench, envelopeOf([...filling(), reportOf(call, partial)]))
  await new Promise(resolve => setTimeout(resolve, 2_100))
  let open: () => void = () => {}
  const hold = new Promise<void>(resolve => {
    open = resolve
  })
  // The backlog's rows arrive only when the later reports are there.
  const store = held(bench.db.store, async from => {
    if (from < 22) await hold
  })
  const { stop } = await own(t, bench, { ...small, store })
  await eventually('a backlog', async () => (await cursorOf(bench))?.lanes.length === 2)
  const complete = { exchanges: 4, cost: 2 }
  const last = await publish(bench, envelopeOf([reportOf(known, complete), reportOf(fresh, complete)]))
  await eventually('the later reports', async () => {
    const rows = await bench.db.store.read<{ n: string }>(
      `SELECT sum(sign) AS n FROM events WHERE source = 'voice' AND origin_sequence = {last:UInt64}`,
      { parameters: { last } },
    )
    return rows[0]?.n === '8'
  })
  open()
  await shows(t, bench, last, 22 * 60 + 8, 4)
  await stop()
})

t.test('a stored range is read again: what was replaced stays replaced', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  const call = randomUUID()
  const options = { blockBytes: 1, insertIntervalMs: 1 }
  // Rows and their reversals stand side by side until the end.
  await bench.db.store.command('ALTER TABLE events MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1')
  let owner = await own(t, bench, options)
  const said = [
    { exchanges: 2, cost: 1 },
    { exchanges: 4, cost: 2 },
    { exchanges: 3, cost: 3 },
  ]
  for (const one of said) await publish(bench, envelopeOf([reportOf(call, one), ...someEvents(1)]))
  await shows(t, bench, 3, 6, 3, false)
  for (const [from, to, crash] of [
    [1, 3, false],
    [1, 2, true],
    [3, 3, false],
    [2, 3, true],
  ] as const) {
    t.match(await requestReplay(bench.buckets.cursors, 0, { from, to }), { asked: true })
    if (crash) {
      await eventually('it runs', async () => (await getReplay(bench.buckets.cursors, 0))?.record.state !== 'requested')
      await owner.crash()
      owner = await own(t, bench, options)
    }
    await eventually(
      `${from} to ${to}`,
      async () => (await getReplay(bench.buckets.cursors, 0))?.record.state === 'done',
      30_000,
    )
    await shows(t, bench, 3, 6, 3, false)
  }
  await bench.db.store.command('ALTER TABLE events RESET SETTING max_bytes_to_merge_at_max_space_in_pool')
  await shows(t, bench, await publish(bench, envelopeOf([reportOf(call, { exchanges: 5, cost: 4 })])), 8, 4)
  t.equal((await capturesOf(bench.db.store, call)).length, 1)
  await owner.stop()
})
