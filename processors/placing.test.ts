// Spans that come after the link of their trace, against real engines: they are at home from their first writing on, an owner that
// finds their range stores the same again, and what was not known in time is put right.
import t, { type Test } from 'tap'
import { conversationIdOf, NIL_UUID } from '#proto/ids.ts'
import { homesKeyOf } from '#proto/streams.ts'
import type { Store } from '#store/client.ts'
import { eventually } from '#test/rig.ts'
import type { Bench, TestSpan } from './fixture.ts'
import {
  ambiguousWritings,
  createBench,
  gatedStore,
  log,
  organization,
  own,
  publish,
  traceHex,
  tracesOf,
} from './fixture.ts'
import { followLinks, type LinkMemory } from './link-memory.ts'
import { keyOf } from './loose.ts'

const conversationOf = (session: string): string => conversationIdOf(organization, session)
const standInOf = (trace: number): string => conversationOf(traceHex(trace))
const send = (bench: Bench, spans: readonly TestSpan[]): Promise<number> => publish(bench, tracesOf(spans))

const bench = await createBench(t)
const { store } = bench.db

function followed(t: Test, traces?: number): LinkMemory {
  const links = followLinks({ ...bench.shared, log, ...(traces === undefined ? {} : { traces }) })
  t.teardown(() => links.close())
  return links
}

const knows = (links: LinkMemory, trace: number, session: string): Promise<unknown> =>
  eventually(`the link of trace ${trace}`, () => {
    return links.homeOf(keyOf(standInOf(trace)))?.conversation_id === conversationOf(session)
  })

/** Rows of a trace by conversation, of those that count. */
async function homesOf(trace: number): Promise<Record<string, number>> {
  const rows = await store.read<{ id: string; n: string }>(
    `SELECT conversation_id AS id, sum(sign) AS n FROM events WHERE trace_id = {trace:UUID}
     GROUP BY conversation_id HAVING n != 0 ORDER BY n, id SETTINGS optimize_use_projections = 0`,
    { parameters: { trace: traceHex(trace) } },
  )
  return Object.fromEntries(rows.map(({ id, n }) => [id, Number(n)]))
}

/** Resolves when the rows of a trace stand there, all of one event in one conversation. */
async function shows(t: Test, trace: number, homes: Record<string, number>): Promise<void> {
  const wanted = JSON.stringify(homes)
  await eventually(`${wanted}`, async () => JSON.stringify(await homesOf(trace)) === wanted, 40_000)
  const [odd] = await store.read<{ n: string }>(
    `SELECT count() AS n FROM (SELECT event_id, sum(sign) AS s FROM events GROUP BY event_id, conversation_id HAVING s NOT IN (0, 1))
     SETTINGS optimize_use_projections = 0`,
  )
  t.equal(odd?.n, '0', 'nothing counts twice')
  t.equal(await ambiguousWritings(store), 0, 'a writing says one thing')
}

/** Rows that were ever moved: those that count now tell by what they were last written. */
const movedOf = async (trace: number): Promise<number> =>
  Number(
    (
      await store.read<{ n: string }>(
        `SELECT uniqExact(event_id) AS n FROM events WHERE trace_id = {trace:UUID} AND move_id != toUUID('${NIL_UUID}')`,
        { parameters: { trace: traceHex(trace) } },
      )
    )[0]?.n,
  )

t.test('a late span is at home at once, and goes along when a better link comes', async t => {
  const links = followed(t)
  const { stop } = await own(t, bench, { links })
  await send(bench, [{ trace: 1, span: 2, parent: 1, afterMs: 1, session: 'of a child' }])
  await knows(links, 1, 'of a child')
  await send(bench, [
    { trace: 1, span: 3, parent: 2, afterMs: 2 },
    { trace: 1, span: 4, parent: 2, afterMs: 3 },
  ])
  await shows(t, 1, { [conversationOf('of a child')]: 3 })
  t.equal(await movedOf(1), 0, 'nothing was moved')
  const [row] = await store.read<object>(
    'SELECT provisional, session_id, bitAnd(version, 4294967295) AS moves FROM events WHERE span_id = 3 AND trace_id = {trace:UUID}',
    { parameters: { trace: traceHex(1) } },
  )
  t.match(row, { provisional: 0, session_id: 'of a child', moves: '1' })
  // What a span says of its user hangs on its stand-in: it is moved together with that.
  await send(bench, [{ trace: 1, span: 5, parent: 2, afterMs: 4, user: 'ada' }])
  await shows(t, 1, { [conversationOf('of a child')]: 4 })
  await send(bench, [{ trace: 1, span: 1, session: 'of the root' }])
  await shows(t, 1, { [conversationOf('of a child')]: 1, [conversationOf('of the root')]: 4 })
  await eventually('the user went along', async () => {
    const users = await store.read<{ id: string }>(
      "SELECT DISTINCT conversation_id AS id FROM sessions WHERE user_id = 'ada' AND conversation_id != {standIn:UUID}",
      { parameters: { standIn: standInOf(1) } },
    )
    return users.length === 1 && users[0]?.id === conversationOf('of the root')
  })
  await stop()
})

