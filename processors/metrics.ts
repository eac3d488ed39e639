// What the processors tell about themselves, for /metrics.
import type { Counter, Gauge, Histogram } from 'prom-client'
import { errors } from '#proto/errors.ts'
import { blockTables } from '#proto/rows.ts'
import type { Metrics } from '#runtime/metrics.ts'

/** The instruments of a processor. */
export interface ProcessorMetrics {
  readonly rows: Counter<'table'>
  readonly units: Counter
  readonly repeats: Counter<'partition'>
  readonly replaced: Counter
  readonly moved: Counter
  readonly corrected: Counter
  readonly moveSeconds: Histogram<'step'>
  readonly dead: Counter<'code'>
  readonly unpriced: Counter<'reason'>
  readonly fallbacks: Counter<'reason'>
  readonly gcSeconds: Counter
  readonly proofs: Counter<'table' | 'healed'>
  readonly superseded: Counter
  readonly leases: Counter<'move'>
  readonly parseSeconds: Histogram
  readonly insertSeconds: Histogram<'table'>
  readonly blockSeconds: Histogram
  readonly lagMessages: Gauge<'partition' | 'lane'>
  readonly lagBytes: Gauge<'partition' | 'lane'>
  readonly lagSeconds: Gauge<'partition' | 'lane'>
  readonly bytesInFlight: Gauge
  readonly window: Gauge<'partition'>
  readonly floor: Gauge<'partition'>
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

const HEALED = ['lied', 'repaired', 'found', 'nothing'] as const
/** What may be found where a block is proven. */
export type Healed = (typeof HEALED)[number]

const MOVES = ['taken', 'released', 'lost', 'ended'] as const
const DEAD_CODES = Object.keys(errors).filter(code => code.startsWith('DEAD_'))

/** Registers the instruments. What is alarmed by is there before the first: a series that begins at 1 shows no increase. */
export function createProcessorMetrics(metrics: Metrics): ProcessorMetrics {
  const registered = register(metrics)
  for (const code of DEAD_CODES) registered.dead.inc({ code }, 0)
  for (const move of MOVES) registered.leases.inc({ move }, 0)
  for (const table of blockTables) for (const healed of HEALED) registered.proofs.inc({ table, healed }, 0)
  return registered
}

function register(metrics: Metrics): ProcessorMetrics {
  return {
    rows: metrics.counter('rows_total', 'rows stored, by table', ['table']),
    units: metrics.counter('units_total', 'events, spans, calls and session captures that were processed'),
    repeats: metrics.counter('repeats_total', 'units that had been seen before and were left out, by partition', [
      'partition',
    ]),
    replaced: metrics.counter('replaced_total', 'reports of calls that gave way to later ones'),
    corrected: metrics.counter('corrected_total', 'rows that were written again with the cost of now'),
    moved: metrics.counter('moved_total', 'spans that were moved to the conversation of their trace'),
    moveSeconds: metrics.histogram('move_seconds', 'one statement of moving spans, by step', SECONDS, ['step']),
    dead: metrics.counter('dead_total', 'payloads put into the dead-letter stream, by code', ['code']),
    unpriced: metrics.counter('unpriced_total', 'events with tokens that have no price, by reason', ['reason']),
    fallbacks: metrics.counter(
      'fallbacks_total',
      'payloads that were made objects instead of being read from their bytes',
      ['reason'],
    ),
    gcSeconds: metrics.counter('gc_seconds_total', 'seconds of garbage collection of the worker threads'),
    proofs: metrics.counter('proofs_total', 'blocks proven by a count, by table and what was found', [
      'table',
      'healed',
    ]),
    superseded: metrics.counter('superseded_total', 'ranges that were stored anew under another recipe'),
    leases: metrics.counter('lease_moves_total', 'partitions taken, released, lost, and ended on an error', ['move']),
    parseSeconds: metrics.histogram('parse_seconds', 'work of a thread on one range', SECONDS),
    insertSeconds: metrics.histogram('insert_seconds', 'one insert, by table', SECONDS, ['table']),
    blockSeconds: metrics.histogram('block_seconds', 'one range, from its cut to its last row', SECONDS),
    lagMessages: metrics.gauge(
      'lag_messages',
      'messages of a kind of lane (live, backlog, bulk, suspect, replay) that are not stored yet',
      ['partition', 'lane'],
    ),
    lagBytes: metrics.gauge('lag_bytes', 'bytes of a lane that are not stored yet', ['partition', 'lane']),
    lagSeconds: metrics.gauge('lag_seconds', 'age of the oldest message of a lane that is not stored yet', [
      'partition',
      'lane',
    ]),
    bytesInFlight: metrics.gauge('bytes_in_flight', 'payload bytes that are parsed or inserted, of all partitions'),
    window: metrics.gauge('repeat_window_size', 'identities that a partition remembers to drop repeats', ['partition']),
    floor: metrics.gauge('floor', 'position up to which everything is stored', ['partition']),
  }
}
