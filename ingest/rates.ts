// How much one organization may send to this receiver: token buckets of requests and of body bytes, one second deep. Off unless set.
// A body is charged once it is there and may overdraw its bucket: otherwise no body larger than a second's bytes would ever pass.

/** A request that came too early. */
export interface RateRefusal {
  /** Seconds until a request may pass, at least 1. */
  readonly retryAfterS: number
  /** Values of the headers RateLimit-Policy and RateLimit (IETF draft-ietf-httpapi-ratelimit-headers). */
  readonly policy: string
  readonly limit: string
}

export interface Rates {
  /** Charges a request of an organization; null when it may pass. */
  request(organization: string): RateRefusal | null
  /** Charges the bytes of its body. */
  body(organization: string, bytes: number): void
}

export interface RatesOptions {
  /** Per second and organization; 0 = no limit. */
  readonly requestsPerSecond: number
  readonly bytesPerSecond: number
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
}

/** Organizations whose buckets are remembered; a full bucket is the same as none. */
const MAX_BUCKETS = 10_000

interface Bucket {
  requests: number
  bytes: number
  atMs: number
}

/** Rates, or null when neither is limited. */
export function createRates(options: RatesOptions): Rates | null {
  const { requestsPerSecond, bytesPerSecond } = options
  if (requestsPerSecond === 0 && bytesPerSecond === 0) return null
  const now = options.now ?? (() => performance.now())
  const buckets = new Map<string, Bucket>()
  const policy = [
    ...(requestsPerSecond > 0 ? [`"requests";q=${requestsPerSecond};w=1`] : []),
    ...(bytesPerSecond > 0 ? [`"bytes";q=${bytesPerSecond};w=1;qu="content-bytes"`] : []),
  ].join(', ')

  /** The bucket of an organization, filled up to now. */
  const bucketOf = (organization: string): Bucket => {
    const atMs = now()
    const known = buckets.get(organization)
    if (known !== undefined) {
      const seconds = (atMs - known.atMs) / 1000
      known.requests = Math.min(requestsPerSecond, known.requests + seconds * requestsPerSecond)
      known.bytes = Math.min(bytesPerSecond, known.bytes + seconds * bytesPerSecond)
      known.atMs = atMs
      return known
    }
    if (buckets.size >= MAX_BUCKETS) {
      const oldest = buckets.keys().next().value
      if (oldest !== undefined) buckets.delete(oldest)
    }
    const bucket = { requests: requestsPerSecond, bytes: bytesPerSecond, atMs }
    buckets.set(organization, bucket)
    return bucket
  }
  return {
    request: organization => {
      const bucket = bucketOf(organization)
      const requestsMissing = requestsPerSecond > 0 && bucket.requests < 1
      const bytesMissing = bytesPerSecond > 0 && bucket.bytes <= 0
      if (!requestsMissing && !bytesMissing) {
        bucket.requests -= 1
        return null
      }
      const requestsS = requestsMissing ? (1 - bucket.requests) / requestsPerSecond : 0
      const bytesS = bytesMissing ? (1 - bucket.bytes) / bytesPerSecond : 0
      const name = bytesS > requestsS ? 'bytes' : 'requests'
      const retryAfterS = Math.max(1, Math.ceil(Math.max(requestsS, bytesS)))
      return { retryAfterS, policy, limit: `"${name}";r=0;t=${retryAfterS}` }
    },
    body: (organization, bytes) => {
      bucketOf(organization).bytes -= bytes
    },
  }
}
