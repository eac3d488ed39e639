// The parley command: operators' tools around a running instance. `./parley` without arguments lists them.
import { isParleyError } from '#proto/errors.ts'
import { endWithReader } from './reader.ts'
import {
  BACKUP_USAGE,
  CONTROL_USAGE,
  DEAD_USAGE,
  DOCTOR_USAGE,
  ERASE_USAGE,
  EXPLAIN_USAGE,
  REBUILD_USAGE,
  REMAP_USAGE,
  REPLAY_USAGE,
  RESTORE_USAGE,
  SQL_USAGE,
  UsageError,
  VERIFY_USAGE,
} from './usage.ts'

type Command = (args: readonly string[]) => Promise<number>

/** Loaded when called: each stands on other libraries, and starting is most of what a command costs. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  backup: async () => (await import('./backup.ts')).backup,
  control: async () => (await import('./control.ts')).control,
  dead: async () => (await import('./dead.ts')).dead,
  doctor: async () => (await import('./doctor.ts')).doctor,
  erase: async () => (await import('./erase.ts')).erase,
  explain: async () => (await import('./explain.ts')).explain,
  rebuild: async () => (await import('./rebuild.ts')).rebuild,
  remap: async () => (await import('./remap.ts')).remap,
  replay: async () => (await import('./replay.ts')).replay,
  restore: async () => (await import('./restore.ts')).restore,
  sql: async () => (await import('./sql.ts')).sql,
  verify: async () => (await import('./verify.ts')).verify,
}

const USAGES = [
  ...[BACKUP_USAGE, CONTROL_USAGE, DEAD_USAGE, DOCTOR_USAGE, ERASE_USAGE, EXPLAIN_USAGE, REBUILD_USAGE],
  ...[REMAP_USAGE, REPLAY_USAGE, RESTORE_USAGE, SQL_USAGE, VERIFY_USAGE],
]

endWithReader(process.stdout, code => process.exit(code))

const [name, ...args] = process.argv.slice(2)
const command = commands[name ?? '']
if (!command) {
  console.error(`usage:\n${USAGES.join('\n')}`)
  process.exitCode = 2
} else {
  try {
    process.exitCode = await (await command())(args)
  } catch (error) {
    // Mistakes in the call and in the settings are one readable line; anything else keeps its stack.
    const plain =
      error instanceof UsageError ||
      isParleyError(error) ||
      (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS')
    console.error(plain ? (error as Error).message : error)
    process.exitCode = 2
  }
}
