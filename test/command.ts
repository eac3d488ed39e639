// The parley command as its users call it: arguments and an environment -> what it ended with, to its last line.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import type { Test } from 'tap'
import { nodeEnv } from './rig.ts'

const MAIN = join(import.meta.dirname, '..', 'cli', 'main.ts')
/** A command that hangs is ended, and has failed. */
const LIMIT_MS = 600_000

/** What a command ended with; `code` is null where a signal ended it. */
export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** What a test expects of that: its code always, texts by a part or a pattern. */
interface Expected {
  readonly code: number
  readonly out?: string | RegExp
  readonly err?: string | RegExp
}

/** How this file's processes are started: `env` and nothing else of ours. */
export const commandEnv = (env: Readonly<Record<string, string>>) => ({ PATH: process.env.PATH, ...nodeEnv, ...env })

/** What `spawn` takes to start the command. */
export const commandLine = (...args: string[]): [string, string[]] => [process.execPath, [MAIN, ...args]]

/** Runs the command to its end. */
export function runCommand(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const [file, line] = commandLine(...args)
  return new Promise(resolve => {
    const child = execFile(
      file,
      line,
      { env: commandEnv(env), timeout: LIMIT_MS, killSignal: 'SIGKILL' },
      (_error, out, err) => {
        resolve({ code: child.exitCode, out, err })
      },
    )
  })
}

/** A command of these engines, e.g. `commandOf({ NATS_URL }, 'dead')`, to be called with the rest of its arguments. */
export const commandOf =
  (env: Readonly<Record<string, string>>, ...first: string[]) =>
  (...args: string[]): Promise<Ended> =>
    runCommand([...first, ...args], env)

/** Asserts how a command ended; where it ended otherwise, what it said on standard error is shown. */
export function ends(t: Test, ended: Ended, expected: Expected, message?: string): void {
  t.currentAssert = ends
  t.match(ended, expected, message ?? `ends with ${expected.code}`, { stderr: ended.err, stdout: ended.out })
}
