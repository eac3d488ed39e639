import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createKnownSessions } from '#ingest/known-sessions.ts'
import { createSessionLookup } from '#ingest/session-lookup.ts'
import { createSessions } from '#ingest/sessions.ts'
import { sessionKeyText } from '#store/session-lookup.ts'

const organization = randomBytes(16)
const never = new Promise<never>(() => {})

function setUp(options: {
  position?: number
  end?: () => Promise<number>
  exists?: () => Promise<boolean>
  maxWaiting?: number
}) {
  const failures: unknown[] = []
  const sessions = createSessions({
    known: createKnownSessions(1000),
    follower: { position: () => options.position ?? 5, end: options.end ?? (async () => 5) },
    lookup: { exists: options.exists ?? (async () => false) },
    partitions: 2,
    waitMs: 150,
    maxWaiting: options.maxWaiting ?? 10,
    onLookupFailed: error => failures.push(error),
  })
  return { sessions, failures }
}

t.test(
  'a session is unknown only when stream and store are proven to lack it, after the whole waiting time',
  async t => {
    const { sessions } = setUp({})
    const started = performance.now()
    t.equal(await sessions.find(organization, randomBytes(16)), 'unknown')
    t.ok(performance.now() - started >= 145)
    t.equal(sessions.waiting(), 0)
  },
)

t.test('a session that appears meanwhile lets its events through at once', async t => {
  const { sessions } = setUp({})
  const conversation = randomBytes(16)
  const found = [sessions.find(organization, conversation), sessions.find(organization, conversation)]
  const other = sessions.find(organization, randomBytes(16))
  t.equal(sessions.waiting(), 3)
  sessions.learn(organization, conversation)
  t.strictSame(await Promise.all(found), ['appeared', 'appeared'])
  t.ok(sessions.has(organization, conversation))
  t.equal(await other, 'unknown')
})

t.test('a session that the store knows is let through and remembered', async t => {
  const { sessions } = setUp({ exists: async () => true })
  const conversation = randomBytes(16)
  t.equal(await sessions.find(organization, conversation), 'appeared')
  t.ok(sessions.has(organization, conversation))
})

t.test('what cannot be told is let through', async t => {
  const f = async (what: string, options: Parameters<typeof setUp>[0]) =>
    t.equal(await setUp(options).sessions.find(organization, randomBytes(16)), 'undecided', what)
  await f('the stream is read too slowly', { position: 4 })
  await f('the stream cannot be asked', { end: async () => Promise.reject(new Error('away')) })
  await f('the stream does not answer', { end: () => never })
  await f('the store fails', { exists: async () => Promise.reject(new Error('away')) })
  await f('the store does not answer', { exists: () => never })
  await f('too many wait already', { maxWaiting: 0 })
})

t.test('a failing store is told, and closing decides all that wait', async t => {
  const { sessions, failures } = setUp({ exists: async () => Promise.reject(new Error('away')) })
  await sessions.find(organization, randomBytes(16))
  t.equal(failures.length, 1)
  const waiting = setUp({ exists: () => never }).sessions
  const finding = waiting.find(organization, randomBytes(16))
  waiting.close()
  t.equal(await finding, 'undecided')
})

t.test('questions to the store are batched: one query is open and the others wait for the next', async t => {
  const batches: number[] = []
  const answers: (() => void)[] = []
  const even = (conversation: string): boolean => Number.parseInt(conversation.slice(-1), 16) % 2 === 0
  const lookup = createSessionLookup(async keys => {
    batches.push(keys.length)
    await new Promise<void>(resolve => answers.push(resolve))
    return new Set(keys.filter(key => even(key.conversation)).map(sessionKeyText))
  })
  const ask = (last: number) => {
    const conversation = Buffer.alloc(16)
    conversation[15] = last
    return lookup.exists(organization, conversation)
  }
  const found = Array.from({ length: 5 }, (_, last) => ask(last))
  t.strictSame(batches, [1])
  answers.shift()?.()
  t.equal(await found[0], true)
  t.strictSame(batches, [1, 4])
  answers.shift()?.()
  t.strictSame(await Promise.all(found), [true, false, true, false, true])
})

t.test('what the store does not know is not asked again for a moment', async t => {
  let asked = 0
  let now = 0
  const lookup = createSessionLookup(
    async keys => {
      asked += keys.length
      return new Set()
    },
    () => now,
  )
  const conversation = randomBytes(16)
  for (let n = 0; n < 5; n++) t.equal(await lookup.exists(organization, conversation), false)
  t.equal(asked, 1)
  now = 5_001
  await lookup.exists(organization, conversation)
  t.equal(asked, 2)
  await lookup.exists(randomBytes(16), conversation)
  t.equal(asked, 3, 'of another organization')
})
