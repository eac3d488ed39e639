// Loaded into a receiver before its own code: tells its bench, when asked over IPC, how late the event loop came to a timer since it
// was asked last, and how much of that was not its own doing: time in which its thread was ready to run and other processes had the
// cores (Linux: schedstat).
import { readFileSync } from 'node:fs'
import { percentile } from './stats.ts'

/** In milliseconds; `own` leaves out the time without a core. The question is its type alone. */
export interface LoopDelay {
  readonly type: 'loop-delay'
  readonly late: { readonly p99: number; readonly max: number }
  readonly own: { readonly p99: number; readonly max: number }
}

const EVERY_MS = 1
const MAIN_THREAD = `/proc/self/task/${process.pid}/schedstat`
let late: number[] = []
let own: number[] = []
let lastMs = performance.now()
let lastQueuedMs = queuedMs()

setInterval(() => {
  const now = performance.now()
  const queued = queuedMs()
  const delay = Math.max(0, now - lastMs - EVERY_MS)
  late.push(delay)
  own.push(Math.max(0, delay - (queued - lastQueuedMs)))
  lastMs = now
  lastQueuedMs = queued
}, EVERY_MS).unref()

process.on('message', message => {
  if (message !== 'loop-delay') return
  const answer: LoopDelay = { type: 'loop-delay', late: summary(late), own: summary(own) }
  late = []
  own = []
  process.send?.(answer)
})

function queuedMs(): number {
  return Number(readFileSync(MAIN_THREAD, 'utf8').split(' ')[1]) / 1e6
}

function summary(values: readonly number[]): LoopDelay['late'] {
  return { p99: percentile(values, 99), max: percentile(values, 100) }
}
