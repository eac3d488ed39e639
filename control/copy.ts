// The control bucket as plain records, and back: for backups, moves to another NATS, and a look with other tools.
import type { KV } from '@nats-io/kv'
import { createRecord } from '#control/lists.ts'
import { GUARD_KEY } from '#control/records.ts'
import { ParleyError } from '#proto/errors.ts'
import { LAYOUT_KEY } from '#proto/streams.ts'

/** One record. */
export interface ControlLine {
  readonly key: string
  readonly value: unknown
}

/** What speaks of one installation's machines, or of the moment: never copied. */
const OF_THIS_PLACE = [LAYOUT_KEY, GUARD_KEY]
/** Kinds that open doors by themselves, or are of no use without the browsers that hold the other half. */
const SECRET_KINDS = ['signing', 'secret', 'password', 'session']
const KEY = /^[-/_=.a-zA-Z0-9]{1,500}$/

const isCopied = (key: string, secrets: boolean): boolean =>
  !OF_THIS_PLACE.includes(key) && (secrets || !SECRET_KINDS.includes(key.split('.', 1)[0] ?? ''))

/** All records as they stand now, ordered by key. */
export async function exportControl(records: KV, options: { secrets: boolean }): Promise<ControlLine[]> {
  const { values } = await records.status()
  const lines: ControlLine[] = []
  if (values === 0) return lines
  const watch = await records.watch()
  for await (const entry of watch) {
    if (entry.operation === 'PUT' && isCopied(entry.key, options.secrets)) {
      lines.push({ key: entry.key, value: entry.json<unknown>() })
    }
    if (entry.delta === 0) break
  }
  watch.stop()
  return lines.sort((a, b) => (a.key < b.key ? -1 : 1))
}

/**
 * JSON lines -> records.
 * @throws ParleyError REQ_BODY_INVALID naming the line: nothing is written from a file that is not whole.
 */
export function readControlLines(text: string): ControlLine[] {
  return text.split('\n').flatMap((line, i) => {
    if (line.trim() === '') return []
    const wrong = (cause?: unknown) =>
      new ParleyError('REQ_BODY_INVALID', `line ${i + 1} is no {"key", "value"}`, { cause })
    let read: Partial<ControlLine> | null
    try {
      read = JSON.parse(line) as Partial<ControlLine> | null
    } catch (cause) {
      throw wrong(cause)
    }
    if (typeof read?.key !== 'string' || !KEY.test(read.key) || typeof read.value !== 'object' || read.value === null) {
      throw wrong()
    }
    return [{ key: read.key, value: read.value }]
  })
}

/** Writes records; what stands there stays unless it is to be overwritten. */
export async function importControl(
  records: KV,
  lines: readonly ControlLine[],
  options: { overwrite: boolean },
): Promise<{ written: number; kept: number }> {
  const counts = { written: 0, kept: 0 }
  for (const { key, value } of lines) {
    if (!isCopied(key, true)) continue
    if (options.overwrite) await records.put(key, JSON.stringify(value))
    else if (!(await createRecord(records, key, value))) {
      counts.kept++
      continue
    }
    counts.written++
  }
  return counts
}
