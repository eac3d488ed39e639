// SDK bodies read from their bytes give the blocks, identities and verdicts that they give as objects, to the byte. A number as the argument
// runs as many bodies instead of the few of every day; a second one is the seed.
import t from 'tap'
import { maskAlso } from '../parsers/secrets.ts'
import { type Body, bothWays, oddBodies, usualEvents, usualSessions } from './fixture-bodies.ts'

const BODIES = Number(process.argv[2] ?? 3_000)
const SEED = Number(process.argv[3] ?? 1)
const RANGE = 100

const written = (kind: Body['kind'], body: object): Body => ({ kind, bytes: Buffer.from(JSON.stringify(body)) })

t.test('what senders usually write needs no object, and gives the same blocks', async t => {
  const usual = [
    ...usualEvents.map(body => written('event', body)),
    ...usualSessions.map(body => written('session', body)),
  ]
  for (const body of usual) {
    const text = Buffer.from(body.bytes).toString().slice(0, 200)
    t.same(bothWays([body, body]), { same: true, fallbacks: {}, units: 2 }, text)
  }
})

t.test('odd bodies give the same blocks, verdicts and identities', async t => {
  const next = oddBodies(SEED)
  const fallbacks: Record<string, number> = {}
  let units = 0
  for (let done = 0; done < BODIES; done += RANGE) {
    const bodies = Array.from({ length: RANGE }, next)
    const range = bothWays(bodies)
    units += range.units
    for (const [why, count] of Object.entries(range.fallbacks)) fallbacks[why] = (fallbacks[why] ?? 0) + count
    if (range.same) continue
    // One body alone mostly shows it; else the range does.
    const guilty = bodies.find(body => !bothWays([body, body]).same)
    const body = Buffer.concat(guilty ? [guilty.bytes] : bodies.map(({ bytes }) => bytes))
    return t.fail('a difference', { kind: guilty?.kind, body: body.toString('latin1').slice(0, 4000) })
  }
  const left = Object.values(fallbacks).reduce((sum, count) => sum + count, 0)
  t.ok(units > BODIES / 3, `${units} became rows`)
  t.ok(BODIES - left > BODIES / 4, `${BODIES - left} were read from their bytes; ${JSON.stringify(fallbacks)}`)
})

t.test("an operator's own names of secrets count from when they are said", async t => {
  const bodies = ['x', 'corp-key', 'corp_key', 'tö', 'email'].flatMap(name => {
    const map = { [name]: 'v', said: `{"${name}":"v"}` }
    return [
      written('event', { ...usualEvents[0], metadata: map }),
      written('session', { ...usualSessions[0], user_data: map }),
    ]
  })
  t.match(bothWays(bodies), { same: true, fallbacks: {} })
  maskAlso(['corp-key'])
  t.match(bothWays(bodies), { same: true, fallbacks: {} })
  // No three bytes can stand for the first one; the second is asked for.
  maskAlso(['tö', 'email'])
  t.match(bothWays(bodies), { same: true, fallbacks: { key: 1 } })
})
