import { randomBytes } from 'node:crypto'
import t from 'tap'
import { organization, setUp } from '#ingest/publish-fixture.ts'
import { partitionOf } from '#proto/ids.ts'
import { SESSION_ENTRY_CHARS, SESSIONS_HEADER_MAX_BYTES } from '#proto/streams.ts'
import { eventually } from '#test/rig.ts'

type Tap = Pick<typeof t, 'ok'>

t.test(
  'the first payload leaves at once, those that come meanwhile leave together when it is acknowledged',
  async t => {
    const { offer, sent, store, outcomes, budget, publisher } = setUp(t)
    for (const text of ['a', 'b', 'c']) t.equal(offer(text), null)
    t.strictSame(
      sent.map(message => message.payloads),
      [['a']],
    )
    t.equal(outcomes.size, 0, 'nothing is answered before the acknowledgement')
    store(sent[0])
    t.strictSame(outcomes.get('a'), { stored: true, receiptHead: '0-7-', frame: 0 })
    t.notOk(outcomes.has('b'))
    t.strictSame(
      sent.map(message => message.payloads),
      [['a'], ['b', 'c']],
    )
    store(sent[1])
    t.strictSame(outcomes.get('c'), { stored: true, receiptHead: '0-7-', frame: 1 })
    t.equal(publisher.inFlight(), 0)
    t.equal(budget.used(), 0)
    t.not(sent[0]?.messageId, sent[1]?.messageId)
  },
)

t.test('what one turn of the event loop reads leaves together, one envelope a partition', async t => {
  const tasks: (() => void)[] = []
  const endTurn = (): void => {
    for (const task of tasks.splice(0)) task()
  }
  const { offer, sent, store, outcomes } = setUp(t, { partitions: 2, afterTurn: task => tasks.push(task) })
  const one = partitionIdentity(0)
  const other = partitionIdentity(1)
  for (const text of ['a', 'b']) offer(text, null, one)
  offer('c', null, other)
  t.equal(sent.length, 0, 'more may come in this turn')
  t.equal(tasks.length, 1, 'both partitions leave together')
  endTurn()
  t.equal(sent.length, 0, 'several wait: one turn more')
  endTurn()
  t.strictSame(
    sent.map(message => message.payloads),
    [['a', 'b'], ['c']],
  )
  offer('d', null, one)
  t.equal(tasks.length, 0, 'the next one waits for the acknowledgement')
  store(sent[0])
  t.ok(outcomes.has('a'), 'answered before the next one leaves')
  offer('e', null, one)
  endTurn()
  t.equal(sent.length, 2)
  endTurn()
  t.strictSame(sent[2]?.payloads, ['d', 'e'])
})

t.test('what a lone sender sends leaves at the end of its turn', async t => {
  const tasks: (() => void)[] = []
  const { offer, sent } = setUp(t, { afterTurn: task => tasks.push(task) })
  offer('a')
  for (const task of tasks.splice(0)) task()
  t.strictSame(sent[0]?.payloads, ['a'])
  t.equal(tasks.length, 0)
})

/** An identity that belongs to this one of two partitions. */
function partitionIdentity(partition: number): Uint8Array {
  for (;;) {
    const identity = randomBytes(16)
    if (partitionOf(organization.bytes, identity, 2) === partition) return identity
  }
}

t.test('a full envelope leaves although another is in flight', async t => {
  const { offer, sent } = setUp(t, { envelopeBytes: 1000 })
  offer('first')
  for (const letter of ['a', 'b', 'c', 'd']) offer(letter.repeat(300))
  t.strictSame(
    sent.map(message => message.payloads.map(text => text[0])),
    [['f'], ['a', 'b']],
  )
})

t.test('a payload larger than an envelope travels alone', async t => {
  const { offer, sent, store } = setUp(t, { envelopeBytes: 1000 })
  offer('first')
  offer('small')
  offer('L'.repeat(5000))
  store(sent[0])
  t.strictSame(
    sent.map(message => message.payloads.map(text => text[0])),
    [['f'], ['s'], ['L']],
  )
})

t.test('partitions do not wait for each other', async t => {
  const { offer, sent } = setUp(t, { partitions: 8 })
  for (let i = 0; i < 64; i++) offer(`p${i}`, null, randomBytes(16))
  t.ok(new Set(sent.map(message => message.subject)).size > 1)
  t.equal(sent.length, new Set(sent.map(message => message.subject)).size, 'one in flight each')
})

t.test('sessions are listed in the header, and a full header closes the envelope', async t => {
  const { offer, sent, store } = setUp(t)
  const conversation = randomBytes(16)
  offer('first', conversation)
  t.equal(sent[0]?.sessions, Buffer.concat([organization.bytes, conversation]).toString('base64url'))
  t.equal(sent[0]?.sessions.length, SESSION_ENTRY_CHARS)
  const most = Math.floor(SESSIONS_HEADER_MAX_BYTES / SESSION_ENTRY_CHARS)
  for (let i = 0; i <= most; i++) offer('x', randomBytes(16))
  t.equal(sent.length, 2, 'the header is full')
  t.equal(sent[1]?.sessions.length, most * SESSION_ENTRY_CHARS)
  store(sent[0])
  store(sent[1])
  t.equal(sent[2]?.payloads.length, 1)
})

