// What a receiver counts, in one place, and the sampled log line of refusals: a flood of bad requests must not become a flood of lines.

import type { Budget } from '#ingest/budget.ts'
import type { PublishMeter } from '#ingest/payload.ts'
import { plainHistogram } from '#ingest/plain-histogram.ts'
import type { SessionFinding } from '#ingest/sessions.ts'
import type { ErrorCode } from '#proto/errors.ts'
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'

/** One line per code and this long; the next one says how many it stands for. */
const SAMPLE_MS = 10_000

export interface Meter extends PublishMeter {
  /** The counters of an endpoint; the same object for the same name. */
  endpoint(name: string): EndpointMeter
  sessionFound(finding: SessionFinding): void
  /** A message that is taken and forgotten; `kind` is one of few. */
  ignored(kind: string): void
  lookupFailed(error: unknown): void
}

/** What is counted per request, in plain numbers. */
export interface EndpointMeter {
  readonly name: string
  /** An answered request, status 0 = its sender went away; `bytes` = its body as it came. */
  answered(status: number, bytes: number): void
  refused(code: ErrorCode): void
  /** A handler threw. */
  failed(error: unknown): void
}

/** Figures that are read when asked for. */
export interface Gauges {
  readonly budget: Budget
  readonly inFlight: () => number
  readonly pending: () => number
  readonly held: () => number
  readonly knownSessions: () => number
  readonly knownSessionsBytes: () => number
  readonly waitingEvents: () => number
  /** Requests that the query node answers, and bytes of bodies held for it. */
  readonly forwarded: () => number
  readonly collectedBytes: () => number
}

const SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 60]
const FRAMES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000]
const BYTES = [1_024, 4_096, 16_384, 65_536, 262_144, 524_288, 1_048_576, 4_194_304, 16_777_216]
/** Label of requests that were never answered. */
const ABORTED = 'aborted'
const STATUSES = 600
const FULL = ['ING_FULL', 'ING_UNAVAILABLE'] as const satisfies readonly ErrorCode[]

/** The receiver's meter. */
export function createMeter(metrics: Metrics, log: Log): Meter {
  const envelopes = metrics.counter('ingest_envelopes_total', 'envelopes by outcome', ['outcome'])
  const resends = metrics.counter('ingest_envelope_resends_total', 'envelopes sent again')
  const findings = metrics.counter(
    'ingest_session_waits_total',
    'events whose session had to be found, by what was found',
    ['finding'],
  )
  const ignored = metrics.counter(
    'ingest_ignored_total',
    'what is taken and forgotten by kind: messages of voice platforms that are no reports, and `metrics` of exporters',
    ['kind'],
  )
  const lookups = metrics.counter(
    'ingest_session_lookup_failures_total',
    'questions about sessions that the store could not answer',
  )
  const ackSeconds = plainHistogram(
    metrics,
    'ingest_ack_seconds',
    'time from an envelope leaving to its acknowledgement',
    SECONDS,
  )
  const frames = plainHistogram(metrics, 'ingest_envelope_frames', 'payloads of an acknowledged envelope', FRAMES)
  const bytes = plainHistogram(metrics, 'ingest_envelope_bytes', 'size of an acknowledged envelope', BYTES)
  const sample = createSampler(log)
  let stored = 0
  let repeats = 0
  Object.assign(envelopes, {
    collect: () => {
      // Those with another outcome are counted as they come.
      envelopes.inc({ outcome: 'stored' }, stored)
      envelopes.inc({ outcome: 'repeat' }, repeats)
      stored = 0
      repeats = 0
    },
  })
  return {
    endpoint: createEndpoints(metrics, sample),
    sessionFound: finding => findings.inc({ finding }),
    ignored: kind => ignored.inc({ kind }),
    lookupFailed: error => {
      lookups.inc()
      sample('lookup', { err: error }, 'the store could not say whether a session exists; the event is taken')
    },
    acked: envelope => {
      if (envelope.duplicate) repeats++
      else stored++
      frames.observe(envelope.frames)
      bytes.observe(envelope.bytes)
      ackSeconds.observe(envelope.seconds)
    },
    resent: () => resends.inc(),
    failed: envelope => {
      envelopes.inc({ outcome: envelope.code })
      sample(`envelope ${envelope.code}`, envelope, 'an envelope was not stored; its senders are told')
    },
  }
}

