// The processes of a run, kept running by the launcher's own supervisor, each under a name by which the chaos finds it.
import { setTimeout as delay } from 'node:timers/promises'
import type { Running } from '#local/supervise.ts'
import { supervise } from '#local/supervise.ts'

/** What a process is there for. */
export type Role = 'receiver' | 'processor' | 'query' | 'nats' | 'clickhouse'

/** A process that can be harmed. */
export interface Victim {
  readonly role: Role
  readonly name: string
  /** True while it runs and has said that it works. */
  up(): boolean
  signal(signal: NodeJS.Signals): void
  /** It may end by itself from now on, once: what is done to it is meant to have that effect. */
  mayEnd(): void
  /** Counts the starts: another number is another process. */
  starts(): number
}

/** The processes of one run. */
export interface Fleet {
  /** Starts a process and keeps it running; resolves once it works. */
  keep(role: Role, name: string, start: (spawned: (running: Running) => void) => Promise<unknown>): Promise<void>
  victims(role: Role): readonly Victim[]
  all(): readonly Victim[]
  /** How often processes ended otherwise than by a signal of ours: a crash of its own is a finding. */
  crashes(): readonly string[]
  /** Ends everything, parts before engines. */
  stop(): Promise<void>
}

/** An empty fleet; `say` gets the supervisor's lines. */
export function createFleet(say: (line: string) => void): Fleet {
  let stopping = false
  const victims: (Victim & { stop(): Promise<void> })[] = []
  const running = new Set<Running>()
  const crashes: string[] = []
  return {
    keep: async (role, name, start) => {
      let current: Running | undefined
      let starts = 0
      let asked = false
      const supervised = supervise({
        name,
        start: spawned =>
          start(child => {
            current = child
            starts++
            asked = false
            running.add(child)
            void child.exited.then(exit => {
              running.delete(child)
              // What cannot start because an engine is away is the supervisor's everyday.
              if (!asked && !stopping && supervised.pid() !== 0)
                crashes.push(`${name}: code ${exit.code}, signal ${exit.signal}`)
            })
            spawned(child)
          }),
        onChange: () => {},
        say,
      })
      victims.push({
        role,
        name,
        up: () => supervised.pid() !== 0,
        signal: signal => {
          if (signal === 'SIGKILL' || signal === 'SIGTERM') asked = true
          current?.kill(signal)
        },
        mayEnd: () => {
          asked = true
        },
        starts: () => starts,
        stop: () => supervised.stop(10_000),
      })
      await supervised.ready
    },
    victims: role => victims.filter(victim => victim.role === role),
    all: () => victims,
    crashes: () => crashes,
    stop: async () => {
      stopping = true
      for (const child of running) child.kill('SIGCONT')
      const engines: readonly Role[] = ['nats', 'clickhouse']
      const end = (which: typeof victims) => Promise.all(which.map(victim => victim.stop()))
      await end(victims.filter(({ role }) => !engines.includes(role)))
      await end(victims.filter(({ role }) => engines.includes(role)))
      for (const child of running) child.kill('SIGKILL')
      await delay(0)
    },
  }
}
