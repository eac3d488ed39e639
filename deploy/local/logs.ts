// What parts write: all of it to a file each, of bounded size; warnings and errors also to the terminal, in one short line.
import type { WriteStream } from 'node:fs'
import { createWriteStream, renameSync, statSync } from 'node:fs'
import type { Readable } from 'node:stream'

/** A log file takes this much, then moves to `<file>.1`, which goes when the next one moves there. */
const MAX_BYTES = 16 * 1024 * 1024
/** A crash without a log line still says why on the terminal, but not a page of it. */
const MAX_TERMINAL_CHARS = 400

/** A file that grows to `MAX_BYTES` twice at most. */
export interface LogFile {
  write(text: string): void
  /** Resolves when everything is written. */
  close(): Promise<void>
}

/** Opens a log file for appending. */
export function openLogFile(file: string): LogFile {
  let size = sizeOf(file)
  let stream: WriteStream | undefined
  const open = (): WriteStream => {
    const opened = createWriteStream(file, { flags: 'a', mode: 0o600 })
    // A full disk must not end the launcher.
    opened.on('error', () => {})
    return opened
  }
  return {
    write: text => {
      if (size > MAX_BYTES) {
        stream?.end()
        stream = undefined
        try {
          renameSync(file, `${file}.1`)
        } catch {
          // Removed by hand.
        }
        size = 0
      }
      stream ??= open()
      size += Buffer.byteLength(text)
      stream.write(text)
    },
    close: () => new Promise(resolve => (stream === undefined ? resolve() : stream.end(() => resolve()))),
  }
}

/** Copies what a process writes to its file; `say` gets the lines worth an operator's eye. */
export function copyLog(
  name: string,
  streams: readonly (Readable | null)[],
  file: LogFile,
  say: (line: string) => void,
): void {
  for (const stream of streams) {
    let rest = ''
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      file.write(chunk)
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const text = worthSaying(line)
        if (text !== undefined) say(`${name}: ${text}`)
      }
    })
  }
}

/** The short form of a warning, an error, or of anything that is no log line (a crash); undefined for the rest. */
export function worthSaying(line: string): string | undefined {
  if (line.trim() === '') return undefined
  const entry = parse(line)
  if (entry === undefined) return line.slice(0, MAX_TERMINAL_CHARS)
  if (entry.level !== 'warn' && entry.level !== 'error' && entry.level !== 'fatal') return undefined
  const { err, msg = '' } = entry
  const details = [...(err?.message === undefined ? [] : [err.message]), ...Object.entries(entry).flatMap(namedValue)]
  return `${entry.level}: ${msg}${details.length === 0 ? '' : ` (${details.join(', ')})`}`.slice(0, MAX_TERMINAL_CHARS)
}

interface LogEntry {
  readonly level?: unknown
  readonly msg?: string
  readonly err?: { readonly message?: string }
  readonly [field: string]: unknown
}

/** What every line has; the launcher says the time and the process by itself. */
const OF_EVERY_LINE = ['level', 'time', 'part', 'pid', 'msg']

/** Which partition, which organization, which code: a field in words, unless it is an object. */
function namedValue([field, value]: [string, unknown]): string[] {
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  return isPlain && !OF_EVERY_LINE.includes(field) ? [`${field} ${value}`] : []
}

function parse(line: string): LogEntry | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line) as LogEntry
  } catch {
    return undefined
  }
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size
  } catch {
    return 0
  }
}