t.test('spans that come with the link of their trace are at home at once', async t => {
  const links = followed(t)
  const { stop } = await own(t, bench, { links })
  const [child, root] = [conversationOf('a child of 6'), conversationOf('the root of 6')]
  await send(bench, [
    { trace: 6, span: 2, parent: 1, afterMs: 1 },
    { trace: 6, span: 3, parent: 1, afterMs: 2, session: 'a child of 6' },
    { trace: 6, span: 4, parent: 1, afterMs: 3 },
    { trace: 7, span: 2, parent: 1, afterMs: 4 },
    { trace: 6, span: 1, session: 'the root of 6' },
    { trace: 6, span: 5, parent: 1, afterMs: 5, user: 'ada' },
  ])
  await shows(t, 6, { [child]: 1, [root]: 4 })
  t.equal(await movedOf(6), 1, 'only the span with a capture was moved')
  await shows(t, 7, { [standInOf(7)]: 1 })
  // What is known from before says more than the range does.
  await knows(links, 6, 'the root of 6')
  await send(bench, [
    { trace: 6, span: 6, parent: 1, afterMs: 6, session: 'a child of 6' },
    { trace: 6, span: 7, parent: 1, afterMs: 7 },
  ])
  await shows(t, 6, { [child]: 2, [root]: 5 })
  t.equal(await movedOf(6), 1, 'nothing was moved')
  await stop()
})

for (const [trace, kept] of [
  [2, true],
  [3, false],
] as const) {
  t.test(`an owner that finds such a range, ${kept ? 'with' : 'without'} what was decided about it`, async t => {
    const links = followed(t)
    const first = await own(t, bench, { links })
    await send(bench, [{ trace, span: 1, session: `session ${trace}` }])
    await knows(links, trace, `session ${trace}`)
    await first.stop()
    const { promise: there, resolve: reached } = Promise.withResolvers<void>()
    const silent: Store = gatedStore(store, () => {
      reached()
      return new Promise(() => {})
    })
    const dying = await own(t, bench, { links, store: silent })
    await send(bench, [{ trace, span: 2, parent: 1, afterMs: 1 }])
    await there
    await Promise.race([dying.crash(), new Promise(resolve => setTimeout(resolve, 500))])
    await dying.lease.release()
    const { cursors } = bench.buckets
    const slots = (await Promise.all([0, 1, 2, 3].map(slot => cursors.get(homesKeyOf(0, slot))))).filter(
      entry => (entry?.string() ?? '') !== '',
    )
    t.equal(slots.length, 1, 'what was decided is written down')
    if (!kept) await cursors.delete(slots[0]?.key as string)
    // This owner knows of no links.
    const next = await own(t, bench)
    await shows(t, trace, { [conversationOf(`session ${trace}`)]: 2 })
    const moved = await movedOf(trace)
    t.equal(moved, kept ? 0 : 1, kept ? 'it was stored as it was decided' : 'it was stored anew, and moved')
    await next.stop()
  })
}

t.test('links that became known while a range was stored are looked at again', async t => {
  for (const [trace, remembered] of [
    [4, true],
    [5, false],
  ] as const) {
    const links = followed(t)
    const { stop } = await own(t, bench, { links })
    const [child, root] = [`child ${trace}`, `root ${trace}`]
    await send(bench, [{ trace, span: 2, parent: 1, afterMs: 1, session: child }])
    await knows(links, trace, child)
    const { revision } = links
    const stale = { conversation_id: conversationOf(child), session_id: child }
    await send(bench, [{ trace, span: 1, session: root }])
    await knows(links, trace, root)
    await stop()
    // As if it had been read before the root's link was known.
    const late: LinkMemory = {
      revision,
      homeOf: () => stale,
      between: (after, before) => (remembered ? links.between(after, before) : undefined),
      close: () => {},
    }
    const next = await own(t, bench, { links: late })
    await send(bench, [{ trace, span: 3, parent: 2, afterMs: 2 }])
    await shows(t, trace, { [conversationOf(child)]: 1, [conversationOf(root)]: 2 })
    await next.stop()
  }
})
