// What can happen to a system, by kind; and from a seed the order in which it does.
import { setTimeout as delay } from 'node:timers/promises'
import { type Random } from '#runtime/seeded.ts'
import type { Role, Victim } from './processes.ts'
import type { Target } from './target.ts'

const ROLES: readonly Role[] = ['receiver', 'processor', 'nats', 'clickhouse', 'query']
const NETWORKS = ['clients', 'nats', 'clickhouse'] as const
const UP_MS = 300_000
const POLL_MS = 25
/** A starved process gets a fifth of its time. */
const DUTY = { runMs: 20, stopMs: 80 }
const SLACK_BYTES = 16 * 1024

/** A kind of fault. */
export interface FaultKind {
  readonly name: string
  /** Why it cannot be had here; undefined when it can. */
  readonly unavailable?: string
  /** True when it is about requests that fail: before it nothing else may be going on. */
  readonly calm?: boolean
  /** Does it, and undoes what has an end. `random` decides about victims and times. */
  readonly happen: (random: Random) => Promise<void>
}

/** Every kind that this system knows. */
export function kindsOf(target: Target): FaultKind[] {
  const { fleet, proxies, disks } = target
  const roles = ROLES.filter(role => fleet.victims(role).length > 0)
  const one = (role: Role, random: Random): Victim => {
    const victims = fleet.victims(role)
    return victims[random(victims.length)] as Victim
  }
  const timeOf = (random: Random): number => 200 + random(1_800)
  const noDisk = typeof disks === 'string' ? { unavailable: disks } : {}
  return [
    ...roles.map(role => ({
      name: `kill ${role}`,
      happen: async (random: Random) => again(one(role, random), 'SIGKILL'),
    })),
    ...roles.map(role => ({
      name: `restart ${role}`,
      happen: async (random: Random) => again(one(role, random), 'SIGTERM'),
    })),
    ...roles.map(role => ({
      name: `stop ${role}`,
      // An owner that sleeps longer than its lease lives wakes up to another owner's partition.
      happen: (random: Random) =>
        stopped(one(role, random), role === 'processor' && random(3) === 0 ? 9_000 : timeOf(random)),
    })),
    ...roles.map(role => ({
      name: `starve ${role}`,
      happen: (random: Random) => starved(one(role, random), timeOf(random)),
    })),
    ...NETWORKS.filter(name => proxies[name].length > 0).flatMap(name => [
      { name: `cut ${name}`, happen: (random: Random) => under(target, name, 'cut', timeOf(random) / 2) },
      {
        name: `slow ${name}`,
        happen: (random: Random) => under(target, name, 'slow', timeOf(random), 20 + random(100)),
      },
      { name: `hold ${name}`, happen: (random: Random) => under(target, name, 'held', timeOf(random)) },
    ]),
    {
      name: 'full stream',
      happen: async random => {
        await target.limitStreams(true, SLACK_BYTES)
        await delay(timeOf(random))
        await target.limitStreams(false, 0)
      },
    },
    {
      name: 'full disk, guarded',
      ...noDisk,
      happen: async random => {
        if (typeof disks === 'string') return
        await disks.data.fill({ percent: 4 })
        await delay(timeOf(random) + 1_000)
        await disks.data.empty()
      },
    },
    {
      name: 'full disk of clickhouse',
      ...noDisk,
      happen: async random => {
        if (typeof disks === 'string') return
        // The engine ends itself before its disk is full, and comes back when there is room.
        for (const victim of target.fleet.victims('clickhouse')) victim.mayEnd()
        await disks.clickhouse.fill({ bytes: 0 })
        await delay(timeOf(random))
        await disks.clickhouse.empty()
      },
    },
    { name: 'rolling restart', calm: true, happen: () => rolling(target) },
  ]
}

/** Ends a process and waits until another one works in its place. */
async function again(victim: Victim, signal: NodeJS.Signals): Promise<void> {
  if (!victim.up()) await upAgain(victim, victim.starts() - 1)
  const starts = victim.starts()
  victim.signal(signal)
  await upAgain(victim, starts)
}

async function upAgain(victim: Victim, starts: number): Promise<void> {
  const deadline = performance.now() + UP_MS
  while (victim.starts() <= starts || !victim.up()) {
    if (performance.now() > deadline) throw new Error(`${victim.name} did not come back within ${UP_MS / 1000} s`)
    await delay(POLL_MS)
  }
}

async function stopped(victim: Victim, ms: number): Promise<void> {
  victim.signal('SIGSTOP')
  await delay(ms)
  victim.signal('SIGCONT')
}

async function starved(victim: Victim, ms: number): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end; ) {
    await stopped(victim, DUTY.stopMs)
    await delay(DUTY.runMs)
  }
}

async function under(
  target: Target,
  name: (typeof NETWORKS)[number],
  weather: 'cut' | 'slow' | 'held',
  ms: number,
  delayMs = 0,
): Promise<void> {
  for (const proxy of target.proxies[name]) proxy.set(weather, delayMs)
  await delay(ms)
  for (const proxy of target.proxies[name]) proxy.set('fair')
}

/** Every part, one after the other, each ended in order and back before the next one goes: an upgrade. */
async function rolling({ fleet }: Target): Promise<void> {
  for (const role of ['receiver', 'processor', 'query'] as const) {
    for (const victim of fleet.victims(role)) await again(victim, 'SIGTERM')
  }
}

/** Waits until every process works. */
export async function whole(target: Target): Promise<void> {
  for (const victim of target.fleet.all()) if (!victim.up()) await upAgain(victim, victim.starts() - 1)
}

/** `count` kinds in an order that the seed decides, every kind once before any comes twice. */
export function scheduleOf(kinds: readonly FaultKind[], count: number, random: Random): FaultKind[] {
  const schedule: FaultKind[] = []
  while (schedule.length < count) {
    const round = [...kinds]
    for (let i = round.length - 1; i > 0; i--) {
      const j = random(i + 1)
      const swapped = round[i] as FaultKind
      round[i] = round[j] as FaultKind
      round[j] = swapped
    }
    schedule.push(...round.slice(0, count - schedule.length))
  }
  return schedule
}
