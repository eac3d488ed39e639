import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createKnownSessions } from '#ingest/known-sessions.ts'

t.test('what was added is known, under its own organization only', async t => {
  const known = createKnownSessions(100_000)
  const [one, other] = [randomBytes(16), randomBytes(16)]
  const sessions = Array.from({ length: 20_000 }, () => randomBytes(16))
  for (const session of sessions) known.add(one, session)
  t.equal(known.size(), sessions.length)
  t.equal(sessions.filter(session => known.has(one, session)).length, sessions.length)
  t.equal(sessions.filter(session => known.has(other, session)).length, 0)
  t.equal(sessions.filter(() => known.has(one, randomBytes(16))).length, 0)
  for (const session of sessions) known.add(one, session)
  t.equal(known.size(), sessions.length, 'adding again adds nothing')
})

t.test('the oldest are forgotten, the ones in use stay, and the size is bounded', async t => {
  const known = createKnownSessions(2_000)
  const organization = randomBytes(16)
  const inUse = randomBytes(16)
  const first = randomBytes(16)
  known.add(organization, inUse)
  known.add(organization, first)
  let largest = 0
  for (let i = 0; i < 50_000; i++) {
    known.add(organization, randomBytes(16))
    if (i % 500 === 0) t.ok(known.has(organization, inUse))
    largest = Math.max(largest, known.size())
  }
  t.notOk(known.has(organization, first))
  t.ok(largest <= 2_000, `${largest} at most`)
})

t.test('a conversation takes at most 24 bytes, at every size, and an empty set is small', async t => {
  const known = createKnownSessions(300_000)
  t.ok(known.bytes() <= 64 * 1024)
  const organization = randomBytes(16)
  let worst = 0
  const ids = randomBytes(16 * 400_000)
  for (let i = 0; i < 400_000; i++) {
    known.add(organization, ids.subarray(i * 16, i * 16 + 16))
    // Below, the first tables of both generations count for more than what is in them.
    if (i > 20_000 && i % 100 === 0) worst = Math.max(worst, known.bytes() / known.size())
  }
  t.ok(worst <= 24, `${worst} bytes`)
})
