// The instance that is soaked: one that runs, found by its data directory, or one of the soak's own, which goes with it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually, nodeEnv } from '#test/rig.ts'

const LAUNCHER = fileURLToPath(new URL('../../deploy/local/main.ts', import.meta.url))
const START_MS = 60_000

/** What an instance says of itself in local.json. */
export interface Local {
  readonly base_url: string
  readonly otel_url: string
  readonly org_id: string
  readonly nats_url: string
  readonly clickhouse_url: string
  /** 0: down for the moment; null: an engine that is elsewhere. */
  readonly pids: Readonly<Record<string, number | null | readonly number[]>>
}

/** A running instance. */
export interface Instance {
  /** As it is now: a process that was started again has another id. */
  local(): Promise<Local>
  stop(): Promise<void>
}

/** Takes the instance of a data directory; starts one when none is named. */
export async function openInstance(dataDir: string): Promise<Instance> {
  if (dataDir !== '') {
    const instance = { local: () => readLocal(dataDir), stop: async () => {} }
    await instance.local()
    return instance
  }
  const own = await mkdtemp(join(tmpdir(), 'parley-soak-'))
  const launcher = spawn(process.execPath, [LAUNCHER], {
    env: {
      PATH: process.env.PATH,
      ...nodeEnv,
      PARLEY_DATA_DIR: own,
      PARLEY_PORT: '0',
      PARLEY_OTLP_PORT: '0',
    },
    // A Ctrl-C is the soak's to hear: it stops the launcher itself.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const said: string[] = []
  launcher.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.push(text)
    if (said.length > 100) said.shift()
  })
  const stop = async (): Promise<void> => {
    await end(launcher)
    await rm(own, { recursive: true, force: true })
  }
  try {
    await eventually('the instance to be ready', () => readLocal(own).then(isReady), START_MS)
  } catch (error) {
    await stop()
    throw new Error(said.join(''), { cause: error })
  }
  return { local: () => readLocal(own), stop }
}

async function isReady({ base_url }: Local): Promise<boolean> {
  return (await fetch(`${base_url}/readyz`)).status === 200
}

async function end(launcher: ChildProcess): Promise<void> {
  if (launcher.exitCode !== null || launcher.signalCode !== null) return
  const gone = once(launcher, 'close')
  launcher.kill('SIGTERM')
  await gone
}

async function readLocal(dataDir: string): Promise<Local> {
  return JSON.parse(await readFile(join(dataDir, 'local.json'), 'utf8')) as Local
}

/** The processes of an instance by name; those that are down or elsewhere are left out. */
export function processesOf({ pids }: Local): Map<string, number> {
  const found = new Map<string, number>()
  for (const [name, value] of Object.entries(pids)) {
    const list = typeof value === 'object' && value !== null ? value : [value]
    // `receivers` is a list, `nats` is a name.
    const one = list === value ? name.replace(/s$/, '') : name
    list.forEach((pid, i) => {
      if (pid) found.set(list.length === 1 ? one : `${one} ${i + 1}`, pid)
    })
  }
  return found
}
