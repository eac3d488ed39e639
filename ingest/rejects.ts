// Refusals of requests that name their organization -> the last few of each, and counts by hour, in a bucket that dashboards read. A refusal costs an object
// in memory; what was noted is written every few seconds, once for each organization however many there were. The last seconds of a
// killed receiver are lost: counters and logs have them.
import { setTimeout as delay } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import { changeRecord } from '#control/lists.ts'
import type { RejectedRequest } from '#proto/dashboard/rejects.ts'
import { REJECTS_MAX } from '#proto/dashboard/rejects.ts'
import type { ErrorCode } from '#proto/errors.ts'
import { errors } from '#proto/errors.ts'
import { REJECT_COUNTS_MAX, type RejectCounts, rejectCountsKeyOf, type Surface } from '#proto/ledger.ts'
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
const HOUR_MS = 3_600_000

const surfaceOf = (endpoint: string): Surface =>
  endpoint === 'traces' ? 'otlp' : endpoint === 'voice' ? 'voice' : 'sdk'

/** What was refused of an organization and is not written yet. */
interface Noted {
  readonly requests: RejectedRequest[]
  /** All of them, by `hour.surface.code`. */
  readonly counts: Record<string, number>
}

/** Adds counts, and leaves out those of the oldest hours when there are too many. */
function added(before: RejectCounts, counts: RejectCounts): RejectCounts {
  const all = { ...before }
  for (const [name, n] of Object.entries(counts)) all[name] = (all[name] ?? 0) + n
  const hourOf = (name: string): number => Number(name.split('.', 1)[0])
  const newest = Object.entries(all).sort(([a], [b]) => hourOf(b) - hourOf(a))
  return Object.fromEntries(newest.slice(0, REJECT_COUNTS_MAX))
}

/** Remembers refusals from now on. */
export function createRejects(options: RejectsOptions): Rejects {
  const { bucket, log, flushMs = FLUSH_MS, clock = Date.now } = options
  const lost = options.metrics.counter('ingest_rejects_lost_total', 'refusals that dashboards will not show', [
    'reason',
  ])
  let noted = new Map<string, Noted>()
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> | null = null
  let closed = false
  /** Refusals that could not be kept since the last that could: an outage is two lines. */
  let unkept = 0

  const write = async (organization: string, { requests, counts }: Noted): Promise<void> => {
    try {
      await changeRecord<RejectedRequest[]>(bucket, organization, (before = []) =>
        [...requests.toReversed(), ...before]
          .sort((x, y) => (x.at < y.at ? 1 : x.at > y.at ? -1 : 0))
          .slice(0, REJECTS_MAX),
      )
      await changeRecord<RejectCounts>(bucket, rejectCountsKeyOf(organization), (before = {}) => added(before, counts))
      if (unkept > 0) log.info({ unkept }, 'refusals are kept for the dashboard again')
      unkept = 0
    } catch (error) {
      lost.inc({ reason: 'bucket' }, requests.length)
      if (unkept === 0) log.warn({ err: error, organization }, 'refusals cannot be kept for the dashboard')
      unkept += requests.length
    }
  }
  /** Writes what is noted, one organization after the other: this must never be what the connection is busy with. */
  const flush = async (): Promise<void> => {
    const batch = noted
    noted = new Map()
    timer = null
    for (const [organization, refusals] of batch) await write(organization, refusals)
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
      const known = noted.get(organization)
      if (closed || (known === undefined && noted.size >= ORGANIZATIONS_MAX)) {
        return lost.inc({ reason: closed ? 'stopping' : 'organizations' })
      }
      const { requests, counts } = known ?? { requests: [], counts: {} }
      if (known === undefined) noted.set(organization, { requests, counts })
      const { status, text } = errors[code]
      const error = (detail ? `${text}: ${detail}` : text).slice(0, SENTENCE_CHARS)
      const nowMs = clock()
      const counted = `${Math.floor(nowMs / HOUR_MS)}.${surfaceOf(endpoint)}.${code}`
      counts[counted] = (counts[counted] ?? 0) + 1
      requests.push({ at: new Date(nowMs).toISOString(), endpoint, status, code, error, body_bytes: bodyBytes })
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
