// Origin and path of a request -> the headers by which a browser lets a page of another origin read its answer. The query node and the
// receivers before it say the same, so that a page can also read why it got no answer.

/** Headers of an answer; none where no origin is named or the path is not the dashboard API. Never with credentials: no cookie of ours counts there. */
export function corsHeaders(
  origins: ReadonlySet<string>,
  target: string,
  origin: string | undefined,
): readonly (readonly [string, string])[] {
  if (origins.size === 0 || !target.startsWith('/dashboard/api/')) return []
  if (origin === undefined || !origins.has(origin)) return [['vary', 'origin']]
  return [
    ['vary', 'origin'],
    ['access-control-allow-origin', origin],
    ['access-control-expose-headers', 'x-request-id, retry-after'],
  ]
}