const until = async (t: Tap, what: () => boolean): Promise<void> => {
  await eventually('the next step', what)
  t.ok(what())
}

t.test('an envelope without an answer is sent again under the same id, for a minute at most', async t => {
  const { offer, offerRetrying, sent, clock, outcomes, budget, counts } = setUp(t)
  offer('held')
  offerRetrying('a')
  clock.ms = 1_900
  await new Promise(resolve => setTimeout(resolve, 250))
  t.equal(sent.length, 2)
  clock.ms = 2_100
  await until(t, () => sent.length === 4)
  t.strictSame([sent[2]?.messageId, sent[3]?.messageId], [sent[0]?.messageId, sent[1]?.messageId])
  t.equal(counts.resent, 2)
  clock.ms = 8_001
  await until(t, () => outcomes.has('held'))
  t.match(outcomes.get('held'), { stored: false, code: 'ING_UNAVAILABLE' })
  t.notOk(outcomes.has('a'))
  clock.ms = 60_001
  await until(t, () => outcomes.has('a'))
  t.match(outcomes.get('a'), { stored: false, code: 'ING_UNAVAILABLE' })
  t.equal(budget.used(), 0)
})

const FULL = [503, 10077] as const

t.test('a full stream: senders that try again are told at once, nothing of theirs is sent again', async t => {
  const { offerRetrying, sent, refuse, store, outcomes, clock, budget } = setUp(t)
  offerRetrying('a')
  offerRetrying('b')
  refuse(sent[0], ...FULL)
  t.match([outcomes.get('a'), outcomes.get('b')], [{ code: 'ING_FULL' }, { code: 'ING_FULL' }])
  t.equal(budget.used(), 0)
  t.equal(offerRetrying('c'), 'ING_FULL', 'without asking again for a moment')
  clock.ms += 300
  t.equal(offerRetrying('d'), null)
  t.strictSame(sent.at(-1)?.payloads, ['d'])
  store(sent.at(-1))
  t.match(outcomes.get('d'), { stored: true })
  t.equal(offerRetrying('e'), null)
  t.equal(sent.length, 3)
})

t.test('a full stream: the others are held, tried again under the same id, and stored in order', async t => {
  const { offer, sent, refuse, store, outcomes, clock, counts, publisher } = setUp(t)
  offer('a')
  offer('b')
  refuse(sent[0], ...FULL)
  t.equal(outcomes.size, 0)
  t.equal(publisher.held(), 2)
  for (let n = 1; n < 4; n++) {
    clock.ms += 300
    await until(t, () => sent.length === n + 1)
    t.strictSame([sent[n]?.messageId, sent[n]?.payloads], [sent[0]?.messageId, ['a']])
    offer(`later ${n}`)
    if (n < 3) refuse(sent[n], ...FULL)
  }
  store(sent[3])
  t.match(outcomes.get('a'), { stored: true })
  for (let n = 4; n < sent.length; n++) store(sent[n])
  t.equal(outcomes.size, 5)
  t.strictSame(
    sent.slice(4).flatMap(message => message.payloads),
    ['b', 'later 1', 'later 2', 'later 3'],
  )
  t.equal(counts.failed, 0)
  t.equal(publisher.held(), 0)
})

t.test('a full stream: after the hold they are told that nothing is stored, and nothing is sent any more', async t => {
  const { offer, sent, refuse, outcomes, clock, budget, publisher } = setUp(t)
  offer('a')
  refuse(sent[0], ...FULL)
  offer('b')
  clock.ms = 300
  await until(t, () => sent.length === 2)
  refuse(sent[1], ...FULL)
  // Further attempts stay without an answer: what is in the stream is not known.
  clock.ms = 600
  await until(t, () => sent.length === 3)
  clock.ms = 8_900
  await until(t, () => outcomes.size === 2)
  t.match(outcomes.get('a'), { stored: false, code: 'ING_UNAVAILABLE' })
  t.match(outcomes.get('b'), { stored: false, code: 'ING_FULL' })
  t.equal(budget.used(), 0)
  t.equal(publisher.pending(), 0)
  t.equal(sent.length, 3)
})

t.test('what is held is bounded in bytes and in count, and other partitions are not', async t => {
  const { offer, sent, refuse } = setUp(t, { partitions: 2, maxHeldBytes: 1_000, maxPending: 20 })
  offer('a')
  refuse(sent[0], ...FULL)
  t.equal(offer('b'.repeat(900)), null)
  t.equal(offer('c'.repeat(200)), 'ING_FULL')
  const subjects = new Set([sent[0]?.subject])
  for (let i = 0; i < 16; i++) {
    offer(`${i}`.repeat(100), null, randomBytes(16))
    subjects.add(sent.at(-1)?.subject)
  }
  t.equal(subjects.size, 2)
  for (let i = 0; i < 80; i++) offer('x', null, randomBytes(16))
  t.equal(offer('x', null, randomBytes(16)), 'ING_FULL')
})

