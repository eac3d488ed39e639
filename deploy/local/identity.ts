// Which process is meant: a pid alone is given to another process one day, so it is kept together with the process's start.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/** A process that can be told apart from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number
  /** When it started, in the system's own words; comparable, not readable. */
  readonly started: string
}

const run = promisify(execFile)

/** The identity of a running process; undefined when there is none with that pid. */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const started = process.platform === 'linux' ? await startedOnLinux(pid) : await startedElsewhere(pid)
  return started === undefined ? undefined : { pid, started }
}

/** True when exactly this process is still running. */
export async function isRunning(identity: ProcessIdentity): Promise<boolean> {
  return (await identify(identity.pid))?.started === identity.started
}

async function startedOnLinux(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1')
    // Fields after the command, which stands in parentheses and may hold spaces: state first, start (in ticks since boot) 20th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A zombie has ended; only its starter has not looked yet.
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'latin1')
    return `${boot.trim()} ${fields[19]}`
  } catch {
    return undefined
  }
}

async function startedElsewhere(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await run('/bin/ps', ['-o', 'lstart=', '-p', String(pid)], { env: { LC_ALL: 'C', TZ: 'UTC' } })
    return stdout.trim() || undefined
  } catch {
    return undefined
  }
}
