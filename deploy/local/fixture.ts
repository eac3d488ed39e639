// What the launcher's tests share: starting its process, finding it ready, and seeing that nothing is left.
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Teardown } from '#test/rig.ts'
import { eventually, nodeEnv, tempDir } from '#test/rig.ts'
import type { ProcessIdentity } from './identity.ts'
import { isRunning } from './identity.ts'
import { freePort } from './ports.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

export interface Local {
  readonly base_url: string
  readonly otel_url: string
  readonly org_id: string
  readonly api_key: string
  readonly email: string
  readonly password: string
  readonly bearer: string
  readonly nats_url: string
  readonly clickhouse_url: string
  readonly pids: Pids
}

export interface Pids {
  readonly launcher: number
  readonly nats: number
  readonly clickhouse: number
  readonly receivers: number[]
  readonly processors: number[]
  readonly query: number
}

export interface Launched {
  readonly child: ChildProcess
  output(): string
  exited(): Promise<{ code: number | null; tookMs: number }>
}

/** Starts the launcher with these settings and nothing else of the environment but the PATH and how the run starts Node. */
export function launch(t: Teardown, env: Record<string, string>): Launched {
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env.PATH, ...nodeEnv, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  // `close`, not `exit`: its last lines have been read by then.
  const ended = once(child, 'close')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  return {
    child,
    output: () => output,
    exited: async () => {
      const began = performance.now()
      const [code] = (await ended) as [number | null]
      return { code, tookMs: performance.now() - began }
    },
  }
}

/** Ports that are free, and a folder: a new one, or that of an instance that has ended. */
export async function freshSettings(t: Teardown, dataDir?: string): Promise<Record<string, string>> {
  return {
    PARLEY_DATA_DIR: dataDir ?? (await tempDir(t)),
    PARLEY_PORT: String(await freePort()),
    PARLEY_OTLP_PORT: String(await freePort()),
    // How full the disk of this machine is decides nothing here.
    PARLEY_DISK_MIN_FREE_PERCENT: '0',
    // One a core is what instances have; each costs as much as its process.
    PARLEY_PARSE_THREADS: '1',
  }
}

export const localOf = async (env: Record<string, string>): Promise<Local> =>
  JSON.parse(await readFile(join(env.PARLEY_DATA_DIR as string, 'local.json'), 'utf8')) as Local

/** local.json, once it is there; fails with the launcher's output when it ends first. */
export function ready(launched: Launched, env: Record<string, string>): Promise<Local> {
  return eventually(
    'local.json of a ready launcher',
    async () => {
      if (launched.child.exitCode !== null) throw new Error(launched.output())
      const local = await localOf(env).catch(() => undefined)
      // A killed launcher leaves its file behind until the next one starts.
      return local?.pids.launcher === launched.child.pid ? local : undefined
    },
    60_000,
  )
}

export const processesOf = async (env: Record<string, string>): Promise<ProcessIdentity[]> =>
  JSON.parse(await readFile(join(env.PARLEY_DATA_DIR as string, 'processes.json'), 'utf8')) as ProcessIdentity[]

/** Resolves when none of these processes runs. */
export const allGone = (processes: readonly ProcessIdentity[]): Promise<true> =>
  eventually('the end of every process', async () => (await Promise.all(processes.map(isRunning))).every(r => !r))
