// Explores interleavings: many worlds, each with a seed of its own, each checked all the while against the promises. Run by itself
// it explores more: node processors/exploration/explore.ts [worlds of each mode]
import { pathToFileURL } from 'node:url'
import { inScope, storedRanges } from '../lanes.ts'
import { type Chore, OwnerModel } from './owner-model.ts'
import { Gone } from './statements.ts'
import type { Broken, Mode } from './world.ts'
import { TABLES, World } from './world.ts'

/** Ways for a world to misbehave, by name. */
export const modes: Readonly<Record<string, Mode>> = {
  'tokens before rows, stopped owners wake up': { log: 'before', torn: false, zombies: true, builds: false },
  'tokens after rows': { log: 'after', torn: false, zombies: false, builds: false },
  'torn inserts': { log: 'before', torn: true, zombies: false, builds: false },
  'builds that read differently': { log: 'before', torn: false, zombies: false, builds: true },
}

/** Every owner that is wrong on purpose. */
export const brokenOwners: readonly Broken[] = [
  'no proof by count',
  'floor before insert',
  'intent after insert',
  'no repeats from the other lane',
  'open intents not remembered by the next owner',
  'nothing taken back before a replay',
  'rows of other organizations counted',
  'lanes not told apart by tokens',
  'moves of what is under way',
  'moves that arrive late',
  'moves repeated unseen',
  'moved rows not remembered',
  'links that a placed range missed not looked at',
  'answers from before their record',
]

const CHORES: readonly Chore[] = ['split', 'divide', 'join', 'replay', 'move', 'move']

/** What an exploration saw. */
export interface Explored {
  /** The first promise that was broken, with the seed that shows it. */
  readonly wrong: string | undefined
  readonly steps: number
  /** Different states of cursor, store and statements under way. */
  readonly states: number
  readonly healed: number
  readonly splits: number
  readonly divisions: number
  readonly asides: number
  readonly replays: number
  readonly moves: number
  /** Rows that were written at home at once. */
  readonly placed: number
  readonly anew: number
}

/** Steps in which things go wrong; then calm, so that the last owner comes to an end. */
const TROUBLED = 500
const STEPS_MAX = 20_000

/** Explores `worlds` worlds of a mode and stops at the first that is wrong. */
export function exploreMany(mode: Mode, worlds: number): Explored {
  const states = new Set<string>()
  const sum = { steps: 0, healed: 0, splits: 0, divisions: 0, asides: 0, replays: 0, moves: 0, placed: 0, anew: 0 }
  for (let seed = 1; seed <= worlds; seed++) {
    const world = new World(seed, mode)
    const wrong = explore(world, states)
    for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += world[key]
    if (wrong) return { wrong: `seed ${seed}: ${wrong}`, states: states.size, ...sum }
  }
  return { wrong: undefined, states: states.size, ...sum }
}

/** Runs one world to its end and says what is wrong with it, if anything. */
function explore(world: World, states: Set<string>): string | undefined {
  let owners = [new OwnerModel(world)]
  for (world.steps = 0; world.steps < STEPS_MAX; world.steps++) {
    const trouble = world.steps > TROUBLED ? 1 : world.random()
    // Calm at last, the lease of an owner that died early has run out, and somebody takes it.
    const orphaned = world.steps > TROUBLED && !owners.some(({ lease }) => lease === world.lease)
    if (owners.length === 0 || orphaned || (trouble < 0.06 && trouble > 0.045 && owners.length < 2)) {
      owners.push(new OwnerModel(world))
    } else if (trouble < 0.015) world.crash()
    else if (trouble < 0.03) owners.splice(Math.floor(world.random() * owners.length), 1)
    else if (trouble < 0.045) world.merge()
    else if (trouble > 0.06 && trouble < 0.1) world.reveal()
    else if (world.running.length > 0 && world.chance(0.5)) world.advance()
    else {
      const owner = owners[Math.floor(world.random() * owners.length)] as OwnerModel
      const outcome = step(owner, trouble)
      if (typeof outcome === 'string') return outcome
      if (outcome === false) owners = owners.filter(other => other !== owner)
      else if (owner.threads.length === 0 && owner.lease === world.lease && world.running.length === 0) {
        if (world.looked === world.finished.length) break
        owner.chore('move')
      }
    }
    if (world.steps % 5 !== 0) continue
    states.add(world.fingerprint())
    const wrong = wrongNow(world)
    if (wrong) return wrong
  }
  while (world.running.length > 0) world.advance()
  const { floor, lanes } = world.cursor.value
  const open = lanes.filter(lane => lane.kind !== 'bulk' || lane.end !== null)
  if (floor !== world.ids.length || open.length !== 1) return `stuck at ${floor} with ${lanes.length} lanes`
  return wrongNow(world) ?? awayFromHome(world)
}

