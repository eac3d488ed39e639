// The promises, explored: no interleaving of crashes, takeovers, lost answers, delayed statements, several lanes, bulk lanes, and replays
// loses or doubles a payload; and the exploration is worth something, because it catches every owner that is wrong on purpose.
import t from 'tap'
import { scaled } from '#test/scale.ts'
import { brokenOwners, exploreMany, modes } from './explore.ts'

const WORLDS = scaled({ sample: 60, full: 2_000 })
/** Each ends with the first world that shows what is wrong. */
const WORLDS_OF_WRONG = 2_000

t.test('no interleaving loses or doubles a payload', t => {
  for (const [name, mode] of Object.entries(modes)) {
    const { wrong, steps, states, healed, splits, divisions, asides, replays, placed, anew } = exploreMany(mode, WORLDS)
    t.equal(wrong, undefined, `${name}: ${steps} steps, ${states} states, ${healed} blocks settled by a count`)
    const often = healed > WORLDS && Math.min(splits, divisions, asides, replays) > WORLDS / 8
    t.ok(often, `${splits} splits, ${divisions} divisions, ${asides} ranges set aside, ${replays} replays`)
    t.ok(placed > WORLDS, `${placed} rows written at home at once`)
    if (mode.builds) t.ok(anew > WORLDS / 10, `${anew} ranges stored anew`)
  }
  t.end()
})

t.test('owners that are wrong on purpose are caught', t => {
  for (const broken of brokenOwners) {
    const { wrong } = exploreMany(
      { log: 'before', torn: false, zombies: false, builds: false, broken },
      WORLDS_OF_WRONG,
    )
    // Rows that count less than nothing keep who takes back at it for ever.
    t.match(wrong, /counts|stuck/, `${broken}: ${wrong}`)
  }
  t.end()
})
