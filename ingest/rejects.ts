// Refusals of requests that name their organization -> the last few of each, in a bucket that dashboards read. A refusal costs an object
// in memory; what was noted is written every few seconds, once for each organization however many there were. The last seconds of a
// killed receiver are lost: counters and logs have them.
import { setTimeout as delay } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import { changeRecord } from '#control/lists.ts'
import type { RejectedRequest } from '#proto/dashboard/rejects.ts'
import { REJECTS_MAX } from '#proto/dashboard/rejects.ts'
import type { ErrorCode } from '#proto/errors.ts'
import { errors } from '#proto/errors.ts'
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'

/** A refusal. `detail` is what the sender was told behind the code's sentence. */
export interface Refusal {
  readonly endpoint: string
  readonly code: ErrorCode
  readonly detail: string | undefined
  readonly bodyBytes: number
}

/** What a receiver remembers of what it refused. */
export interface Rejects {
  note(organization: string, refusal: Refusal): void
  /** Takes nothing more and writes what was noted, as far as a second reaches. */
  close(): Promise<void>
}

export interface RejectsOptions {
  readonly bucket: KV
  readonly metrics: Metrics
  readonly log: Log
  /** Time between a refusal and its being written. */
  readonly flushMs?: number
  readonly clock?: () => number
}

const FLUSH_MS = 2_000
const CLOSE_MS = 1_000
/** Organizations whose refusals wait at a time; those of others are only counted. */
const ORGANIZATIONS_MAX = 1_000
/** Characters of a sentence: a field's name may be as long as its sender likes. */
const SENTENCE_CHARS = 300

/** Remembers refusals from now on. */
export function createRejects(options: RejectsOptions): Rejects {
  const { bucket, log, flushMs = FLUSH_MS, clock = Date.now } = options
  const lost = options.metrics.counter('ingest_rejects_lost_total', 'refusals that dashboards will not show', [
    'reason',
  ])
  let noted = new Map<string, RejectedRequest[]>()
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> | null = null
  let closed = false

  const write = async (organization: string, requests: RejectedRequest[]): Promise<void> => {
    try {
      await changeRecord<RejectedRequest[]>(bucket, organization, (before = []) =>
        [...requests.toReversed(), ...before]
          .sort((x, y) => (x.at < y.at ? 1 : x.at > y.at ? -1 : 0))
          .slice(0, REJECTS_MAX),
      )
    } catch (error) {
      lost.inc({ reason: 'bucket' }, requests.length)
      log.warn({ err: error, organization }, 'refusals could not be kept for the dashboard')
    }
  }
  /** Writes what is noted, one organization after the other: this must never be what the connection is busy with. */
  const flush = async (): Promise<void> => {
    const batch = noted
    noted = new Map()
    timer = null
    for (const [organization, requests] of batch) await write(organization, requests)
    writing = null
    if (noted.size > 0) schedule()
  }
  const schedule = (): void => {
    if (closed || timer !== null || writing !== null) return
    timer = setTimeout(() => {
      writing = flush()
    }, flushMs).unref()
  }

  return {
    note: (organization, { endpoint, code, detail, bodyBytes }) => {
      const requests = noted.get(organization) ?? []
      if (closed || (requests.length === 0 && noted.size >= ORGANIZATIONS_MAX)) {
        return lost.inc({ reason: closed ? 'stopping' : 'organizations' })
      }
      if (requests.length === 0) noted.set(organization, requests)
      const { status, text } = errors[code]
      const error = (detail ? `${text}: ${detail}` : text).slice(0, SENTENCE_CHARS)
      requests.push({ at: new Date(clock()).toISOString(), endpoint, status, code, error, body_bytes: bodyBytes })
      if (requests.length > REJECTS_MAX) requests.shift()
      schedule()
    },
    close: async () => {
      closed = true
      if (timer !== null) clearTimeout(timer)
      const written = (async () => {
        await writing
        await flush()
      })()
      // A stop does not wait for a server that is gone.
      await Promise.race([written, delay(CLOSE_MS, undefined, { ref: false })])
    },
  }
}
