// Spans whose conversation becomes known later, against real engines: whatever the order and whatever fails, every row counts once and
// stands at home.
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { conversationIdOf, NIL_UUID } from '#proto/ids.ts'
import { movesKeyOf } from '#proto/streams.ts'
import type { Store } from '#store/client.ts'
import { getReplay, requestReplay } from '#streams/replay.ts'
import { eventually } from '#test/rig.ts'
import type { Bench, Fault, TestSpan } from './fixture.ts'
import {
  ambiguousWritings,
  createBench,
  faultsOf,
  log,
  organization,
  own,
  poolOf,
  publish,
  traceHex,
  tracesOf,
} from './fixture.ts'
import { createLinkAnswers } from './link-answers.ts'
import { followLinks } from './link-memory.ts'

const pool = poolOf(t)

const PROJECTIONS = ['metrics_15m', 'metrics_daily', 'conversations_daily', 'bounds', 'users', 'priced']

const conversationOf = (session: string): string => conversationIdOf(organization, session)
const standInOf = (trace: number): string => conversationOf(traceHex(trace))

const sorted = (homes: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(homes).sort(([a], [b]) => (a < b ? -1 : 1)))

/** Rows by conversation; a conversation whose rows all went away is absent. */
async function homesOf(store: Store, from = 'events', settings = ' SETTINGS optimize_use_projections = 0') {
  const rows = await store.read<{ id: string; n: string }>(
    `SELECT conversation_id AS id, sum(sign) AS n FROM ${from} GROUP BY conversation_id HAVING n != 0${settings}`,
  )
  return sorted(Object.fromEntries(rows.map(({ id, n }) => [id, Number(n)])))
}

/** Every sum over rows and over projections is `rows`, and the conversations of both are the same. */
async function proves(t: Test, store: Store, homes: Record<string, number>, when: string): Promise<void> {
  const rows = Object.values(homes).reduce((sum, n) => sum + n, 0)
  const sums = await Promise.all(
    PROJECTIONS.map(async name => {
      const sql = `SELECT sumMerge(\`sum(sign)\`) AS n FROM mergeTreeProjection(currentDatabase(), 'events', '${name}')`
      return [name, Number((await store.read<{ n: string }>(sql))[0]?.n)]
    }),
  )
  t.strictSame(
    Object.fromEntries(sums),
    Object.fromEntries(PROJECTIONS.map(name => [name, rows])),
    `projections, ${when}`,
  )
  t.strictSame(await homesOf(store), homes, `rows, ${when}`)
  t.strictSame(await homesOf(store, 'events', ''), homes, `conversations, ${when}`)
  t.equal(await ambiguousWritings(store), 0, `a writing says one thing, ${when}`)
  const [folded] = await store.read<{ n: string; ids: string; loose: string }>(
    'SELECT count() AS n, uniqExact(event_id) AS ids, countIf(provisional = 1) AS loose FROM events FINAL',
  )
  const loose = Object.entries(homes).filter(([id]) => standIns.has(id))
  t.strictSame(
    [Number(folded?.n), Number(folded?.ids), Number(folded?.loose)],
    [rows, rows, loose.reduce((sum, [, n]) => sum + n, 0)],
    `folded, ${when}`,
  )
}

const standIns = new Set(Array.from({ length: 200 }, (_, i) => standInOf(i + 1)))

/** Resolves when the rows stand in these conversations; then every number says so, before and after a merge. */
async function shows(t: Test, bench: Bench, expected: Record<string, number>, merge = true): Promise<void> {
  const { store } = bench.db
  const homes = sorted(expected)
  const wanted = JSON.stringify(homes)
  await eventually(`rows in ${wanted}`, async () => JSON.stringify(await homesOf(store)) === wanted, 40_000)
  await proves(t, store, homes, 'as it was written')
  if (!merge) return
  await store.command('OPTIMIZE TABLE events FINAL')
  await proves(t, store, homes, 'merged')
}

const send = (bench: Bench, spans: readonly TestSpan[], partition = 0): Promise<number> =>
  publish(bench, tracesOf(spans), partition)

