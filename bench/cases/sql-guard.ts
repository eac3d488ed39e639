// The guard of tenants' SQL: how long a statement is judged, and hostile pieces spliced into ordinary questions by the thousand, none of
// which may pass. `npm run bench -- sql-guard [statements] [seed]`.
import { ORDINARY } from '#store/guard/fixture-corpus.ts'
import { spliced } from '#store/guard/fixture-splice.ts'
import { createGuard } from '#store/guard/guard.ts'
import { walledDatabase } from '#test/rig.ts'
import { median, percentile } from '../stats.ts'
import { withTeardown } from '../teardown.ts'

const STATEMENTS = 5_000
const ROUNDS = 20

/** Runs the case and prints what it met. */
export async function sqlGuard(): Promise<void> {
  const count = Number(process.argv[3] ?? STATEMENTS)
  const seed = Number(process.argv[4] ?? Date.now() % 1_000_000_000)
  await withTeardown(async t => {
    const { sql: store } = await walledDatabase(t)
    const guard = createGuard({ store })
    const times: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      for (const text of ORDINARY) {
        const began = performance.now()
        const { ok } = await guard.check(text)
        times.push(performance.now() - began)
        if (!ok) throw new Error(`an ordinary question is refused: ${text}`)
      }
    }
    const shown = (ms: number): string => `${ms.toFixed(1)} ms`
    console.log(`ordinary: median ${shown(median(times))}, p99 ${shown(percentile(times, 99))}`)
    for (const text of spliced(seed, count)) {
      if ((await guard.check(text)).ok) throw new Error(`it passes: ${text}`)
    }
    console.log(`${count} spliced statements, seed ${seed}: none passes`)
  })
}
