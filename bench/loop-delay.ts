// Loaded into a receiver before its own code: tells its bench, when asked over IPC, how late the event loop came to a timer since it
// was asked last, and how much CPU its thread used from one timer to the next (Linux: schedstat). The first depends on who else wants
// the cores; the second is the loop's own doing: what it does in one go, and what came due within the timer's millisecond.
import { readFileSync } from 'node:fs'
import { percentile } from './stats.ts'

/** In milliseconds. The question is its type alone. */
export interface LoopDelay {
  readonly type: 'loop-delay'
  readonly late: { readonly p99: number; readonly max: number }
  readonly cpu: { readonly p99: number; readonly max: number }
}

const EVERY_MS = 1
const MAIN_THREAD = `/proc/self/task/${process.pid}/schedstat`
let late: number[] = []
let cpu: number[] = []
let lastMs = performance.now()
let lastCpuMs = cpuMs()

setInterval(() => {
  const now = performance.now()
  const used = cpuMs()
  late.push(Math.max(0, now - lastMs - EVERY_MS))
  cpu.push(used - lastCpuMs)
  lastMs = now
  lastCpuMs = used
}, EVERY_MS).unref()

process.on('message', message => {
  if (message !== 'loop-delay') return
  const answer: LoopDelay = { type: 'loop-delay', late: summary(late), cpu: summary(cpu) }
  late = []
  cpu = []
  process.send?.(answer)
})

/** Time that the thread has spent on a core. */
function cpuMs(): number {
  return Number(readFileSync(MAIN_THREAD, 'utf8').split(' ')[0]) / 1e6
}

function summary(values: readonly number[]): LoopDelay['late'] {
  return { p99: percentile(values, 99), max: percentile(values, 100) }
}