t.test('in whatever order spans come, in whatever partitions', async t => {
  const bench = await createBench(t, { aggregated: true, partitions: 2, pool })
  const owners = [await own(t, bench), await own(t, bench, {}, 1)]
  const [a, b] = [conversationOf('a'), conversationOf('b')]
  // The children first, the root with the session last, in another partition.
  await send(bench, [{ trace: 1, span: 2, parent: 1, afterMs: 1 }])
  await send(bench, [{ trace: 1, span: 3, parent: 1, afterMs: 2, user: 'ada', attributes: { 'user.plan': 'pro' } }])
  // Nothing ever says whose this is.
  await send(bench, [{ trace: 2, span: 1 }])
  await shows(t, bench, { [standInOf(1)]: 2, [standInOf(2)]: 1 }, false)
  await send(bench, [{ trace: 1, span: 1, session: 'a' }], 1)
  await shows(t, bench, { [a]: 3, [standInOf(2)]: 1 })
  // What comes later goes home too, from either partition; what names a session of its own stays there.
  await send(bench, [{ trace: 1, span: 4, parent: 1, afterMs: 3 }], 1)
  await send(bench, [
    { trace: 1, span: 5, parent: 2, afterMs: 4 },
    { trace: 1, span: 6, parent: 2, afterMs: 5, session: 'b' },
  ])
  await shows(t, bench, { [a]: 5, [b]: 1, [standInOf(2)]: 1 })
  // Captures follow their rows.
  await eventually('the conversation knows what was captured under the stand-in', async () => {
    const [captured] = await bench.db.store.read<{ user: string; plan: string }>(
      `SELECT max(user_id) AS user, max(user_data['plan']) AS plan FROM sessions WHERE conversation_id = '${a}'`,
    )
    return captured?.user === 'ada' && captured.plan === 'pro'
  })
  for (const owner of owners) await owner.stop()
})

t.test('a better link changes the home, a worse one does not, and arrival does not matter', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  // One row a move: what is left over is another one's.
  const { stop } = await own(t, bench, { moveRows: 1 })
  const [child, root, late] = ['of a child', 'of the root', 'of a later child'].map(conversationOf)
  await send(bench, [
    { trace: 1, span: 3, parent: 2, afterMs: 9, user: 'ada' },
    { trace: 1, span: 2, parent: 1, afterMs: 5, session: 'of a child' },
  ])
  await shows(t, bench, { [child as string]: 2 })
  await send(bench, [{ trace: 1, span: 9, parent: 1, afterMs: 6, session: 'of a later child' }])
  await send(bench, [{ trace: 1, span: 1, session: 'of the root' }])
  await shows(t, bench, { [child as string]: 1, [late as string]: 1, [root as string]: 1 + 1 })
  await eventually('the user went along', async () => {
    const users = await bench.db.store.read<{ id: string }>(
      "SELECT DISTINCT conversation_id AS id FROM sessions WHERE user_id = 'ada' AND conversation_id IN {ids:Array(UUID)}",
      { parameters: { ids: [child, root, late] as string[] } },
    )
    return users.length === 1 && users[0]?.id === root
  })
  // Pairs are folded by merges, so they are counted where nothing is: every statement has the id of its move.
  const [most] = await bench.db.store.read<{ n: string }>(
    `SELECT max(c) AS n FROM (SELECT count() AS c FROM events WHERE sign = 1 GROUP BY move_id HAVING move_id != toUUID('${NIL_UUID}'))`,
  )
  t.same(most, { n: '1' }, 'no move had more than its pair')
  await stop()
})

// ---- a store that lies, owners that vanish -------------------------------------------------------------------------------

const STEPS = { move: 'INSERT INTO events', captures: 'INSERT INTO sessions' }
type Step = keyof typeof STEPS

/** The store, with `spoil` called instead of each statement of a move. */
function spoiled(store: Store, spoil: (send: () => Promise<void>, step: Step, sql: string) => Promise<void>): Store {
  return {
    ...store,
    command: (sql, options) => {
      const step = (Object.keys(STEPS) as Step[]).find(one => sql.trimStart().startsWith(STEPS[one]))
      const send = (): Promise<void> => store.command(sql, options)
      return step ? spoil(send, step, sql) : send()
    },
  }
}

/** Two spans of a new trace in a range each, whose home the second one tells; and what is at home when all is done. */
function scenario(trace: number): { readonly first: TestSpan[]; readonly second: TestSpan[]; readonly home: string } {
  const session = `session ${trace}`
  const first = [
    { trace, span: 2, parent: 1, afterMs: 1, user: 'ada' },
    { trace, span: 3, parent: 1, afterMs: 2 },
  ]
  return { first, second: [{ trace, span: 1, session }], home: conversationOf(session) }
}

