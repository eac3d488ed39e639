// A database whose reader asks the engine once for what it is asked again over the same rows: pages of one test ask for the same
// histories and sums dozens of times, at some 25 ms of the engine's planning each. An insert through the database's store makes the reader
// forget what names the table, and every other statement of the store makes it forget everything.
import type { ReadOptions } from '#store/client.ts'
import type { WalledDatabase } from '#test/rig.ts'

interface Answer {
  /** As text: who reads may change what it got. */
  readonly rows: string
  readonly readRows: number | undefined
}

/** The same database: for tests in which nobody writes but they themselves, through `store`. */
export function remembering(db: WalledDatabase): WalledDatabase {
  const answers = new Map<string, Answer>()
  /** Counts what was written, so that an answer from before a write is not kept after it. */
  let writes = 0
  const forget = (table?: string): void => {
    writes++
    const names = new RegExp(`\\b${table}\\b`)
    for (const key of answers.keys()) if (table === undefined || names.test(key)) answers.delete(key)
  }
  const writing = async <T>(write: () => Promise<T>, table?: string): Promise<T> => {
    forget(table)
    try {
      return await write()
    } finally {
      forget(table)
    }
  }
  const { store, reader } = db
  const insert: typeof store.client.insert = given => writing(() => store.client.insert(given), given.table)
  const client = new Proxy(store.client, {
    get(target, name) {
      const value: unknown = name === 'insert' ? insert : Reflect.get(target, name)
      if (typeof value !== 'function' || value === insert) return value
      return (...given: unknown[]) => writing(async () => value.apply(target, given) as unknown)
    },
  })
  const read = async <T>(sql: string, options: ReadOptions = {}): Promise<T[]> => {
    const { parameters, settings, headers } = options
    const key = JSON.stringify([sql, parameters, settings, headers])
    const known = answers.get(key)
    if (known !== undefined) {
      options.signal?.throwIfAborted()
      if (known.readRows !== undefined) options.onRows?.(known.readRows)
      return JSON.parse(known.rows) as T[]
    }
    const before = writes
    let readRows: number | undefined
    const onRows = (rows: number): void => {
      readRows = rows
      options.onRows?.(rows)
    }
    const rows = await reader.read<T>(sql, { ...options, onRows })
    if (writes === before) answers.set(key, { rows: JSON.stringify(rows), readRows })
    return rows
  }
  return {
    ...db,
    store: { ...store, client, command: (sql, options) => writing(() => store.command(sql, options)) },
    reader: { ...reader, read },
  }
}
