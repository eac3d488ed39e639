// Stores -> how many cores each lets one statement work on, asked once. More threads than cores make the same answer dearer: rows that
// are folded are cut into as many layers, and what is grouped into as many parts that have to be put together.
import type { Store } from './client.ts'

/** Cores of a store; Infinity as long as it has not said. */
export type CoresOf = (store: Store) => Promise<number>

/** Asks each store for its cores when it is first needed, and again where it did not answer. */
export function createCores(): CoresOf {
  const known = new WeakMap<Store, Promise<number>>()
  return store => {
    const asked = known.get(store) ?? ask(store)
    known.set(store, asked)
    return asked.catch(() => {
      known.delete(store)
      return Number.POSITIVE_INFINITY
    })
  }
}

/** What the server would give a statement that says nothing: its cores, as far as its container has them. */
async function ask(store: Store): Promise<number> {
  const [row] = await store.read<{ cores: number }>(`SELECT getSetting('max_threads') AS cores`)
  return row?.cores || Number.POSITIVE_INFINITY
}