const usersOf = async (store: Store, conversation: string): Promise<string[]> => {
  const parameters = { conversation }
  const sql =
    "SELECT DISTINCT user_id AS user FROM sessions WHERE conversation_id = {conversation:UUID} AND user_id != ''"
  return (await store.read<{ user: string }>(sql, { parameters })).map(({ user }) => user)
}

t.test('answers that are lost and statements that did nothing: every step is looked at', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  let fault: Fault = send => send()
  const done = new Set<Step>()
  const liar = spoiled(bench.db.store, (send, step) => {
    if (done.has(step)) return send()
    done.add(step)
    return fault(send)
  })
  const { stop } = await own(t, bench, { store: liar })
  const homes: Record<string, number> = {}
  for (const [i, [name, make]] of Object.entries(faultsOf(bench.db.store)).entries()) {
    const { first, second, home } = scenario(i + 1)
    await send(bench, first)
    await eventually('the children are stored', async () => (await homesOf(bench.db.store))[standInOf(i + 1)] === 2)
    done.clear()
    fault = make
    await send(bench, second)
    homes[home] = 3
    await shows(t, bench, homes, false)
    await eventually(`${name}: every step was hit`, () => done.size === Object.keys(STEPS).length)
  }
  await stop()
})

t.test('an owner that vanishes at any step leaves what the next one completes', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  const homes: Record<string, number> = {}
  let trace = 0
  for (const step of Object.keys(STEPS) as Step[]) {
    for (const arrives of [false, true]) {
      const { first, second, home } = scenario(++trace)
      const before = await own(t, bench)
      await send(bench, first)
      const standIn = standInOf(trace)
      await eventually('the children are stored', async () => (await homesOf(bench.db.store))[standIn] === 2)
      await before.stop()
      const { promise: there, resolve: reached } = Promise.withResolvers<void>()
      // From this step on the store never answers.
      const sent: Step[] = []
      const silent = spoiled(bench.db.store, async (send, at, sql) => {
        // A trace of before may be looked at once more: its owner may have stopped before it said how far it had looked.
        if (!sql.includes(standIn)) return send()
        sent.push(at)
        if (at !== step) return send()
        if (arrives) await send()
        reached()
        return new Promise(() => {})
      })
      const dying = await own(t, bench, { store: silent })
      await send(bench, second)
      homes[home] = 3
      await there
      await Promise.race([dying.crash(), new Promise(resolve => setTimeout(resolve, 500))])
      await dying.lease.release()
      await bench.db.store.command('OPTIMIZE TABLE events FINAL')
      const next = await own(t, bench)
      t.comment(`${step}, ${arrives ? 'done' : 'not done'}`)
      t.same(sent, step === 'move' ? ['captures', 'move'] : ['captures'], 'rows go home when their captures are there')
      await shows(t, bench, homes, false)
      await eventually('the user went along', async () => (await usersOf(bench.db.store, home)).join() === 'ada')
      await next.stop()
    }
  }
})

t.test('a statement of an owner that was overtaken moves nothing', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  const { first, second, home } = scenario(1)
  let late: (() => Promise<void>) | undefined
  const { promise: there, resolve: reached } = Promise.withResolvers<void>()
  const silent = spoiled(bench.db.store, (send, at) => {
    if (at !== 'move') return send()
    late = send
    reached()
    return new Promise(() => {})
  })
  const dying = await own(t, bench, { store: silent })
  await send(bench, first)
  await send(bench, second)
  await there
  await Promise.race([dying.crash(), new Promise(resolve => setTimeout(resolve, 500))])
  await dying.lease.release()
  const next = await own(t, bench)
  await shows(t, bench, { [home]: 3 }, false)
  await late?.()
  await shows(t, bench, { [home]: 3 })
  await next.stop()
})

t.test('moved spans that come again are repeats for the next owner, and a replay brings them home anew', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  const { first, second, home } = scenario(1)
  const before = await own(t, bench)
  await send(bench, first)
  const last = await send(bench, second)
  await shows(t, bench, { [home]: 3 })
  await before.stop()
  const next = await own(t, bench)
  await send(bench, [...first, { trace: 1, span: 4, parent: 1, afterMs: 3 }])
  await shows(t, bench, { [home]: 4 })
  t.match(await requestReplay(bench.buckets.cursors, 0, { from: 1, to: last }), { asked: true })
  const ended = async (): Promise<boolean> => (await getReplay(bench.buckets.cursors, 0))?.record.state === 'done'
  await eventually('the replay has ended', ended, 60_000)
  await shows(t, bench, { [home]: 4 })
  const generations = await bench.db.store.read<{ g: number }>(
    `SELECT DISTINCT origin_generation AS g FROM events FINAL WHERE origin_sequence <= ${last}`,
  )
  t.equal(generations.length, 1, 'all of them were read again')
  await next.stop()
})

