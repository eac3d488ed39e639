// Prometheus metrics of one process: a registry of its own (nothing global), process metrics included.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** The process's registry and the three instruments, prefixed `parley_`. */
export interface Metrics {
  readonly registry: Registry
  counter<L extends string = never>(name: string, help: string, labels?: readonly L[]): Counter<L>
  gauge<L extends string = never>(name: string, help: string, labels?: readonly L[]): Gauge<L>
  /** `buckets` in the unit that the name carries. */
  histogram<L extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    labels?: readonly L[],
  ): Histogram<L>
}

/** Metrics of a process whose role is `part`. */
export function createMetrics(part: string): Metrics {
  const registry = new Registry()
  registry.setDefaultLabels({ part })
  // The event loop's delay is sampled twice a second: the library's own 10 ms cost an idle process 0.7 % of a core, 100 ms most of
  // what was left of an idle query node. What holds a loop for half a second or longer is still seen.
  collectDefaultMetrics({ register: registry, prefix: 'parley_', eventLoopMonitoringPrecision: 500 })
  const registers = [registry]
  return {
    registry,
    counter: (name, help, labels = []) =>
      new Counter({ name: `parley_${name}`, help, labelNames: [...labels], registers }),
    gauge: (name, help, labels = []) => new Gauge({ name: `parley_${name}`, help, labelNames: [...labels], registers }),
    histogram: (name, help, buckets, labels = []) =>
      new Histogram({ name: `parley_${name}`, help, buckets, labelNames: [...labels], registers }),
  }
}
