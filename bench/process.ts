// What a process has cost so far, as the kernel counts it (Linux: /proc).
import { readdir, readFile } from 'node:fs/promises'

/** The kernel's unit in /proc/<pid>/stat: USER_HZ is 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100

/** CPU seconds that the process has used in all its threads, in user and system mode. Resolution: 10 ms. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await read(pid, 'stat')
  // The name in parentheses may hold anything: count from behind it. utime and stime are fields 14 and 15, the state is the 3rd.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** How far a difference of two `cpuSeconds` may be above the truth: either mode is cut down to its ticks. */
const ROUNDING_S = 2 / TICKS_PER_SECOND

/**
 * Begins to count; the answer says the CPU seconds that the process has used since. To the nanosecond, as long as no thread of it ends
 * meanwhile: of one that does, the kernel tells ticks alone.
 */
export async function cpuMeter(pid: number): Promise<() => Promise<number>> {
  const [ticks, threads] = [await cpuSeconds(pid), await threadNanoseconds(pid)]
  return async () => {
    let live = 0
    for (const [thread, ns] of await threadNanoseconds(pid)) live += ns - (threads.get(thread) ?? 0)
    // Neither says too much: what has ended is missing in the one, a rest below a tick in the other.
    return Math.max(live / 1e9, (await cpuSeconds(pid)) - ticks - ROUNDING_S)
  }
}

/** Nanoseconds on a processor of each thread that there is now. */
async function threadNanoseconds(pid: number): Promise<ReadonlyMap<string, number>> {
  const used = new Map<string, number>()
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    // One that has ended since the listing is left out.
    const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '')
    if (text !== '') used.set(thread, Number(text.split(' ', 1)[0]))
  }
  return used
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
