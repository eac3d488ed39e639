// The data directory: owned by one launcher at a time, never opened by an older build than the one that wrote it, and the place of
// what has to outlive a launcher (passwords, the processes it started, local.json).
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { chmod, link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ParleyError } from '#proto/errors.ts'
import { makeFolder } from '#runtime/folder.ts'
import type { ProcessIdentity } from './identity.ts'
import { identify, isRunning } from './identity.ts'

/** Raised when an older build could no longer read what this one writes. */
const DATA_FORMAT = 1
/** How long a process of a launcher that is gone may take to end after SIGTERM. */
const LEFTOVER_GRACE_MS = 6_000
const POLL_MS = 25

/** What the launcher keeps between its starts; only its user may read it. */
export interface Secrets {
  readonly natsPassword: string
  readonly clickhousePassword: string
  /** The organization that the first start made, and its key. */
  readonly organization?: string
  readonly apiKey?: string
  /** The owner's first password. */
  readonly ownerPassword?: string
}

/** An owned data directory. */
export interface DataDir {
  /** Absolute. */
  readonly path: string
  readonly secrets: Secrets
  saveSecrets(secrets: Secrets): Promise<void>
  /** Remembers a started process, so that the next start can end it should this launcher be killed. */
  remember(pid: number): Promise<void>
  /** Writes local.json in one step. */
  publish(local: unknown): Promise<void>
  /** Removes local.json: nothing runs here. */
  unpublish(): Promise<void>
  /** Gives the directory up; synchronous, for the very end of the process. */
  release(): void
}

/**
 * Takes a data directory: makes it when missing, locks it, checks its version, ends what a killed launcher left running.
 * @throws ParleyError RUN_DATA_DIR_IN_USE, RUN_DATA_DIR_NEWER, or CFG_INVALID when the folder cannot be written.
 */
export async function openDataDir(folder: string, version: string): Promise<DataDir> {
  const path = resolve(folder)
  try {
    await makeFolder(path, 0o700)
  } catch (error) {
    throw new ParleyError('CFG_INVALID', `PARLEY_DATA_DIR: ${path} cannot be made (${String(error)})`, { cause: error })
  }
  const lockFile = join(path, 'launcher.lock')
  await lock(path, lockFile)
  try {
    await checkVersion(path, version)
    await rm(join(path, 'local.json'), { force: true })
    const startedFile = join(path, 'processes.json')
    await endLeftovers(await readJson<ProcessIdentity[]>(startedFile, []))
    const secretsFile = join(path, 'secrets.json')
    const localFile = join(path, 'local.json')
    const known = await readJson<Secrets | undefined>(secretsFile, undefined)
    const secrets = known ?? { natsPassword: password(), clickhousePassword: password() }
    if (known === undefined) await writeJson(secretsFile, secrets)
    const inTurn = createQueue()
    let started: readonly ProcessIdentity[] = []
    return {
      path,
      secrets,
      saveSecrets: value => inTurn(() => writeJson(secretsFile, value)),
      remember: pid =>
        inTurn(async () => {
          const identity = await identify(pid)
          const running = await Promise.all(started.map(isRunning))
          started = [...started.filter((_, i) => running[i]), ...(identity === undefined ? [] : [identity])]
          await writeJson(startedFile, started)
        }),
      publish: local => inTurn(() => writeJson(localFile, local)),
      unpublish: () => inTurn(() => rm(localFile, { force: true })),
      release: () => rmSync(lockFile, { force: true }),
    }
  } catch (error) {
    await rm(lockFile, { force: true })
    throw error
  }
}

/** Runs jobs one after the other: two writers of one file would take each other's unfinished copy. */
function createQueue(): <T>(job: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return job => {
    const next = last.then(job)
    last = next.catch(() => {})
    return next
  }
}

const password = (): string => randomBytes(24).toString('hex')

/**
 * A lock is a file with the owner's identity, put in place by `link`, which fails when there is one and never shows half a file.
 * A lock whose owner is gone is moved aside and looked at again: between the look and the move someone else may have taken it.
 */
async function lock(path: string, lockFile: string): Promise<void> {
  const self = await identify(process.pid)
  if (self === undefined) throw new ParleyError('BUG', 'this process cannot be identified')
  const own = `${lockFile}.${process.pid}`
  try {
    await writeFile(own, JSON.stringify(self), { mode: 0o600 })
  } catch (error) {
    throw new ParleyError('CFG_INVALID', `PARLEY_DATA_DIR: ${path} cannot be written (${String(error)})`, {
      cause: error,
    })
  }
  try {
    for (;;) {
      try {
        await link(own, lockFile)
        return
      } catch (error) {
        if (!isCode(error, 'EEXIST')) throw error
      }
      await refuseIfOwned(path, lockFile)
      const aside = `${own}.stale`
      try {
        await rename(lockFile, aside)
      } catch (error) {
        if (isCode(error, 'ENOENT')) continue
        throw error
      }
      try {
        await refuseIfOwned(path, aside)
      } catch (error) {
        await link(aside, lockFile).catch(() => {})
        throw error
      } finally {
        await rm(aside, { force: true })
      }
    }
  } finally {
    await rm(own, { force: true })
  }
}

async function refuseIfOwned(path: string, lockFile: string): Promise<void> {
  const owner = await readJson<ProcessIdentity | undefined>(lockFile, undefined)
  if (owner !== undefined && (await isRunning(owner))) {
    throw new ParleyError(
      'RUN_DATA_DIR_IN_USE',
      `${path} (process ${owner.pid}); set PARLEY_DATA_DIR to another folder or stop that instance`,
    )
  }
}

async function checkVersion(path: string, version: string): Promise<void> {
  const file = join(path, 'version.json')
  const found = await readJson<{ format: number; version: string } | undefined>(file, undefined)
  if (found !== undefined && found.format > DATA_FORMAT) {
    throw new ParleyError(
      'RUN_DATA_DIR_NEWER',
      `${path} belongs to parley ${found.version} and this is ${version}; set PARLEY_DATA_DIR to another folder or update`,
    )
  }
  await writeJson(file, { format: DATA_FORMAT, version })
}

/** Ends processes of a launcher that could not do it itself. They are sure to be its own: pid and start are compared. */
async function endLeftovers(processes: readonly ProcessIdentity[]): Promise<void> {
  const deadline = performance.now() + LEFTOVER_GRACE_MS
  const left = async (): Promise<ProcessIdentity[]> => {
    const running = await Promise.all(processes.map(isRunning))
    return processes.filter((_, i) => running[i])
  }
  const signal = (signals: NodeJS.Signals, targets: readonly ProcessIdentity[]): void => {
    for (const { pid } of targets) {
      try {
        process.kill(pid, signals)
      } catch {
        // Gone in between.
      }
    }
  }
  let running = await left()
  signal('SIGTERM', running)
  while (running.length > 0) {
    if (performance.now() > deadline) signal('SIGKILL', running)
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
    running = await left()
  }
}

async function readJson<T>(file: string, fallback: T): Promise<T> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as T
  } catch (error) {
    // Cut files cannot come from parley, which renames whole ones into place; an empty disk may still leave one.
    if (isCode(error, 'ENOENT') || error instanceof SyntaxError) return fallback
    throw error
  }
}

/** Writes a file that is either the old or the new one whenever it is read; only its user may read it. */
async function writeJson(file: string, value: unknown): Promise<void> {
  const next = `${file}.next`
  await writeFile(next, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 })
  await chmod(next, 0o600)
  await rename(next, file)
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
