// What engines, processes and the machine do second by second while a run goes on -> told of the seconds in which a span was late, so
// that one sees what it waited for.
import { readFile } from 'node:fs/promises'
import type { Store } from '#store/client.ts'
import { cpuSeconds } from '../process.ts'

/** What is looked at. */
export interface Watched {
  readonly store: Store
  /** Processes by name. */
  pids(): ReadonlyMap<string, number>
  /** Sums that the processors tell of themselves. */
  metrics(): Promise<ReadonlyMap<string, number>>
}

/** Looks that are kept, one a second. */
const KEPT = 120
/** Smaller changes of one second are not told. */
const LEAST = 0.005
const TICKS_PER_S = 100
/** Fields of the first line of /proc/stat. */
const TIMES = { idle: 3, 'waiting for disks': 4, 'taken by the host': 7 } as const

const MERGES = `
  SELECT concat(table, if(is_mutation, ' mutation', ''), ': ', toString(num_parts), ' parts, ',
      toString(intDiv(total_size_bytes_compressed, 1000000)), ' MB, ', toString(rows_read), ' rows read, ',
      toString(round(elapsed, 1)), ' s, ', toString(round(progress * 100)), ' %') AS told
  FROM system.merges ORDER BY total_size_bytes_compressed DESC`
const COUNTS = `
  SELECT (SELECT count() FROM system.parts WHERE active AND table = 'events') AS parts,
    (SELECT count() FROM system.processes) AS queries`

/** Takes a look whenever it is told to. */
export class Watch {
  readonly #watched: Watched
  readonly #startedAt: number
  readonly #looks: { readonly at: number; readonly told: string }[] = []
  #before: ReadonlyMap<string, number> = new Map()

  /** `startedAt`: from when on times are counted, as `performance.now()` says it. */
  constructor(watched: Watched, startedAt: number) {
    this.#watched = watched
    this.#startedAt = startedAt
  }

  /** @throws when the store is away. */
  async look(): Promise<void> {
    const at = performance.now() - this.#startedAt
    const { store } = this.#watched
    const [merges, [counts]] = await Promise.all([
      store.read<{ told: string }>(MERGES),
      store.read<{ parts: string; queries: string }>(COUNTS),
    ])
    const now = new Map([...(await ofTheMachine()), ...(await this.#ofProcesses())])
    const changes = [...now].flatMap(([name, value]) => {
      const change = value - (this.#before.get(name) ?? value)
      return change > LEAST ? [`${name} ${change.toFixed(2)}`] : []
    })
    this.#before = now
    const first = `${changes.join(', ')}; ${counts?.parts} parts of events, ${counts?.queries} queries`
    this.#looks.push({ at, told: [first, ...merges.map(({ told }) => `    ${told}`)].join('\n') })
    if (this.#looks.length > KEPT) this.#looks.shift()
  }

  /** What was seen from one moment to another, ms since the beginning, and a second around it. */
  told(from: number, to: number): string {
    return this.#looks
      .filter(({ at }) => at >= from - 1_000 && at <= to + 1_000)
      .map(({ at, told }) => `  ${(at / 1000).toFixed(1)} s: ${told}`)
      .join('\n')
  }

  /** Seconds of CPU, and of waiting for the steps of moves, so far. */
  async #ofProcesses(): Promise<Map<string, number>> {
    const found = new Map<string, number>()
    for (const [name, pid] of this.#watched.pids()) found.set(name, await cpuSeconds(pid))
    for (const [name, value] of await this.#watched.metrics()) {
      const step = /move_seconds_(sum|count)\{.*step="(\w+)"/.exec(name)
      if (step) found.set(`${step[2]}${step[1] === 'sum' ? '' : ', times'}`, value)
    }
    return found
  }
}

/** Seconds since it started in which something waited for CPUs or disks, and of its CPUs; where the system doesn't tell, none. */
async function ofTheMachine(): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (const kind of ['cpu', 'io']) {
    const text = await readFile(`/proc/pressure/${kind}`, 'utf8').catch(() => '')
    for (const [, how, micros] of text.matchAll(/^(some|full) .*total=(\d+)/gm))
      found.set(`${how} wait for ${kind}`, Number(micros) / 1e6)
  }
  const fields = /^cpu +(.*)$/m.exec(await readFile('/proc/stat', 'utf8').catch(() => ''))?.[1]?.split(' ') ?? []
  for (const [name, at] of Object.entries(TIMES)) found.set(name, Number(fields[at] ?? 0) / TICKS_PER_S)
  return found
}
