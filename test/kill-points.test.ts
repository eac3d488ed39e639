// kill -9 at every point of one block's life, one after the other: before each system call by which the engine makes an INSERT into
// a part on disk, and around everything that a processor sends or is answered. After each kill whatever died comes back, and all
// that was acknowledged is there exactly once: in rows, texts, sessions, in every projection, in dead letters and block records.
//
// The critical ones, and by `npm run test:full` a choice of others with a seed; all of them by `node test/kill-points.test.ts --all`.

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { eventually, freshDatabase, tempDir } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'
import { table } from '../bench/stats.ts'
import type { EnginePoint } from './kill-points/engine-points.ts'
import {
  ANSWER,
  aimAt,
  CHANGING_CALLS,
  LOG,
  nameOf,
  PART,
  placesOf,
  pointsOf,
  stageOf,
} from './kill-points/engine-points.ts'
import { allProjections, differences, heldGroupsOf, Ledger } from './kill-points/ledger.ts'
import { chosen, killOptions, whileTimeLasts } from './kill-points/options.ts'
import { startWired, type WiredProcessor } from './kill-points/processor.ts'
import type { Step, Trap } from './kill-points/steps.ts'
import { nameOf as nameOfStep } from './kill-points/steps.ts'
import { trace, whyNoTrace } from './kill-points/strace.ts'
import { type KillSystem, type SentLoad, startKillSystem } from './kill-points/system.ts'

const options = killOptions({ points: scaled({ sample: 0, full: 16 }) })
const TIMEOUT_MS = options.all || options.only ? 3_600_000 : 1_200_000
/** A load that is stored without its point being passed: the point may still come with what is done after the floor. */
const GRACE_MS = 2_000
const SETTLED_MS = 60_000
const PROJECTED = 'every projection says of all loads what their rows say'
const RANDOM_KILLS = scaled({ sample: 2, full: 6 })
const ATTEMPTS = 5
/** Points beyond the critical ones end after this, so that a slow machine does fewer. */
const BUDGET_MS = {
  engine: 12_000,
  processor: 10_000,
}
/** Of critical points that are alike a sample does those of the table that counts most, and of what is sent first. */
const SURE = {
  tables: ['events', 'texts', 'sessions'].slice(0, scaled({ sample: 1, full: 3 })),
  nth: scaled({ sample: 1, full: Number.POSITIVE_INFINITY }),
}

/** What a stage's kills came to. */
interface Tally {
  kills: number
  lies: number
}

class Tallies {
  readonly #stages = new Map<string, Tally>()

  add(stage: string, lies: number): void {
    const tally = this.#stages.get(stage) ?? { kills: 0, lies: 0 }
    this.#stages.set(stage, { kills: tally.kills + 1, lies: tally.lies + lies })
  }

  print(t: Test, what: string): void {
    const rows = [...this.#stages].map(([stage, { kills, lies }]) => [stage, kills, lies])
    for (const line of table([what, 'kills', 'the token alone would have lied'], rows).split('\n')) t.comment(line)
  }
}

/** How many of the points tried were passed: what a process does depends a little on the hour, e.g. how often it asks or writes. */
class Passed {
  #tried = 0
  #passed = 0

  /** True when the point was passed; one that is passed in every life has to be. */
  add(t: Test, { passed, always, name }: { passed: boolean; always: boolean; name: string }): void {
    this.#tried++
    if (passed) this.#passed++
    else if (always) t.fail(`${name} was not passed`)
    else t.comment(`${name}: stored without passing it`)
  }