type Sample = (key: string, fields: object, sentence: string) => void

/** Counters of endpoints: additions per request, labels per scrape. */
function createEndpoints(metrics: Metrics, sample: Sample): (name: string) => EndpointMeter {
  const requests = metrics.counter('ingest_requests_total', 'requests by endpoint and status', ['endpoint', 'status'])
  const bodyBytes = metrics.counter('ingest_body_bytes_total', 'body bytes as received', ['endpoint'])
  const refusals = metrics.counter('ingest_refused_total', 'refused requests by code', ['endpoint', 'code'])
  const failures = metrics.counter(
    'ingest_exceptions_total',
    'requests whose handling threw; answered 500 where that was possible',
    ['endpoint'],
  )
  const tallies = new Map<string, { meter: EndpointMeter; statuses: Float64Array; bytes: number }>()
  const collectors = {
    requests: () => {
      for (const [endpoint, { statuses }] of tallies) {
        for (const [status, count] of statuses.entries()) {
          if (count > 0) requests.inc({ endpoint, status: status === 0 ? ABORTED : String(status) }, count)
        }
        statuses.fill(0)
      }
    },
    bytes: () => {
      for (const [endpoint, tally] of tallies) {
        bodyBytes.inc({ endpoint }, tally.bytes)
        tally.bytes = 0
      }
    },
  }
  // prom-client calls `collect` before each scrape.
  Object.assign(requests, { collect: collectors.requests })
  Object.assign(bodyBytes, { collect: collectors.bytes })
  return name => {
    const known = tallies.get(name)
    if (known !== undefined) return known.meter
    // What is alarmed by is there before the first: a series that begins at 1 shows no increase.
    for (const code of FULL) refusals.inc({ endpoint: name, code }, 0)
    const tally = {
      statuses: new Float64Array(STATUSES),
      bytes: 0,
      meter: {
        name,
        answered: (status: number, bytes: number): void => {
          tally.statuses[status] = (tally.statuses[status] as number) + 1
          tally.bytes += bytes
        },
        refused: (code: ErrorCode): void => {
          refusals.inc({ endpoint: name, code })
          sample(code, { endpoint: name, code }, 'request refused')
        },
        failed: (error: unknown): void => {
          failures.inc({ endpoint: name })
          sample(`exception ${name}`, { endpoint: name, err: error }, 'a request could not be handled')
        },
      },
    }
    tallies.set(name, tally)
    return tally.meter
  }
}

/** Registers the figures that are read at each scrape. */
export function registerGauges(metrics: Metrics, gauges: Gauges): void {
  const read = (name: string, help: string, value: () => number): void => {
    const gauge = metrics.gauge(name, help)
    // prom-client calls `collect` with the gauge before each scrape.
    Object.assign(gauge, { collect: () => gauge.set(value()) })
  }
  read('ingest_pending_bytes', 'bytes of requests not answered yet', gauges.budget.used)
  read('ingest_pending_payloads', 'payloads on their way to the stream', gauges.pending)
  read('ingest_held_payloads', 'payloads that wait because nothing can be stored', gauges.held)
  read('ingest_envelopes_in_flight', 'envelopes not acknowledged yet', gauges.inFlight)
  read('ingest_known_sessions', 'sessions that are remembered', gauges.knownSessions)
  read('ingest_known_sessions_bytes', 'memory of remembered sessions', gauges.knownSessionsBytes)
  read('ingest_waiting_events', 'events that wait for their session', gauges.waitingEvents)
  read('ingest_forwarded', 'requests at the query node', gauges.forwarded)
  read('ingest_collected_bytes', 'bytes of bodies that are held for the query node', gauges.collectedBytes)
}

function createSampler(log: Log): Sample {
  const last = new Map<string, { at: number; silent: number }>()
  return (key, fields, sentence) => {
    const now = performance.now()
    const before = last.get(key)
    if (before !== undefined && now - before.at < SAMPLE_MS) {
      before.silent++
      return
    }
    last.set(key, { at: now, silent: 0 })
    log.warn({ ...fields, ...(before?.silent ? { alike: before.silent } : {}) }, sentence)
  }
}
