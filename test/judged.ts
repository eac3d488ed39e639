// What a test process said and how it ended -> what its files came to.

/** Points of a process, and whether any of them is missing. */
export interface Judged {
  readonly failed: boolean
  readonly total: number
  readonly passed: number
}

/**
 * What tap says at the end; a process that did not come that far has failed in one point at least. The exit code alone does not do: where
 * nothing is left to wait for before a test has ended, tap says so and the process ends with 0.
 */
export function judged(code: number | null, output: string): Judged {
  const [, total, passed] = /^# \{ total: (\d+), pass: (\d+)/m.exec(output) ?? []
  const counts = total === undefined ? { total: 1, passed: 0 } : { total: Number(total), passed: Number(passed ?? 0) }
  return { ...counts, failed: code !== 0 || counts.passed < counts.total }
}
