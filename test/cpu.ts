// CPU seconds of processes, from what Linux tells of them: of a line of /proc/<pid>/stat (user, system, and the same of children that
// have ended and were waited for). Other systems tell nothing, and figures are left out there.
import { readFileSync } from 'node:fs'

/** What Linux counts in, on every machine. */
const TICKS_PER_S = 100

/** CPU seconds in a stat file, `own` and of ended `children`; undefined when there is none. */
export function cpuSecondsOf(file: string): { own: number; children: number } | undefined {
  try {
    const text = readFileSync(file, 'utf8')
    // The second field is the command in brackets, which may hold anything.
    const [user = NaN, system = NaN, childUser = NaN, childSystem = NaN] = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15)
      .map(ticks => Number(ticks) / TICKS_PER_S)
    return { own: user + system, children: childUser + childSystem }
  } catch {
    return undefined
  }
}
