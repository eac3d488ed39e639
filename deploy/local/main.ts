// `npm start`: the launcher's process. Reads settings, takes the data directory, starts everything, and turns signals into an
// orderly stop. Whatever goes wrong on the way is one line and exit code 1, with nothing left running.
import { join } from 'node:path'
import { isParleyError } from '#proto/errors.ts'
import { readSettings } from '#runtime/settings.ts'
import { unreadNames } from '#runtime/unread.ts'
import { readVersion } from '#runtime/version.ts'
import { launcherSettings } from './config.ts'
import { openDataDir } from './data-dir.ts'
import type { Launcher } from './launcher.ts'
import { createLauncher } from './launcher.ts'
import { openLogFile } from './logs.ts'
import { readyBlock } from './terminal.ts'

/** npm and the terminal both pass one Ctrl-C on; a second signal counts as a second wish only after this long. */
const SAME_WISH_MS = 1_000

const began = performance.now()
let launcher: Launcher | undefined
let stoppingSince: number | undefined

// The terminal may be gone before the launcher is.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop())
process.on('uncaughtException', error => void giveUp(error))
process.on('unhandledRejection', error => void giveUp(error))

try {
  const settings = readSettings(process.env, launcherSettings)
  const dataDir = await openDataDir(settings.dataDir, await readVersion())
  process.once('exit', () => dataDir.release())
  const logFile = openLogFile(join(dataDir.path, 'launcher.log'))
  const say = (line: string): void => {
    const now = new Date()
    logFile.write(`${now.toISOString()} ${line}\n`)
    console.error(`${now.toTimeString().slice(0, 8)} ${line}`)
  }
  for (const name of (await unreadNames(process.env)).unread)
    say(`${name} is set, and nothing reads it: README.md lists all settings`)
  if (stoppingSince === undefined) {
    launcher = createLauncher({ settings, dataDir, env: process.env, say })
    const { baseUrl, otelUrl, tenant } = await launcher.start()
    const facts = { baseUrl, otelUrl, ...tenant, dataDir: dataDir.path, tookMs: performance.now() - began }
    console.log(readyBlock(facts, process.stdout.isTTY))
  }
} catch (error) {
  // Stopping makes whatever was being started fail; that is no error of its own.
  if (stoppingSince === undefined) await giveUp(error)
}

/** Stops in order; a second wish ends everything at once. */
async function stop(): Promise<void> {
  if (stoppingSince !== undefined) {
    if (performance.now() - stoppingSince < SAME_WISH_MS) return
    launcher?.kill()
    process.exit(130)
  }
  stoppingSince = performance.now()
  if (launcher !== undefined) {
    console.error('\nparley: stopping; what was accepted is being stored (Ctrl-C again ends it at once)')
    await launcher.stop()
    console.error(`parley: stopped after ${((performance.now() - stoppingSince) / 1000).toFixed(1)} s`)
  }
  process.exit(0)
}

/** One line for a mistake that the operator can mend, everything for one that cannot be foreseen; nothing stays behind. */
async function giveUp(error: unknown): Promise<void> {
  if (stoppingSince !== undefined) return
  stoppingSince = performance.now()
  console.error(
    `parley: ${isParleyError(error) ? error.message : error instanceof Error ? error.stack : String(error)}`,
  )
  await launcher?.stop()
  process.exit(1)
}