  check(t: Test, of: number): void {
    t.comment(`${this.#passed} of ${this.#tried} points tried, of ${of}`)
    // Those that every life passes have been asked for one by one; how many of the others are passed is the machine's affair.
    t.ok(this.#passed > 0, 'points were passed')
  }
}

/** True when `end` comes before the load is stored, or soon after. */
async function endsFirst(system: KillSystem, load: SentLoad, end: Promise<unknown>): Promise<boolean> {
  const ended = end.then(() => true)
  const stored = system.settled(load, SETTLED_MS).then(() => delay(GRACE_MS, false, { ref: false }))
  // Once the process is gone nobody waits for its load here.
  stored.catch(() => {})
  return await Promise.race([ended, stored])
}

const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0)

let started: Promise<KillSystem> | undefined
/** One system for both halves: each of its loads is of an organization of its own, and a processor lives no longer than its half. */
function killSystem(): Promise<KillSystem> {
  started ??= startKillSystem(t)
  return started
}

t.setTimeout(2 * TIMEOUT_MS)
t.comment(`seed ${options.seed}`)

t.test('the comparison sees what is lost, doubled and strange, and asks the projections themselves', async t => {
  const { store } = await freshDatabase(t)
  const organization = randomUUID()
  const row = (event_id: string) => ({ organization, event_id, ts: '2026-09-21 14:13:20', sign: 1, version: 1 })
  const ids = Array.from({ length: 4 }, () => randomUUID())
  const [lost, doubled, strange, right] = ids as [string, string, string, string]
  const ledger = new Ledger()
  ledger.organizations.add(organization)
  for (const id of [lost, doubled, right]) ledger.events.set(id, 1)
  const values = [doubled, doubled, strange, right].map(row)
  await store.client.insert({ table: 'events', values, format: 'JSONEachRow' })
  const captured = { organization, conversation_id: randomUUID(), received_at: '2026-09-21 14:13:20' }
  await store.client.insert({ table: 'sessions', values: [captured], format: 'JSONEachRow' })
  ledger.sessions.set(captured.conversation_id, 1)
  t.match(await differences(store, ledger), [{ where: 'events', lost: 1, doubled: 1, strange: 1 }])
  // Enter what is there, and nothing is wrong.
  ledger.events.set(doubled, 2)
  ledger.events.set(strange, 1)
  ledger.events.delete(lost)
  t.same(await differences(store, ledger), [])
  const aggregates = (await allProjections(store)).filter(({ type }) => type === 'Aggregate')
  t.ok(aggregates.length >= 6, `${aggregates.length} aggregate projections`)
  for (const projection of aggregates) {
    const { groups } = await heldGroupsOf(store, projection, [...ledger.organizations])
    t.ok(Number(groups) > 0, `${projection.name} is read`)
  }
})

t.test('the engine is killed before each call that changes a file of an INSERT', { timeout: TIMEOUT_MS }, async t => {
  const traces = await tempDir(t)
  const why = await whyNoTrace(join(traces, 'probe'))
  const system = await killSystem()
  const processor = startWired(t, system.env)
  await processor.ready
  await system.settled(await system.send())
  if (why !== undefined) {
    t.comment(`KILL POINTS OF THE ENGINE WERE NOT REACHED: ${why}. Instead: ${RANDOM_KILLS} kills at random instants.`)
    return randomKills(t, system)
  }

  const places = await placesOf(system.store, Date.now())
  const tracer = await trace({ pid: system.clickhouse.pid(), output: join(traces, 'dry'), calls: CHANGING_CALLS })
  await system.settled(await system.send())
  await tracer.detach()
  const all = pointsOf(await tracer.calls(), places)
  for (const stage of ['part', 'deduplication log', 'rename into place', 'answer']) {
    t.ok(
      all.some(point => stageOf(point) === stage),
      `the trace shows the stage "${stage}"`,
    )
  }
  const points = chosen(all, options, {
    always: point => isCritical(point) && (point.file === ANSWER || SURE.tables.includes(point.table)),
    name: nameOf,
  })

  const tallies = new Tallies()
  const passed = new Passed()
  let done = 0
  for (const point of whileTimeLasts(points, BUDGET_MS.engine)) {
    const output = join(traces, String(done++))
    const before = sum(processor.lies())
    const startedAt = performance.now()
    const aim = await aimAt(point, places)
    const shot = await trace({ pid: system.clickhouse.pid(), output, ...aim })
    const load = await system.send()
    const reached = await endsFirst(system, load, shot.ended)
    if (!reached) await shot.detach()
    const died = reached && (await shot.calls()).at(-1)?.made === false
    passed.add(t, { passed: died, always: isCritical(point) && point.nth === 1, name: nameOf(point) })
    await system.clickhouse.restart()
    await system.settled(load)
    const lies = sum(processor.lies()) - before
    tallies.add(stageOf(point), lies)
    t.same(await system.wrong(load), [], nameOf(point))
    const ms = Math.round(performance.now() - startedAt)
    t.comment(`${nameOf(point)}: ${lies === 0 ? 'the token was honest' : 'THE TOKEN LIED'}, ${ms} ms`)
  }
  t.same(await system.wrongInProjections(), [], PROJECTED)
  passed.check(t, all.length)
  tallies.print(t, 'engine killed in')
})

/** Where a token and its rows part ways. */
function isCritical({ file, call, nth }: EnginePoint): boolean {
  return file === LOG || (file === PART && call.startsWith('rename')) || (file === ANSWER && nth === 1)
}

async function randomKills(t: Test, system: KillSystem): Promise<void> {
  for (let i = 0; i < RANDOM_KILLS; i++) {
    const load = await system.send()
    await delay(Math.random() * 150)
    await system.clickhouse.kill9()
    await system.clickhouse.restart()
    await system.settled(load)
    t.same(await system.wrong(load), [], `random kill ${i + 1}`)
  }
  t.same(await system.wrongInProjections(), [], PROJECTED)
}

/** Steps of one life of a processor, and where the kills of that life begin. */
interface Life {
  /** `start`: from its first instant; `block`: from a load on that it is idle for; `recovery`: from its start, with an open intent. */
  readonly name: 'start' | 'block' | 'recovery'
  readonly step: Step
}

t.test('a processor is killed around each thing that it sends or is answered', { timeout: TIMEOUT_MS }, async t => {
  const system = await killSystem()
  const lives = await liveThrough(t, system)
  for (const [name, what] of [
    ...['cursor', 'window query'].map(what => ['start', what] as const),
    ...[
      'payloads',
      'cursor',
      'insert of sessions',
      'insert of texts',
      'insert of events',
      'dead letter',
      'block record',
    ].map(what => ['block', what] as const),
    ...['settle query', 'count query', 'insert of events'].map(what => ['recovery', what] as const),
  ]) {
    t.ok(
      lives.some(life => life.name === name && life.step.what === what),
      `the life of a processor (${name}) shows "${what}"`,
    )
  }
  const points = chosen(lives, options, {
    always: life => isCriticalLife(life) && life.step.nth <= SURE.nth,
    name: nameOfLife,
  })

  const tallies = new Tallies()
  // Whoever comes after a kill brings the load to its end, and is the next to be killed.
  let idle = startWired(t, system.env)
  await idle.ready
  const passed = new Passed()
  for (const life of whileTimeLasts(points, BUDGET_MS.processor)) {
    const startedAt = performance.now()
    const { load, victim } = await kill(t, system, life, idle)
    const died = await endsFirst(system, load, victim.exited)
    passed.add(t, { passed: died, always: isCriticalLife(life) && life.step.nth === 1, name: nameOfLife(life) })
    victim.kill('SIGKILL')
    t.match(await victim.exited, { signal: 'SIGKILL' })
    idle = startWired(t, system.env)
    await system.settled(load)
    const lies = sum(victim.lies()) + sum(idle.lies())
    tallies.add(`${life.name}: ${life.step.what}`, lies)
    t.same(await system.wrong(load), [], nameOfLife(life))
    t.comment(`${nameOfLife(life)}: ${Math.round(performance.now() - startedAt)} ms`)
  }
  t.same(await system.wrongInProjections(), [], PROJECTED)
  passed.check(t, lives.length)
  tallies.print(t, 'processor killed at')
})

function killAt(step: Step): Trap {
  return { step, signal: 'SIGKILL' }
}

const nameOfLife = ({ name, step }: Life): string => `${name}: ${nameOfStep(step)}`

/** Recorded and not inserted; inserted and not answered; told and not behind the floor. */
function isCriticalLife({ name, step: { phase, what, nth } }: Life): boolean {
  return (
    name === 'block' &&
    phase === 'sent' &&
    (what === 'cursor' || what === 'block record' || (what === 'insert of events' && nth === 1))
  )
}

/** The intent of a block is recorded; nothing is inserted. */
const RECORDED = killAt({ phase: 'answer', what: 'cursor', nth: 1 })

/** A processor that dies with the intent of a load open, and that load. */
async function diesWithIntent(t: Test, system: KillSystem): Promise<SentLoad> {
  // It may still be told of the floor of its last load when it is armed, and die of that.
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const victim = startWired(t, system.env)
    await victim.ready
    await system.settled(await system.send())
    await victim.arm(RECORDED)
    const load = await system.send()
    await victim.exited
    if ((await system.openIntents()) > 0) return load
  }
  throw new Error('no intent was open when its owner died')
}

