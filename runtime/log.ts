// One structured log per process (pino, JSON lines on stdout). Levels by what was lost: error = something acknowledged may be
// lost or a part stopped; warn = unexpected, nothing lost; info = what matters to an operator; debug = the rest.

import type { Logger } from 'pino'
import { pino } from 'pino'

export type Log = Logger

/** Fields that never reach a log, whatever object carries them. */
const SECRET_PATHS = [
  'authorization',
  '*.authorization',
  'api_key',
  '*.api_key',
  'password',
  '*.password',
  'token',
  '*.token',
]

/**
 * The log of one process. `part` is the process's role, e.g. `receiver`.
 *
 * Lines are written at once and not collected: whoever reads them may be gone when the process ends, and then sonic-boom 4's flush
 * at exit tries the broken pipe for ever and the process never ends. A last line written before an exit is also never lost so.
 */
export function createLog(options: { part: string; level: string }): Log {
  return pino(
    {
      level: options.level,
      base: { part: options.part, pid: process.pid },
      redact: { paths: SECRET_PATHS, censor: '[redacted]' },
      formatters: { level: label => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    pino.destination({ fd: 1, sync: true }),
  )
}
