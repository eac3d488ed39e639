// The processes of one launcher, in groups: kept running, remembered in the data directory, and stopped group by group against one
// deadline.
import type { DataDir } from './data-dir.ts'
import type { Running, Supervised } from './supervise.ts'
import { supervise } from './supervise.ts'

/** Groups, in the order in which they stop. */
export type Group = 'receivers' | 'processors' | 'query' | 'engines'

/** How to start a process: it hands out what it spawned at once and resolves when that works. */
export type Start = (spawned: (running: Running) => void) => Promise<unknown>

/** The processes of one launcher. */
export interface Fleet {
  /** Starts a process and keeps it running; resolves when it works for the first time. */
  keep(group: Group, name: string, start: Start): Promise<void>
  /** The pids of a group in the order in which they were added; 0 for one that is down. */
  pids(group: Group): number[]
  /** The pid of one process; null when there is none of that name. */
  pidOf(name: string): number | null
  stopping(): boolean
  /** Stops groups one after the other, those of one step together; what still runs at a step's time is killed. */
  stop(steps: readonly { groups: readonly Group[]; byMs: number }[]): Promise<void>
  /** Ends everything now. */
  kill(): void
}

/** Makes an empty fleet. `onChange` is called when a pid changes, `say` with lines for the operator. */
export function createFleet(options: { dataDir: DataDir; onChange: () => void; say: (line: string) => void }): Fleet {
  const members: { group: Group; process: Supervised }[] = []
  const running = new Set<Running>()
  let stopping = false

  const note = (process: Running): void => {
    running.add(process)
    void process.exited.then(() => running.delete(process))
    if (process.pid > 0) {
      options.dataDir.remember(process.pid).catch((error: unknown) => {
        options.say(`processes.json cannot be written: ${String(error)}`)
      })
    }
  }
  const of = (group: Group): Supervised[] => members.filter(m => m.group === group).map(m => m.process)

  return {
    keep: (group, name, start) => {
      const process = supervise({
        name,
        start: spawned =>
          start(child => {
            note(child)
            spawned(child)
          }),
        onChange: options.onChange,
        say: options.say,
      })
      members.push({ group, process })
      return process.ready
    },
    pids: group => of(group).map(process => process.pid()),
    pidOf: name => members.find(m => m.process.name === name)?.process.pid() ?? null,
    stopping: () => stopping,
    stop: async steps => {
      stopping = true
      const began = performance.now()
      for (const { groups, byMs } of steps) {
        const graceMs = Math.max(0, byMs - (performance.now() - began))
        await Promise.all(groups.flatMap(of).map(process => process.stop(graceMs)))
      }
    },
    kill: () => {
      stopping = true
      for (const process of running) process.kill('SIGKILL')
    },
  }
}
