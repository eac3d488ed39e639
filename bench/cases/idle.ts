// What a running, idle instance costs: resident memory and CPU of every process, over a minute. Linux only (/proc).
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { findInstance } from '../instance.ts'
import { table } from '../stats.ts'

const SECONDS = 60
/** Clock ticks per second of /proc/<pid>/stat: 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100

/** Runs the case and prints its table. */
export async function idle(): Promise<void> {
  const { pids } = await findInstance()
  const processes = Object.entries(pids).flatMap(([name, value]) =>
    (typeof value === 'number' ? [value] : value).map(pid => ({ name, pid })),
  )
  const before = await Promise.all(processes.map(({ pid }) => cpuSeconds(pid)))
  await delay(SECONDS * 1000)
  let memory = 0
  let cpu = 0
  const rows: (string | number)[][] = []
  for (const [i, { name, pid }] of processes.entries()) {
    const used = (((await cpuSeconds(pid)) - (before[i] ?? 0)) / SECONDS) * 100
    const resident = await residentMiB(pid)
    memory += resident
    cpu += used
    rows.push([name, resident.toFixed(0), used.toFixed(2)])
  }
  rows.push(['together', memory.toFixed(0), cpu.toFixed(2)])
  console.log(table(['process', 'resident, MiB', `CPU over ${SECONDS} s, % of one core`], rows))
}

async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // Fields after the command, which is in parentheses and may hold spaces: utime and stime are the 14th and 15th of all.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}
