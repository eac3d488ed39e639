// A NATS server with JetStream on disk, for one machine: a folder goes in, an address with credentials comes out.
import { randomBytes } from 'node:crypto'
import { access, chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { delimiter, join } from 'node:path'
import { ParleyError } from '#proto/errors.ts'
import type { Child, Exit } from './child.ts'
import { describeExit, lastLines, rotateLog, startChild } from './child.ts'
import { freePort } from './ports.ts'

/** Debian keeps servers in sbin folders, which are not on the PATH of ordinary users. */
const EXTRA_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/bin']
const LOG_MAX_BYTES = 8 * 1024 * 1024
const GiB = 1024 * 1024 * 1024
const POLL_MS = 20

/** A running engine. */
export interface Engine {
  /** Address with user and password. */
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly logFile: string
  /** Resolves when the process is gone, however it came. */
  readonly exited: Promise<Exit>
  /** Ends it in order; after `graceMs` by force. */
  stop(graceMs?: number): Promise<void>
  kill(signal: NodeJS.Signals): void
}

/** The engine that runs in a child process. */
export function engineOf(child: Child, where: Pick<Engine, 'url' | 'port' | 'logFile'>): Engine {
  return {
    ...where,
    pid: child.pid,
    exited: child.exited,
    stop: async (graceMs = 4_000) => {
      await child.stop(graceMs)
    },
    kill: child.kill,
  }
}

/** What the server needs. */
export interface NatsOptions {
  /** Folder of the configuration, the data and the log; made when missing. */
  readonly dir: string
  /** 0 or left out: a free one. */
  readonly port?: number
  /** Left out: random, for this start only. */
  readonly password?: string
  /** Where to look for `nats-server`; a PATH. */
  readonly searchPath: string
  readonly startTimeoutMs?: number
  /** Called as soon as the process exists, before it answers. */
  readonly onSpawn?: (engine: Engine) => void
}

/**
 * Starts the server and resolves once it has answered on its port.
 * @throws ParleyError RUN_ENGINE_FAILED with the last lines of its log when it ends early or does not answer in time.
 */
export async function startNats(options: NatsOptions): Promise<Engine> {
  const program = await findProgram('nats-server', options.searchPath)
  if (program === undefined) {
    throw new ParleyError(
      'RUN_ENGINE_FAILED',
      'nats-server is not installed (or set NATS_URL to a server with JetStream)',
    )
  }
  const port = options.port || (await freePort())
  const password = options.password ?? randomBytes(24).toString('hex')
  const logFile = join(options.dir, 'nats.log')
  const configFile = join(options.dir, 'nats.conf')
  await mkdir(options.dir, { recursive: true, mode: 0o700 })
  await writeFile(configFile, config({ ...options, port, password }), { mode: 0o600 })
  await chmod(configFile, 0o600)
  rotateLog(logFile, LOG_MAX_BYTES)
  // The server has no channel to its starter. Linux can end it when the starter dies; elsewhere the next start finds it.
  const setpriv = process.platform === 'linux' ? await findProgram('setpriv', options.searchPath) : undefined
  const command = setpriv === undefined ? [program] : [setpriv, '--pdeathsig', 'TERM', program]
  const child = startChild({
    command: command[0] as string,
    args: [...command.slice(1), '--config', configFile],
    env: {},
    output: { file: logFile },
    ipc: false,
  })
  const engine = engineOf(child, { url: `nats://parley:${password}@127.0.0.1:${port}`, port, logFile })
  options.onSpawn?.(engine)
  try {
    await waitUntilReady({
      name: 'nats-server',
      engine,
      ask: () => greets(port),
      timeoutMs: options.startTimeoutMs ?? 15_000,
    })
  } finally {
    // It has been read, and holds a password in a place that SQL could read.
    await rm(configFile, { force: true })
  }
  return engine
}

/**
 * Asks an engine until it answers.
 * @throws ParleyError RUN_ENGINE_FAILED when it ends or the time is over; it is gone then.
 */
export async function waitUntilReady(options: {
  name: string
  engine: Engine
  ask: () => Promise<boolean>
  timeoutMs: number
}): Promise<void> {
  const { engine, name } = options
  let exit: Exit | undefined
  void engine.exited.then(value => {
    exit = value
  })
  const deadline = performance.now() + options.timeoutMs
  while (performance.now() < deadline) {
    if (exit) break
    if (await options.ask()) return
    await Promise.race([engine.exited, new Promise(resolve => setTimeout(resolve, POLL_MS))])
  }
  const what = exit ? describeExit(exit) : `did not answer within ${options.timeoutMs} ms`
  if (!exit) await engine.stop(0)
  throw new ParleyError('RUN_ENGINE_FAILED', `${name} ${what}\n${lastLines(engine.logFile, 10)}`)
}

function config(options: { dir: string; port: number; password: string }): string {
  return [
    'listen: "127.0.0.1:' + options.port + '"',
    'server_name: parley',
    `authorization { user: parley, password: "${options.password}" }`,
    // An envelope is one message; the server's own default is 1 MB.
    'max_payload: 8MB',
    'jetstream {',
    // The server makes a folder `jetstream` in it.
    `  store_dir: ${JSON.stringify(options.dir)}`,
    // Every stream has a limit of its own; a limit of the server on top could refuse the write that would free space.
    `  max_file_store: ${1024 * 1024 * GiB}`,
    `  max_memory_store: ${GiB / 4}`,
    '}',
    '',
  ].join('\n')
}

/** True when the server greets with its INFO line, which it sends once it takes connections (JetStream is up by then). */
function greets(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = createConnection({ port, host: '127.0.0.1' })
    const end = (answer: boolean): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(1_000, () => end(false))
    socket.once('error', () => end(false))
    socket.once('close', () => end(false))
    socket.once('data', bytes => end(bytes.toString('latin1').startsWith('INFO ')))
  })
}

/** The program's path, looked up in a PATH and in the folders that distributions use for servers. */
export async function findProgram(name: string, searchPath: string): Promise<string | undefined> {
  const folders = [...searchPath.split(delimiter).filter(folder => folder !== ''), ...EXTRA_FOLDERS]
  for (const folder of folders) {
    const file = join(folder, name)
    try {
      await access(file, 1)
      return file
    } catch {
      // Not here.
    }
  }
  return undefined
}
