// Requests made by chance against a query node over real engines: `npm run bench -- query-fuzz [requests] [seed]`. The first answer that
// the catalogue does not name, that holds another organization's data or that does not come ends the run with its request.
import { startDataNode } from '#query/fixture-data.ts'
import { fuzzNode, writeMarked } from '#query/fuzz/run.ts'
import { applyStreams } from '#streams/apply.ts'
import { testLimits } from '#test/rig.ts'
import { withTeardown } from '../teardown.ts'

const REQUESTS = 100_000
const PORTION = 5_000

/** Runs the case and prints what it met. */
export async function queryFuzz(): Promise<void> {
  const requests = Number(process.argv[3] ?? REQUESTS)
  const seed = Number(process.argv[4] ?? Date.now() % 1_000_000_000)
  console.log(`${requests} requests, seed ${seed}`)
  const byStatus: Record<string, number> = {}
  let unreached: readonly string[] | undefined
  await withTeardown(async t => {
    const node = await startDataNode(t)
    await applyStreams(node.nc, testLimits)
    await writeMarked(node)
    for (let done = 0; done < requests; done += PORTION) {
      const report = await fuzzNode(node, Math.min(PORTION, requests - done), seed + done)
      for (const [status, count] of Object.entries(report.byStatus)) byStatus[status] = (byStatus[status] ?? 0) + count
      unreached = unreached === undefined ? report.unreached : unreached.filter(name => report.unreached.includes(name))
      console.log(`${Math.min(done + PORTION, requests)} requests:`, byStatus)
    }
    console.log('never answered 2xx:', unreached)
  })
}
