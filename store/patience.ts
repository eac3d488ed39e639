// Work that is given up when it takes too long: the engine looks at its clock between blocks, and may be in one for long.

/** True of what `timed` throws when the time was over. */
export const isTimeout = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError'

/**
 * Does work whose signal aborts with the given one, and when its time is over. A connection that is closed then ends a statement.
 * @throws a TimeoutError when the time was over, whatever the work says of it; else what the work throws.
 */
export async function timed<T>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(new DOMException('too late', 'TimeoutError')), ms)
  try {
    return await work(signal ? AbortSignal.any([signal, over.signal]) : over.signal)
  } catch (error) {
    throw over.signal.aborted && !signal?.aborted ? over.signal.reason : error
  } finally {
    clearTimeout(timer)
  }
}
