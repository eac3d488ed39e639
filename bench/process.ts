// What a process has cost so far, as the kernel counts it (Linux: /proc).
import { readFile } from 'node:fs/promises'

/** The kernel's unit in /proc/<pid>/stat: USER_HZ is 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100

/** CPU seconds that the process has used in all its threads, in user and system mode. Resolution: 10 ms. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await read(pid, 'stat')
  // The name in parentheses may hold anything: count from behind it. utime and stime are fields 14 and 15, the state is the 3rd.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** Resident size in bytes. */
export async function residentBytes(pid: number): Promise<number> {
  const status = await read(pid, 'status')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 'NaN') * 1024
}

/**
 * The process's share of what is resident, in bytes: pages that several processes have count in parts (Pss), so that the sum over
 * processes is what they occupy together.
 */
export async function sharedBytes(pid: number): Promise<number> {
  const rollup = await read(pid, 'smaps_rollup')
  return Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 'NaN') * 1024
}

async function read(pid: number, name: string): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/${name}`, 'utf8')
  } catch (cause) {
    throw new Error(`process ${pid} cannot be measured: it has ended, or this is no Linux`, { cause })
  }
}
