// What npm says of the dependencies that run -> whether the check goes on. Known holes that are high or critical end it; a registry that
// publishes no advisories, or a machine without a line, is said and lets it go on, unless PARLEY_AUDIT=required.
import { spawnSync } from 'node:child_process'

/** What a report comes to: lines to print, and whether it passes. */
export interface AuditVerdict {
  readonly outcome: 'clean' | 'holes' | 'unknown'
  readonly lines: readonly string[]
}

/** Lesser ones are named; what they can do has been thought about by whoever reads it. */
const ENDS = new Set(['high', 'critical'])

interface Report {
  readonly auditReportVersion?: number
  readonly message?: string
  readonly error?: { readonly summary?: string }
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string; readonly via: readonly unknown[] }>>
}

/** Judges the output of `npm audit --json` (report version 2, as npm 7 and later write it). */
export function judgeAudit(output: string): AuditVerdict {
  const report = readReport(output)
  const { vulnerabilities } = report
  if (report.auditReportVersion !== 2 || vulnerabilities === undefined) {
    const why = report.message ?? report.error?.summary ?? 'the output is no report'
    return { outcome: 'unknown', lines: [`dependencies: not checked for known holes: ${why}`] }
  }
  const found = Object.entries(vulnerabilities)
  const lines = found.map(([name, { severity, via }]) => `dependencies: ${severity}: ${name}: ${titlesOf(via)}`)
  if (found.some(([, { severity }]) => ENDS.has(severity))) return { outcome: 'holes', lines }
  return { outcome: 'clean', lines }
}

function readReport(output: string): Report {
  try {
    return Object(JSON.parse(output)) as Report
  } catch {
    return {}
  }
}

/** Advisories by title; a name alone is a package that is affected through that one. */
const titlesOf = (via: readonly unknown[]): string =>
  via.map(one => (typeof one === 'string' ? `through ${one}` : String((one as { title?: unknown }).title))).join('; ')

if (import.meta.main) {
  const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], { encoding: 'utf8', timeout: 60_000 })
  const { outcome, lines } = judgeAudit(stdout ?? '')
  for (const line of lines) console.log(line)
  // oxlint-disable-next-line node/no-process-env -- the only setting of a script that no part imports
  const required = process.env.PARLEY_AUDIT === 'required'
  if (outcome === 'holes' || (outcome === 'unknown' && required)) process.exitCode = 1
}
