// What a ClickHouse and the threads of a process have done: the engine's own counters, and the kernel's CPU time by the name of the thread.
import { readdir, readFile } from 'node:fs/promises'
import type { Store } from '#store/client.ts'

const TICKS_PER_SECOND = 100

/** The engine's counters so far, by name. */
export async function engineEvents(store: Store): Promise<ReadonlyMap<string, number>> {
  const rows = await store.read<{ event: string; value: string }>('SELECT event, value FROM system.events')
  return new Map(rows.map(({ event, value }) => [event, Number(value)]))
}

/** CPU seconds of the threads of a process, by their name now; those that have ended are not in it. Linux only. */
export async function threadSeconds(pid: number): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>()
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    const stat = await readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8').catch(() => '')
    if (stat === '') continue
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const called = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'))
    // Of Node's threads only the first has a name of its own.
    const name = called !== 'node' ? called : Number(thread) === pid ? 'main' : `thread ${thread}`
    const seconds = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
    sums.set(name, (sums.get(name) ?? 0) + seconds)
  }
  return sums
}

/** What was added between two readings, largest first. */
export function grown(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): readonly (readonly [string, number])[] {
  return [...after]
    .map(([name, value]) => [name, value - (before.get(name) ?? 0)] as const)
    .filter(([, value]) => value > 0)
    .sort((a, b) => b[1] - a[1])
}