/** A row that counts elsewhere than where all links say, when everything has been looked at. */
function awayFromHome(world: World): string | undefined {
  const standing = new Map<string, number>()
  for (const { table, id, home, sign } of world.rows) {
    if (table === 'events') standing.set(`${id} ${home}`, (standing.get(`${id} ${home}`) ?? 0) + sign)
  }
  for (const [where, sum] of standing) {
    const [id, home] = where.split(' ') as [string, string]
    const to = world.homes.get(id) ?? ''
    if (sum > 0 && to !== home) return `${id} counts in conversation '${home}' and its home is '${to}'`
  }
  return undefined
}

/** One step of one of an owner's coroutines. False: it is gone; a string: it broke. */
function step(owner: OwnerModel, trouble: number): boolean | string {
  if (owner.settled && trouble < 0.35) owner.chore(CHORES[Math.floor(owner.world.random() * CHORES.length)] as Chore)
  const thread = owner.threads[Math.floor(owner.world.random() * owner.threads.length)]
  if (!thread) return true
  try {
    if (thread.next().done) owner.threads = owner.threads.filter(other => other !== thread)
    return true
  } catch (error) {
    return error instanceof Gone ? false : String(error)
  }
}

/** Every payload whose positions are all finished is there, once, in every table. */
function wrongNow(world: World): string | undefined {
  const { value } = world.cursor
  const finished = new Set<number>()
  for (const { after, through, ...scope } of storedRanges(value)) {
    for (let sequence = after + 1; sequence <= through; sequence++) {
      if (inScope(scope, world.organizationAt(sequence))) finished.add(sequence)
    }
  }
  // What a replay is storing anew may be away for the moment.
  for (const { from, to, done, lane } of value.intents) {
    const again = value.lanes.some(({ id, kind }) => id === lane && kind === 'replay')
    for (let sequence = from; again && !done && sequence <= to; sequence++) finished.delete(sequence)
  }
  for (const id of new Set(world.ids)) {
    const open = world.ids.some((other, i) => other === id && !finished.has(i + 1))
    if (open) continue
    const homes = new Map<string, number>()
    for (const { table, id: of, home, sign } of world.rows) {
      if (table === 'events' && of === id) homes.set(home, (homes.get(home) ?? 0) + sign)
    }
    const odd = [...homes].find(([, sum]) => sum !== 0 && sum !== 1)
    if (odd) return `${id} counts ${odd[1]} in conversation '${odd[0]}' though all of its positions are finished`
    for (const table of TABLES) {
      let sum = 0
      for (const row of world.rows) if (row.table === table && row.id === id) sum += row.sign
      if (sum !== 1) return `${id} counts ${sum} in ${table} though all of its positions are finished`
    }
  }
  return undefined
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const worlds = Number(process.argv[2] ?? 20_000)
  const say = (name: string, seen: unknown): void => {
    process.stdout.write(`${name}: ${JSON.stringify(seen)}\n`)
  }
  for (const [name, mode] of Object.entries(modes)) say(name, exploreMany(mode, worlds))
  for (const broken of brokenOwners) {
    const { wrong } = exploreMany({ log: 'before', torn: false, zombies: false, builds: false, broken }, worlds)
    say(broken, wrong)
  }
}
