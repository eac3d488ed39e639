// The parley command: operators' tools around a running instance. `./parley --help` lists them, `./parley COMMAND --help` says one.
import { isParleyError } from '#proto/errors.ts'
import { readVersion } from '#runtime/version.ts'
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

const [name = '', ...args] = process.argv.slice(2)
const command = commands[name]
if (args.some(isHelp) || (isHelp(name) && args.length === 0)) console.log(usageOf(name))
else if (name === '--version') console.log(await readVersion())
else if (command === undefined) {
  console.error(usageOf(''))
  process.exitCode = 2
} else {
  try {
    process.exitCode = await (await command())(args)
  } catch (error) {
    console.error(told(error, name))
    // Not exitCode: what was opened before the mistake, a connection to NATS for example, would hold the process for ever.
    process.exit(2)
  }
}

function isHelp(arg: string): boolean {
  return arg === '--help' || arg === '-h'
}

/** The lines of one command, or of all. */
function usageOf(name: string): string {
  const usage = USAGES.filter(lines => lines.startsWith(`parley ${name} `))
  return `usage:\n${(usage.length === 0 ? USAGES : usage).join('\n')}`
}

/** Mistakes in the call and in the settings are readable lines; anything else keeps its stack. */
function told(error: unknown, name: string): unknown {
  if (error instanceof UsageError || isParleyError(error)) return error.message
  const isMisspelt = (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS') ?? false
  return isMisspelt ? `${(error as Error).message}\n\n${usageOf(name)}` : error
}
