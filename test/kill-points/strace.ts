// strace, as a ruler and as a gun: it lists the system calls of a running process, or kills the process exactly before one of them.
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'

const ATTACH_TIMEOUT_MS = 10_000

/** One line of a trace. */
export interface Call {
  readonly thread: number
  readonly name: string
  /** As strace writes them, descriptors with their paths. */
  readonly args: string
  /** False for the call that the process did not live to make. */
  readonly made: boolean
}

/** strace at work on a process. */
export interface Tracer {
  /** Resolves when strace has ended: after `detach`, or because the process is gone. */
  readonly ended: Promise<void>
  /** Lets the process go on alone. */
  detach(): Promise<void>
  /** The calls so far, in order. */
  calls(): Promise<Call[]>
}

/** What to look for. */
export interface TraceOptions {
  readonly pid: number
  /** Where the lines go. */
  readonly output: string
  readonly calls: readonly string[]
  /** Only calls on one of these paths (or on descriptors of them); they need not exist yet. */
  readonly paths?: readonly string[]
  /** Kill before the n-th of these calls (of one thread, on these paths) is made. */
  readonly killAt?: number
}

/** Attaches to every thread of a process. @throws with strace's own words when it may not or is not there. */
export async function trace(options: TraceOptions): Promise<Tracer> {
  const names = options.calls.join(',')
  const child = spawn(
    'strace',
    [
      ...['-f', '-y', '-s', '64', '-o', options.output, '-e', `trace=${names}`, '-e', 'signal=none'],
      ...(options.paths ?? []).flatMap(path => ['-P', path]),
      ...(options.killAt === undefined ? [] : ['-e', `inject=${names}:signal=SIGKILL:when=${options.killAt}`]),
      ...['-p', String(options.pid)],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const ended = new Promise<void>(resolve => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  await attached(child)
  return {
    ended,
    detach: async () => {
      // SIGINT: strace takes its hands off every thread before it ends.
      child.kill('SIGINT')
      await ended
    },
    calls: async () => parseCalls(await readFile(options.output, 'utf8')),
  }
}

function attached(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = ''
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`strace does not attach: ${said.trim()}`))
    }, ATTACH_TIMEOUT_MS)
    const end = (error?: Error): void => {
      clearTimeout(timer)
      if (error) reject(error)
      else resolve()
    }
    child.once('error', end)
    child.once('exit', code => end(new Error(`strace ended with ${code}: ${said.trim()}`)))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (/^strace: Process \d+ attached/m.test(said)) end()
    })
  })
}

/** Reads `thread name(args) = result` lines; a call that was cut in two by another thread is put together again. */
export function parseCalls(text: string): Call[] {
  const calls: Call[] = []
  const cut = new Map<string, number>()
  for (const line of text.split('\n')) {
    const resumed = /^(\d+)\s+<\.\.\. (\w+) resumed>.*?(= \?)?$/.exec(line)
    if (resumed) {
      const at = cut.get(`${resumed[1]} ${resumed[2]}`)
      if (at !== undefined) calls[at] = { ...(calls[at] as Call), made: resumed[3] === undefined }
      continue
    }
    const match = /^(\d+)\s+(\w+)\((.*?)(?:\)\s+= (\S+).*| <unfinished \.\.\.>)$/.exec(line)
    if (!match) continue
    const [, thread = '', name = '', args = '', result] = match
    if (result === undefined) cut.set(`${thread} ${name}`, calls.length)
    calls.push({ thread: Number(thread), name, args, made: result !== undefined && result !== '?' })
  }
  return calls
}

/** Undefined when this machine's strace can attach to a process of ours and end it before a call; else why it can't. */
export async function whyNoTrace(output: string): Promise<string | undefined> {
  const victim = spawn(process.execPath, ['-e', 'setInterval(() => require("node:fs").mkdirSync("/"), 20)'], {
    stdio: 'ignore',
  })
  const exited = new Promise<NodeJS.Signals | null>(resolve => victim.once('exit', (_, signal) => resolve(signal)))
  try {
    await new Promise((resolve, reject) => victim.once('spawn', resolve).once('error', reject))
    const tracer = await trace({ pid: victim.pid as number, output, calls: ['mkdir', 'mkdirat'], killAt: 1 })
    const timer = setTimeout(() => victim.kill('SIGTERM'), ATTACH_TIMEOUT_MS)
    const signal = await exited
    clearTimeout(timer)
    await tracer.ended
    return signal === 'SIGKILL' ? undefined : 'strace attaches but does not inject signals'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    victim.kill('SIGKILL')
  }
}
