// One child process: a command goes in, a pid and the promise of its end come out. Used for engines, parts and by the tests.
import type { ChildProcess, StdioOptions } from 'node:child_process'
import { spawn } from 'node:child_process'
import { closeSync, openSync, readSync, renameSync, statSync } from 'node:fs'

/** How a process ended; `error` when it could not be started at all. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly error?: Error
}

/** A running child. */
export interface Child {
  readonly pid: number
  readonly process: ChildProcess
  /** Resolves when the process is gone; never rejects. */
  readonly exited: Promise<Exit>
  /** The end, once it has come. */
  exit(): Exit | undefined
  kill(signal: NodeJS.Signals): void
  /** SIGTERM, then SIGKILL after `graceMs`; resolves when the process is gone. */
  stop(graceMs: number): Promise<Exit>
}

/** What to start. */
export interface ChildOptions {
  readonly command: string
  readonly args: readonly string[]
  /** The whole environment of the child: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Where standard output and error go: to the end of a file, or to whoever reads the child's pipes. */
  readonly output: { readonly file: string } | 'pipe'
  /** Opens an IPC channel: the child notices at once when its starter is gone. */
  readonly ipc: boolean
}

/** Preloaded into our own processes: none has to strip types for itself. */
const STRIPPED = new URL('../../runtime/stripped.mjs', import.meta.url).href

/** The command that runs a module of ours under the Node that runs this one. */
export const nodeCommand = (file: string, ...args: string[]): Pick<ChildOptions, 'command' | 'args'> => ({
  command: process.execPath,
  args: ['--import', STRIPPED, file, ...args],
})

/**
 * Starts a process in a group of its own, so that a Ctrl-C in the terminal reaches the starter alone and the order of the stop
 * stays in its hands.
 */
export function startChild(options: ChildOptions): Child {
  const fd = options.output === 'pipe' ? undefined : openSync(options.output.file, 'a', 0o600)
  const output = fd ?? 'pipe'
  const stdio: StdioOptions = ['ignore', output, output, ...(options.ipc ? (['ipc'] as const) : [])]
  const child = spawn(options.command, [...options.args], {
    env: { ...options.env },
    stdio,
    detached: true,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  })
  if (fd !== undefined) closeSync(fd)
  let exit: Exit | undefined
  const exited = new Promise<Exit>(resolve => {
    const end = (value: Exit): void => {
      exit ??= value
      resolve(exit)
    }
    child.once('error', error => {
      if (child.pid === undefined) end({ code: null, signal: null, error })
    })
    child.once('exit', (code, signal) => end({ code, signal }))
  })
  const kill = (signal: NodeJS.Signals): void => {
    if (exit === undefined) child.kill(signal)
  }
  return {
    pid: child.pid ?? 0,
    process: child,
    exited,
    exit: () => exit,
    kill,
    stop: async graceMs => {
      kill('SIGTERM')
      const timer = setTimeout(() => kill('SIGKILL'), graceMs)
      const end = await exited
      clearTimeout(timer)
      return end
    },
  }
}

/** "ended with code 1", "was ended by SIGKILL", "could not be started (…)". */
export function describeExit(exit: Exit): string {
  if (exit.error) return `could not be started (${exit.error.message})`
  return exit.signal === null ? `ended with code ${exit.code}` : `was ended by ${exit.signal}`
}

/** The last lines of a log file, for the message about a process that ended early; '' when there is none. */
export function lastLines(file: string, count: number): string {
  try {
    const size = statSync(file).size
    const bytes = Buffer.alloc(Math.min(size, 16 * 1024))
    const fd = openSync(file, 'r')
    const read = readSync(fd, bytes, 0, bytes.length, size - bytes.length)
    closeSync(fd)
    return bytes.toString('utf8', 0, read).trimEnd().split('\n').slice(-count).join('\n')
  } catch {
    return ''
  }
}

/** Moves a log that has grown over `maxBytes` to `<file>.1`, replacing the one before. Call it while nobody writes. */
export function rotateLog(file: string, maxBytes: number): void {
  try {
    if (statSync(file).size > maxBytes) renameSync(file, `${file}.1`)
  } catch {
    // There is no log yet.
  }
}
