// The parts of one machine: which environment each gets, and how they are started under supervision.
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ParleyError } from '#proto/errors.ts'
import type { ReadyMessage } from '#runtime/part.ts'
import type { Env } from '#runtime/settings.ts'
import type { Child } from './child.ts'
import type { Fleet, Group } from './fleet.ts'
import type { LogFile } from './logs.ts'
import { copyLog, openLogFile } from './logs.ts'
import { startPartProcess } from './part.ts'

/** A part that neither ends nor gets ready is taken for stuck. */
const READY_TIMEOUT_MS = 60_000

/** Variables that are handed on to parts besides PARLEY_*. */
const HANDED_ON = ['NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'TZ']

/** The launcher's own environment, as far as parts get it, and what they all need. */
export function partEnvironment(
  env: Env,
  engines: { natsUrl: string; clickhouseUrl: string; readerUrl: string; sqlUrl: string; database: string },
): Record<string, string> {
  const own = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && (entry[0].startsWith('PARLEY_') || HANDED_ON.includes(entry[0])),
  )
  return {
    ...Object.fromEntries(own),
    NATS_URL: engines.natsUrl,
    CLICKHOUSE_URL: engines.clickhouseUrl,
    PARLEY_READER_URL: engines.readerUrl,
    PARLEY_SQL_URL: engines.sqlUrl,
    PARLEY_DATABASE: engines.database,
    // Several processes share this environment: each takes a free port for /metrics and says which.
    PARLEY_OPS_PORT: '0',
  }
}

/** Starts parts of the fleet and keeps what they say. */
export interface PartKeeper {
  /** Starts all parts and resolves when all are ready. */
  keepAll(options: {
    settings: { readonly host: string; readonly receivers: number; readonly processors: number }
    env: Readonly<Record<string, string>>
    port: number
    otlpPort: number
    queryPort: number
  }): Promise<void>
  /** The port of /metrics and /readyz of each part, by name. */
  opsPorts(): Readonly<Record<string, number>>
  closeLogs(): Promise<void>
}

/** Makes a keeper whose parts log to `<logsDir>/<name>.log`. */
export function createPartKeeper(options: { fleet: Fleet; logsDir: string; say: (line: string) => void }): PartKeeper {
  const logs: LogFile[] = []
  const opsPorts = new Map<string, number>()
  const keep = (group: Group, name: string, main: string, env: Readonly<Record<string, string>>): Promise<void> => {
    const log = openLogFile(join(options.logsDir, `${name}.log`))
    logs.push(log)
    return options.fleet.keep(group, name, async spawned => {
      const { child, ready } = startPartProcess({ main, env, output: 'pipe' })
      copyLog(name, [child.process.stdout, child.process.stderr], log, options.say)
      spawned(child)
      const { opsPort } = await inTime(child, ready, main)
      opsPorts.set(name, opsPort)
    })
  }
  return {
    keepAll: async ({ settings, env, port, otlpPort, queryPort }) => {
      const queryEnv = { ...env, PARLEY_QUERY_HOST: '127.0.0.1', PARLEY_QUERY_PORT: String(queryPort) }
      const receiverEnv = {
        ...env,
        PARLEY_HOST: settings.host,
        PARLEY_PORT: String(port),
        PARLEY_OTLP_PORT: String(otlpPort),
        PARLEY_QUERY_URL: `http://127.0.0.1:${queryPort}`,
      }
      await Promise.all([
        keep('query', 'query', 'query/main.ts', queryEnv),
        keep('query', 'analysis', 'analysis/main.ts', env),
        ...names('processor', settings.processors).map(name => keep('processors', name, 'processors/main.ts', env)),
        ...names('receiver', settings.receivers).map(name => keep('receivers', name, 'ingest/main.ts', receiverEnv)),
      ])
    },
    opsPorts: () => Object.fromEntries(opsPorts),
    closeLogs: async () => {
      await Promise.all(logs.map(log => log.close()))
    },
  }
}

/** The ready message, or the end of a part that does not get ready in time. */
async function inTime(child: Child, ready: Promise<ReadyMessage>, main: string): Promise<ReadyMessage> {
  const timer = new AbortController()
  const tooLate = delay(READY_TIMEOUT_MS, undefined, { signal: timer.signal }).then(() => {
    throw new ParleyError('RUN_PART_FAILED', `${main} was not ready within ${READY_TIMEOUT_MS / 1000} s`)
  })
  tooLate.catch(() => {})
  try {
    return await Promise.race([ready, tooLate])
  } catch (error) {
    child.kill('SIGKILL')
    await child.exited
    throw error
  } finally {
    timer.abort()
  }
}

/** receiver-1, receiver-2, … */
function names(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${kind}-${i + 1}`)
}
