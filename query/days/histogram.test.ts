import t from 'tap'
import { createHistogram } from './histogram.ts'

t.test('buckets are counted, however large they are, and taken once', async t => {
  const histogram = createHistogram()
  for (const bucket of [3, -1, 254, 255, 3, 32_766, 256]) histogram.add(bucket)
  t.strictSame(histogram.take(), { buckets: [-1, 3, 254, 255, 256, 32_766], counts: [1, 2, 1, 1, 1, 1] })
  t.strictSame(histogram.take(), { buckets: [], counts: [] })
  histogram.add(0)
  histogram.add(9, 5_000_000_000)
  histogram.add(9, 2)
  t.strictSame(histogram.take(), { buckets: [0, 9], counts: [1, 5_000_000_002] })
})
