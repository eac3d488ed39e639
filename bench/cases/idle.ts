// What a running, idle instance costs: memory and CPU of every process, over a minute. Linux only (/proc).
import { setTimeout as delay } from 'node:timers/promises'
import { findInstance } from '../instance.ts'
import { cpuSeconds, residentBytes, sharedBytes } from '../process.ts'
import { table } from '../stats.ts'

const SECONDS = 60
const MiB = 1024 * 1024

/** Runs the case and prints its table. */
export async function idle(): Promise<void> {
  const { pids } = await findInstance()
  const processes = Object.entries(pids).flatMap(([name, value]) => [value ?? []].flat().map(pid => ({ name, pid })))
  const before = await Promise.all(processes.map(({ pid }) => cpuSeconds(pid)))
  await delay(SECONDS * 1000)
  const costs = await Promise.all(
    processes.map(async ({ name, pid }, i) => ({
      name,
      resident: (await residentBytes(pid)) / MiB,
      share: (await sharedBytes(pid)) / MiB,
      percent: (((await cpuSeconds(pid)) - (before[i] ?? 0)) / SECONDS) * 100,
    })),
  )
  const sum = (of: 'resident' | 'share' | 'percent'): number => costs.reduce((total, cost) => total + cost[of], 0)
  const together = { name: 'together', resident: sum('resident'), share: sum('share'), percent: sum('percent') }
  const rows = [...costs, together].map(cost => [
    cost.name,
    cost.resident.toFixed(0),
    cost.share.toFixed(0),
    cost.percent.toFixed(2),
  ])
  const header = ['process', 'resident, MiB', 'its share of it, MiB', `CPU over ${SECONDS} s, % of one core`]
  console.log(table(header, rows))
}
