// A histogram whose observation is two additions; Prometheus' form is made when it is scraped. The library's own costs about a
// microsecond an observation, a sixth of what a request may cost.
import type { Metric } from 'prom-client'
import type { Metrics } from '#runtime/metrics.ts'

/** Something that is measured often. */
export interface PlainHistogram {
  observe(value: number): void
}

/** Registers a histogram. `bounds` are upper limits, ascending, in the unit that the name carries. */
export function plainHistogram(
  metrics: Metrics,
  name: string,
  help: string,
  bounds: readonly number[],
): PlainHistogram {
  const full = `parley_${name}`
  const counts = new Float64Array(bounds.length + 1)
  let sum = 0
  const values = () => {
    let total = 0
    const buckets = [...bounds, '+Inf'].map((le, i) => {
      total += counts[i] as number
      return { metricName: `${full}_bucket`, labels: { le }, value: total }
    })
    return [
      ...buckets,
      { metricName: `${full}_sum`, labels: {}, value: sum },
      { metricName: `${full}_count`, labels: {}, value: total },
    ]
  }
  // What the registry asks of a metric; its declaration names classes only.
  const metric = {
    name: full,
    help,
    get: async () => ({ name: full, help, type: 'histogram', aggregator: 'sum', values: values() }),
    reset: () => {
      counts.fill(0)
      sum = 0
    },
  }
  metrics.registry.registerMetric(metric as unknown as Metric)
  return {
    observe: value => {
      let at = 0
      while (at < bounds.length && value > (bounds[at] as number)) at++
      counts[at] = (counts[at] as number) + 1
      sum += value
    },
  }
}