/** Three lives without a kill, told step by step. */
async function liveThrough(t: Test, system: KillSystem): Promise<Life[]> {
  const open = await diesWithIntent(t, system)
  const recovering = startWired(t, system.env, { trap: null })
  await system.settled(open)
  const recovery = recovering.steps.map(step => ({ name: 'recovery', step }) as const)
  t.same(await system.wrong(open), [])
  recovering.kill('SIGKILL')
  await recovering.exited
  // Starts without anything to recover, then meets a block.
  const idle = startWired(t, system.env, { trap: null })
  await eventually(
    'a partition taken over',
    () => idle.logs().includes('partition taken over') && idle.steps.some(isWindow),
  )
  const start = idle.steps.map(step => ({ name: 'start', step }) as const)
  await idle.arm(null)
  const told = idle.steps.length
  const load = await system.send()
  await system.settled(load)
  const block = idle.steps.slice(told).map(step => ({ name: 'block', step }) as const)
  t.same(await system.wrong(load), [])
  idle.kill('SIGKILL')
  await idle.exited
  return [...start, ...block, ...recovery]
}

const isWindow = ({ phase, what }: Step): boolean => phase === 'answer' && what === 'window query'

/** Sends a load and has a processor end at the life's step; `idle` is the processor at work, with nothing to do. */
async function kill(t: Test, system: KillSystem, { name, step }: Life, idle: WiredProcessor) {
  if (name === 'block') {
    await eventually('a partition taken over', () => idle.logs().includes('partition taken over'))
    await idle.arm(killAt(step))
    return { load: await system.send(), victim: idle }
  }
  if (name === 'recovery') {
    await eventually('a partition taken over', () => idle.logs().includes('partition taken over'))
    await idle.arm(RECORDED)
    const load = await system.send()
    await idle.exited
    return { load, victim: startWired(t, system.env, { trap: killAt(step) }) }
  }
  idle.kill('SIGKILL')
  await idle.exited
  return { load: await system.send(), victim: startWired(t, system.env, { trap: killAt(step) }) }
}