t.test('a move that a build before has staged and recorded is finished, whatever of it was copied', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  const { store } = bench.db
  const before = await own(t, bench)
  await send(
    bench,
    [1, 2, 3].map(span => ({ trace: 1, span, parent: 9, afterMs: span })),
  )
  await shows(t, bench, { [standInOf(1)]: 3 }, false)
  await before.stop()
  const [move, home] = [randomUUID(), conversationOf('home')]
  await store.command(
    `INSERT INTO corrections SELECT * EXCEPT (way) REPLACE (if(way = 1, '${home}', conversation_id) AS conversation_id,
       if(way = 1, 0, provisional) AS provisional, version + (way = 1) AS version, toInt8(way) AS sign, toUUID('${move}') AS move_id)
     FROM (SELECT *, arrayJoin([-1, 1]) AS way FROM events)`,
    { settings: { async_insert: 0 } },
  )
  await store.command(`INSERT INTO events SELECT * FROM corrections WHERE span_id = 2`, {
    settings: { async_insert: 0 },
  })
  const recorded = { version: 1, owner: 'before', at: 0, move: { id: move, pairs: 3 } }
  await bench.buckets.cursors.put(movesKeyOf(0), JSON.stringify(recorded))
  const next = await own(t, bench)
  await shows(t, bench, { [home]: 3 })
  const state = async () => (await bench.buckets.cursors.get(movesKeyOf(0)))?.json<{ move: unknown }>().move
  await eventually('nothing is recorded any more', async () => (await state()) === null)
  await next.stop()
})

/** Positions of which the links were asked for, each as often as it was. */
const positionsIn = (sql: string): string[] =>
  [...sql.matchAll(/origin_partition = (\d+) AND origin_sequence BETWEEN (\d+) AND (\d+)/g)].flatMap(
    ([, partition, from, to]) =>
      Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => `${partition}/${Number(from) + i}`),
  )

t.test('the owners of a process and its memory ask about a range with links once', async t => {
  const bench = await createBench(t, { aggregated: true, partitions: 2, pool })
  const asked: string[] = []
  const read: Store['read'] = (sql, options) => {
    if (sql.includes('FROM links WHERE origin_partition')) asked.push(...positionsIn(sql))
    return bench.db.store.read(sql, options)
  }
  const linked = createLinkAnswers({ ...bench.db.store, read }, log, { keptMs: 600_000 })
  const links = followLinks({ ...bench.shared, linked, log })
  t.teardown(() => links.close())
  const owners = [await own(t, bench, { linked, links }), await own(t, bench, { linked, links }, 1)]
  const homes: Record<string, number> = {}
  for (let trace = 1; trace <= 6; trace++) {
    await send(bench, [{ trace, span: 1, session: `session ${trace}` }], trace % 2)
    homes[conversationOf(`session ${trace}`)] = 1
  }
  await shows(t, bench, homes, false)
  // Whoever has brought these home has looked at all records before theirs.
  for (const partition of [0, 1]) {
    const { first, second, home } = scenario(10 + partition)
    await send(bench, first, partition)
    homes[standInOf(10 + partition)] = 2
    await shows(t, bench, homes, false)
    await send(bench, second, 1 - partition)
    delete homes[standInOf(10 + partition)]
    homes[home] = 3
    await shows(t, bench, homes, false)
  }
  t.equal(new Set(asked).size, 8, 'every message with a link')
  t.equal(asked.length, 8, 'once')
  for (const owner of owners) await owner.stop()
})

t.test('another organization with the same trace id is nobody to it', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  const { stop } = await own(t, bench)
  const other = randomUUID()
  standIns.add(conversationIdOf(other, traceHex(1)))
  await publish(bench, tracesOf([{ trace: 1, span: 2, parent: 1 }], other))
  await send(bench, [{ trace: 1, span: 3, parent: 1 }])
  const mine = "mine's: \\N, \\', ö\t\n{\0}"
  await send(bench, [{ trace: 1, span: 1, session: mine }])
  await shows(t, bench, { [conversationOf(mine)]: 2, [conversationIdOf(other, traceHex(1))]: 1 })
  const names = await bench.db.store.read('SELECT DISTINCT session_id FROM events FINAL WHERE provisional = 0')
  t.strictSame(names, [{ session_id: mine }], 'the session is called what its span calls it')
  await stop()
})
