// The state of a conversation as it is put together here and as the store puts it together: the same, whatever its captures say.
import t from 'tap'
import type { SessionRow } from '#proto/rows.ts'
import { createRandom } from '#proto/scan/fuzz/random.ts'
import { walledDatabase } from '#test/rig.ts'
import { heard, id, insertSessions, readersOver, storedSession } from '../fixture.ts'
import { readSession, readStates } from './captures.ts'
import { readSessions } from './sessions.ts'

const organization = id(1)
const CONVERSATIONS = 40
const db = await walledDatabase(t)
const all = readersOver(db.reader)(organization, new AbortController().signal)
let asked: string[] = []
const reader = heard(all, question => asked.push(question))
const random = createRandom(31)
const VALUES = ['', '', 'a', 'B', 'ü', '\u{1f600}', '0']
const KEYS = ['plan', 'ü', '\u{10000}', '\u{ffff}', '7', '10', 'a b', '__proto__', '']

function captured(conversation: number): SessionRow {
  const map = (): Record<string, string> =>
    Object.fromEntries(Array.from({ length: random.below(4) }, () => [random.pick(KEYS), random.pick(VALUES)]))
  const second = (): string => `2026-06-15T10:00:0${random.below(4)}.000Z`
  return {
    ...storedSession({ organization, conversation_id: id(conversation), at: second() }),
    ...{ session_id: random.pick(VALUES), user_id: random.pick(VALUES), user_email: random.pick(VALUES) },
    ...{ connection_type: random.pick(VALUES), recording_url: random.pick(VALUES) },
    ...{ user_data: map(), metadata: map(), started_at: second().replace('T', ' ').replace('Z', '') },
  }
}

t.before(async () => {
  const captures = Array.from({ length: CONVERSATIONS * 6 }, () => captured(random.below(CONVERSATIONS)))
  await insertSessions(db.store, captures)
  await insertSessions(db.store, [{ ...captured(CONVERSATIONS), report: 'a report' }])
  await insertSessions(db.store, [{ ...captured(1), organization: id(2) }])
})

t.test('later captures win field by field and key by key', async t => {
  const ids = Array.from({ length: CONVERSATIONS }, (_, n) => id(n))
  const expected = await readSessions(reader, ids)
  t.ok(expected.size > CONVERSATIONS / 2)
  asked = []
  for (const conversation of ids) {
    // As text, so that the order of keys counts, too.
    const found = await readSession(reader, conversation)
    t.equal(JSON.stringify(found), JSON.stringify(expected.get(conversation)), conversation)
  }
  t.strictSame(new Set(asked), new Set(['captures']))
  t.equal(await readSession(reader, id(999)), undefined, 'nothing was captured')
})

t.test('reports, which may be replaced, and very many captures are left to the store', async t => {
  asked = []
  t.equal((await readSession(reader, id(CONVERSATIONS)))?.conversation_id, id(CONVERSATIONS))
  t.strictSame(asked, ['captures', 'sessions'])
  asked = []
  const [whole, cut] = [await readSession(reader, id(3)), await readSession(reader, id(3), 1)]
  t.strictSame(cut, whole)
  t.strictSame(asked, ['captures', 'captures', 'sessions'])
})

t.test('a page has the states that the store puts together, of one statement', async t => {
  // The one with a report, one of which nothing was captured, and one of another organization besides.
  const ids = [...Array.from({ length: CONVERSATIONS + 1 }, (_, n) => id(n)), id(999)]
  const said = (states: ReadonlyMap<string, unknown>): string => JSON.stringify(ids.map(one => states.get(one)))
  const f = async (): Promise<string> => {
    const expected = said(await readSessions(reader, ids))
    asked = []
    t.equal(said(await readStates(reader, ids)), expected)
    t.equal(said(await readStates(reader, ids, { from: '2026-06-15' })), expected, 'since the first of them arrived')
    t.strictSame(asked, ['captures', 'captures'])
    t.equal(said(await readStates(reader, ids, { capturesMax: 10 })), expected)
    t.strictSame(asked.slice(2), ['captures', 'sessions'], 'many are left to the store')
    return expected
  }
  const before = await f()
  await db.store.command(
    `INSERT INTO replaced_reports SELECT organization, conversation_id, origin_partition, origin_sequence, origin_frame
     FROM sessions WHERE report != ''`,
  )
  t.not(await f(), before, 'what a replaced report said is gone')
  t.equal((await readStates(reader, ids, { from: '2026-06-16' })).size, 0, 'none arrived since')
})
