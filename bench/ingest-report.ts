// The tables of the ingestion bench: throughput and ratios, CPU, latency, and a sender alone.
import { availableParallelism } from 'node:os'
import type { ContenderName, Figures, Outcome } from './contest.ts'
import { table } from './stats.ts'

const SERVERS = ['bare', 'parley', 'ordinary'] as const
const NOTHING = '–'

/** All tables, as Markdown. */
export function reportOf(outcomes: readonly Outcome[]): string {
  const lone = outcomes.filter(outcome => outcome.figures.publish !== undefined)
  return [
    '### Requests per second',
    throughput(outcomes),
    '### CPU seconds per million requests, and per million spans',
    cpu(outcomes),
    '### What bounds a rate',
    bounds(outcomes),
    '### Latency, p50 / p99 / p99.9 in ms, and failures',
    latency(outcomes),
    ...(lone.length === 0 ? [] : ['### A sender alone', alone(lone)]),
  ].join('\n\n')
}

function throughput(outcomes: readonly Outcome[]): string {
  return table(
    ['load', 'bytes', 'connections', 'bare (a)', 'parley (b)', 'ordinary (c)', 'b/a', 'b/c', 'load generator, cores'],
    outcomes.map(({ load, bodyBytes, connections, figures }) => [
      load,
      bodyBytes,
      connections,
      ...SERVERS.map(name => show(figures[name]?.requestsPerSecond)),
      ratio(figures, 'requestsPerSecond', 'parley', 'bare'),
      ratio(figures, 'requestsPerSecond', 'parley', 'ordinary'),
      SERVERS.map(name => figures[name]?.generatorCores.toFixed(2) ?? NOTHING).join(' / '),
    ]),
  )
}

function cpu(outcomes: readonly Outcome[]): string {
  return table(
    [
      ...['load', 'connections', 'bare', 'receiver', 'ordinary', 'ordinary / receiver'],
      ...['NATS for parley', 'NATS for ordinary', 'load generator', 'all three, for parley'],
      ...['receiver, a million spans', 'NATS, a million spans'],
    ],
    outcomes.map(({ load, connections, spans, figures }) => [
      load,
      connections,
      ...SERVERS.map(name => show(figures[name]?.serverCpu)),
      ratio(figures, 'serverCpu', 'ordinary', 'parley'),
      show(figures.parley?.natsCpu),
      show(figures.ordinary?.natsCpu),
      SERVERS.map(name => show(figures[name] && generatorCpu(figures[name]))).join(' / '),
      show(figures.parley && figures.parley.serverCpu + figures.parley.natsCpu + generatorCpu(figures.parley)),
      show(spans === 0 ? undefined : figures.parley && figures.parley.serverCpu / spans),
      show(spans === 0 ? undefined : figures.parley && figures.parley.natsCpu / spans),
    ]),
  )
}

/** The threads that take requests. */
const THREADS = { parley: 1, pair: 2 } as const

/**
 * How near to the bare server a rate could come at what a request cost in this run: with the receivers' threads busy all the time, and
 * with all cores busy all the time.
 */
function bounds(outcomes: readonly Outcome[]): string {
  return table(
    [
      ...[
        'load',
        'connections',
        'receivers',
        'requests/s',
        'of the bare server',
        'bound by receivers',
        'bound by cores',
      ],
      ...[
        'cores busy: bare',
        'receivers',
        'NATS',
        'load',
        'CPU a request, us: bare',
        'receivers',
        'all three',
        'p99, ms',
      ],
      'failed',
    ],
    outcomes.flatMap(({ load, connections, figures }) =>
      (['parley', 'pair'] as const).flatMap(name => {
        const [bare, one] = [figures.bare, figures[name]]
        if (bare === undefined || one === undefined) return []
        const all = one.serverCpu + one.natsCpu + generatorCpu(one)
        const ofBare = (cores: number, cost: number): string =>
          ((cores * 1e6) / cost / bare.requestsPerSecond).toFixed(2)
        const busy = (cost: number, { requestsPerSecond }: Figures): string =>
          ((cost * requestsPerSecond) / 1e6).toFixed(2)
        return [
          [
            ...[
              load,
              connections,
              THREADS[name],
              show(one.requestsPerSecond),
              ratio(figures, 'requestsPerSecond', name, 'bare'),
            ],
            ...[ofBare(THREADS[name], one.serverCpu), ofBare(availableParallelism(), all)],
            ...[
              busy(bare.serverCpu, bare),
              busy(one.serverCpu, one),
              busy(one.natsCpu, one),
              one.generatorCores.toFixed(2),
            ],
            ...[show(bare.serverCpu), show(one.serverCpu), show(all), show(one.p99Ms), one.failed],
          ],
        ]
      }),
    ),
  )
}

/** Of the load, in seconds per million requests: two cores give at most two million divided by all that a request costs. */
function generatorCpu({ generatorCores, requestsPerSecond }: Figures): number {
  return (generatorCores / requestsPerSecond) * 1e6
}

function latency(outcomes: readonly Outcome[]): string {
  const cell = (figures: Figures | undefined): string =>
    figures ? `${show(figures.p50Ms)} / ${show(figures.p99Ms)} / ${show(figures.p999Ms)}` : NOTHING
  return table(
    ['load', 'connections', 'bare', 'parley', 'ordinary', 'failed (bare / parley / ordinary)'],
    outcomes.map(({ load, connections, figures }) => [
      load,
      connections,
      ...SERVERS.map(name => cell(figures[name])),
      SERVERS.map(name => figures[name]?.failed ?? NOTHING).join(' / '),
    ]),
  )
}

function alone(outcomes: readonly Outcome[]): string {
  return table(
    ['load', 'sender', 'requests/s', 'p50, ms', 'p99, ms', 'p99.9, ms', 'p50 / publish'],
    outcomes.flatMap(({ load, figures }) =>
      (['publish', 'parley', 'ordinary', 'bare'] as const).map(name => [
        load,
        name === 'publish' ? 'one awaited JetStream publish at a time' : `${name}, one connection`,
        show(figures[name]?.requestsPerSecond),
        show(figures[name]?.p50Ms),
        show(figures[name]?.p99Ms),
        show(figures[name]?.p999Ms),
        ratio(figures, 'p50Ms', name, 'publish'),
      ]),
    ),
  )
}

function ratio(figures: Outcome['figures'], what: keyof Figures, over: ContenderName, under: ContenderName): string {
  const [a, b] = [figures[over]?.[what], figures[under]?.[what]]
  return a === undefined || b === undefined ? NOTHING : (a / b).toFixed(2)
}

/** Whole numbers from 100 up, else three digits. */
function show(value: number | undefined): string {
  if (value === undefined) return NOTHING
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)))
}
