// A processor with a tripwire: started like any part, ended (or stopped) by its own hand at the step that the test names.
import { fileURLToPath } from 'node:url'
import type { Exit } from '#local/child.ts'
import { startChild } from '#local/child.ts'
import type { ReadyMessage } from '#runtime/part.ts'
import { nodeEnv, type Teardown } from '#test/rig.ts'
import type { ArmedMessage, ArmMessage, Step, StepMessage, Trap } from './steps.ts'

const ROOT = new URL('../../', import.meta.url)
const TRIPWIRE = new URL('./tripwire.ts', import.meta.url)

/** A running processor. */
export interface WiredProcessor {
  readonly pid: number
  readonly exited: Promise<Exit>
  /** Resolves when it works; rejects when it ends before. */
  readonly ready: Promise<ReadyMessage>
  /** Sets a trap, or (null) has it only tell of its steps; resolves when that holds. */
  arm(trap: Trap | null): Promise<void>
  /** Steps told so far. */
  readonly steps: readonly Step[]
  kill(signal: NodeJS.Signals): void
  logs(): string
  /** Blocks, by table, that a token had answered for and that were not there when they were counted. */
  lies(): Readonly<Record<string, number>>
}

/** Starts a processor; `arm`: from its first instant on. */
export function startWired(
  t: Teardown,
  env: Readonly<Record<string, string>>,
  arm?: { readonly trap: Trap | null },
): WiredProcessor {
  const tripwire = new URL(TRIPWIRE)
  if (arm) tripwire.searchParams.set('arm', JSON.stringify(arm.trap))
  const child = startChild({
    command: process.execPath,
    args: ['--import', tripwire.href, fileURLToPath(new URL('processors/main.ts', ROOT))],
    cwd: fileURLToPath(ROOT),
    env: { ...nodeEnv, ...env },
    output: 'pipe',
    ipc: true,
  })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await child.exited
  })
  const chunks: string[] = []
  for (const stream of [child.process.stdout, child.process.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => chunks.push(chunk))
  }
  const logs = (): string => chunks.join('')
  const steps: Step[] = []
  const arming: (() => void)[] = []
  const ready = new Promise<ReadyMessage>((resolve, reject) => {
    child.process.on('message', (message: StepMessage | ArmedMessage | ReadyMessage) => {
      if (message.type === 'ready') resolve(message)
      else if (message.type === 'armed') arming.shift()?.()
      else steps.push(message.step)
    })
    void child.exited.then(() => reject(new Error(`the processor ended: ${logs()}`)))
  })
  // Some are meant to end before they are ready.
  ready.catch(() => {})
  return {
    pid: child.pid,
    exited: child.exited,
    ready,
    arm: trap =>
      new Promise(resolve => {
        const message: ArmMessage = { type: 'arm', trap }
        arming.push(resolve)
        child.process.send(message)
      }),
    steps,
    kill: child.kill,
    logs,
    lies: () => liesIn(logs()),
  }
}

/**
 * Reads a processor's log: a block moves to another attempt when the store has answered its token with success and a count finds
 * nothing of it.
 */
export function liesIn(log: string): Record<string, number> {
  const lies: Record<string, number> = {}
  for (const line of log.split('\n')) {
    if (!line.includes('"healing a block"')) continue
    const { table } = JSON.parse(line) as { table: string }
    lies[table] = (lies[table] ?? 0) + 1
  }
  return lies
}
