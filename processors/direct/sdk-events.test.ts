// Events read from their bytes give the blocks, identities and verdicts that they give as objects, to the byte. A number as the argument
// runs as many bodies instead of the few of every day; a second one is the seed.
import t from 'tap'
import { maskAlso } from '../parsers/secrets.ts'
import { bothWays, oddEvents, usualEvents } from './fixture-events.ts'

const BODIES = Number(process.argv[2] ?? 3_000)
const SEED = Number(process.argv[3] ?? 1)
const RANGE = 100

t.test('what senders usually write needs no object, and gives the same blocks', async t => {
  for (const event of usualEvents) {
    const bodies = [event, event].map(body => Buffer.from(JSON.stringify(body)))
    const { same, fallbacks, events } = bothWays(bodies)
    t.same({ same, fallbacks, events }, { same: true, fallbacks: {}, events: 2 }, JSON.stringify(event).slice(0, 200))
  }
})

t.test('odd bodies give the same blocks, verdicts and identities', async t => {
  const next = oddEvents(SEED)
  const fallbacks: Record<string, number> = {}
  let events = 0
  for (let done = 0; done < BODIES; done += RANGE) {
    const bodies = Array.from({ length: RANGE }, next)
    const range = bothWays(bodies)
    events += range.events
    for (const [why, count] of Object.entries(range.fallbacks)) fallbacks[why] = (fallbacks[why] ?? 0) + count
    if (range.same) continue
    // One body alone mostly shows it; else the range does.
    const guilty = bodies.find(body => !bothWays([body, body]).same)
    return t.fail('a difference', { body: (guilty ?? Buffer.concat(bodies)).toString('latin1').slice(0, 4000) })
  }
  const left = Object.values(fallbacks).reduce((sum, count) => sum + count, 0)
  t.ok(events > BODIES / 3, `${events} became rows`)
  t.ok(BODIES - left > BODIES / 4, `${BODIES - left} were read from their bytes; ${JSON.stringify(fallbacks)}`)
})

t.test("an operator's own names of secrets count from when they are said", async t => {
  const bodies = ['x', 'corp-key', 'corp_key', 'tö'].map(name =>
    Buffer.from(JSON.stringify({ ...usualEvents[0], metadata: { [name]: 'v', said: `{"${name}":"v"}` } })),
  )
  t.match(bothWays(bodies), { same: true, fallbacks: {} })
  maskAlso(['corp-key'])
  t.match(bothWays(bodies), { same: true, fallbacks: {} })
  // No three bytes can stand for this one.
  maskAlso(['tö'])
  t.match(bothWays(bodies), { same: true, fallbacks: {} })
})
