// A part of parley as a child process: a main.ts and its environment go in; what it says once it works comes out.
import { fileURLToPath } from 'node:url'
import { ParleyError } from '#proto/errors.ts'
import type { ReadyMessage } from '#runtime/part.ts'
import type { Child, ChildOptions, Exit } from './child.ts'
import { describeExit, nodeCommand, startChild } from './child.ts'

const ROOT = new URL('../../', import.meta.url)

/** A part that was started; it may not be ready yet. */
export interface PartProcess {
  readonly child: Child
  /** Resolves with what the part is told to say once it works; rejects with RUN_PART_FAILED when it ends before. */
  readonly ready: Promise<ReadyMessage>
}

/** Starts `main` (a path from the project's root, e.g. `ingest/main.ts`) with exactly this environment. */
export function startPartProcess(options: {
  main: string
  env: Readonly<Record<string, string>>
  output: ChildOptions['output']
}): PartProcess {
  const child = startChild({
    ...nodeCommand(fileURLToPath(new URL(options.main, ROOT))),
    cwd: fileURLToPath(ROOT),
    env: options.env,
    output: options.output,
    ipc: true,
  })
  const ready = new Promise<ReadyMessage>((resolve, reject) => {
    child.process.on('message', message => {
      if (isReady(message)) resolve(message)
    })
    const fail = (exit: Exit): void => {
      reject(new ParleyError('RUN_PART_FAILED', `${options.main} ${describeExit(exit)}`))
    }
    // `close` comes after the last line it wrote, which says why.
    child.process.once('close', (code, signal) => fail({ code, signal }))
    void child.exited.then(exit => {
      if (exit.error) fail(exit)
    })
  })
  // Whoever does not wait for readiness still learns of the end through `child.exited`.
  ready.catch(() => {})
  return { child, ready }
}

function isReady(message: unknown): message is ReadyMessage {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'ready'
}
