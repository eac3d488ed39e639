// Requests made by chance: no answer that the catalogue does not name, no hang, nothing of another organization. A hundred thousand of
// them: `npm run bench -- query-fuzz`.
import t from 'tap'
import { applyStreams } from '#streams/apply.ts'
import { testLimits } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'
import { startDataNode } from './fixture-data.ts'
import { fuzzNode, MARK, writeMarked } from './fuzz/run.ts'

const REQUESTS = scaled({ sample: 300, full: 3_000 })
const SEED = 20_261_122

t.test('whatever is asked, the answer is one of the catalogue and of one organization', async t => {
  const node = await startDataNode(t)
  // Streams to look for what waits.
  await applyStreams(node.nc, testLimits)
  await writeMarked(node)
  const theirs = await node.post('raw-logs', { time_range: '1w' }, node.b.apiKey)
  t.ok(JSON.stringify(theirs.body).includes(MARK), 'the other organization has what must not be seen')
  const report = await fuzzNode(node, REQUESTS, SEED)
  t.ok((report.byStatus['200'] ?? 0) > REQUESTS / 10, `many mean something: ${JSON.stringify(report.byStatus)}`)
  const still = await node.post('raw-logs', { time_range: '1w' })
  t.equal(still.status, 200)
})