t.test('a lost connection: senders that try again are told at once, the others when it is back', async t => {
  const { offer, offerRetrying, sent, goDown, comeUp, store, outcomes } = setUp(t)
  offerRetrying('a')
  offerRetrying('b')
  offer('held')
  goDown()
  t.match([outcomes.get('a'), outcomes.get('b')], [{ code: 'ING_UNAVAILABLE' }, { code: 'ING_UNAVAILABLE' }])
  t.equal(offerRetrying('c'), 'ING_UNAVAILABLE')
  comeUp()
  t.equal(offerRetrying('d'), null)
  t.strictSame(
    sent.slice(2).map(message => message.payloads),
    [['held'], ['d']],
  )
  for (const message of sent) store(message)
  t.match([outcomes.get('held'), outcomes.get('d')], [{ stored: true }, { stored: true }])
  t.match(outcomes.get('a'), { stored: false }, 'a late answer changes nothing')
})

t.test('an answer to a first attempt decides nothing while a second is under way', async t => {
  const { offerRetrying, sent, refuse, store, outcomes, clock } = setUp(t)
  offerRetrying('a')
  clock.ms = 2_100
  await until(t, () => sent.length === 2)
  refuse(sent[0], ...FULL)
  t.notOk(outcomes.has('a'))
  store(sent[1])
  t.match(outcomes.get('a'), { stored: true })
})

t.test('after a lost connection everything under way is sent again, and a repeat counts as stored', async t => {
  const { offer, sent, goDown, comeUp, store, outcomes } = setUp(t)
  offer('a')
  goDown()
  offer('b')
  t.equal(sent.length, 1, 'nothing is sent while the connection is down')
  comeUp()
  t.equal(sent.length, 2)
  t.equal(sent[1]?.messageId, sent[0]?.messageId)
  store(sent[1], true)
  t.match(outcomes.get('a'), { stored: true })
  t.strictSame(sent[2]?.payloads, ['b'])
})

t.test('an envelope that was opened while the connection was down leaves when it is back', async t => {
  const { offer, sent, goDown, comeUp, store, outcomes } = setUp(t)
  goDown()
  offer('a')
  offer('b')
  t.equal(sent.length, 0)
  comeUp()
  store(sent[0])
  store(sent[1])
  t.match([outcomes.get('a'), outcomes.get('b')], [{ stored: true }, { stored: true }])
})

t.test('refusals are told by what they mean', async t => {
  const { offer, offerRetrying, sent, refuse, store, outcomes, clock, budget } = setUp(t)
  offer('refused')
  refuse(sent[0], 400, 10060)
  t.match(outcomes.get('refused'), { stored: false, code: 'ING_UNAVAILABLE' })
  offerRetrying('nobody listens')
  refuse(sent[1], 503, 0)
  t.match(outcomes.get('nobody listens'), { stored: false, code: 'ING_UNAVAILABLE' })
  offer('later')
  refuse(sent[2], 503, 0)
  t.notOk(outcomes.has('later'), 'nobody listens yet: tried again')
  clock.ms += 300
  await until(t, () => sent.length === 4)
  t.equal(sent[3]?.messageId, sent[2]?.messageId)
  store(sent[3])
  store(sent[3])
  t.match(outcomes.get('later'), { stored: true })
  t.equal(budget.used(), 0)
})

t.test('what does not fit the budget is refused at once', async t => {
  const { offer, sent, store } = setUp(t, { budgetBytes: 300 })
  t.equal(offer('x'.repeat(150)), null)
  t.equal(offer('y'.repeat(150)), 'ING_FULL')
  store(sent[0])
  t.equal(offer('y'.repeat(150)), null)
})

t.test('a payload fits when the message, with room for its headers, does', async t => {
  const { publisher, state } = setUp(t)
  t.ok(publisher.fits(900_000))
  t.notOk(publisher.fits(1024 * 1024))
  state.maxPayloadBytes = 8 * 1024 * 1024
  t.ok(publisher.fits(8_000_000))
})

t.test('closing waits for what is under way and tells the rest', async t => {
  const { offer, sent, store, publisher, outcomes } = setUp(t)
  offer('a')
  offer('b')
  const closed = publisher.close(5_000)
  t.equal(sent.length, 2, 'what was open leaves at once')
  store(sent[0])
  store(sent[1])
  await closed
  t.match([outcomes.get('a'), outcomes.get('b')], [{ stored: true }, { stored: true }])

  const other = setUp(t)
  other.offer('never')
  await other.publisher.close(10)
  t.match(other.outcomes.get('never'), { stored: false, code: 'ING_UNAVAILABLE' })
})
