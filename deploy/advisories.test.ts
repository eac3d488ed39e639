// Reports of npm as it writes them -> what the check says.
import t from 'tap'
import { judgeAudit } from './advisories.ts'

const report = (vulnerabilities: object): string => JSON.stringify({ auditReportVersion: 2, vulnerabilities })

t.test('known holes end the check when they are high or critical, and are named in any case', async t => {
  t.strictSame(judgeAudit(report({})), { outcome: 'clean', lines: [] })
  const hole = (severity: string) => ({
    a: { severity, via: [{ title: 'A reads B' }] },
    b: { severity: 'low', via: ['a'] },
  })
  const lines = (severity: string) => [`dependencies: ${severity}: a: A reads B`, 'dependencies: low: b: through a']
  for (const severity of ['low', 'moderate']) {
    t.strictSame(judgeAudit(report(hole(severity))), { outcome: 'clean', lines: lines(severity) })
  }
  for (const severity of ['high', 'critical']) {
    t.strictSame(judgeAudit(report(hole(severity))), { outcome: 'holes', lines: lines(severity) })
  }
})

t.test('who could not be asked has not said that all is well', async t => {
  const f = (output: string, why: string) =>
    t.strictSame(judgeAudit(output), {
      outcome: 'unknown',
      lines: [`dependencies: not checked for known holes: ${why}`],
    })
  f('{"message":"405 Method Not Allowed","statusCode":405}', '405 Method Not Allowed')
  f('{"error":{"code":"ENOLOCK","summary":"no lock file"}}', 'no lock file')
  f('', 'the output is no report')
  f('null', 'the output is no report')
  f('{"auditReportVersion":3,"vulnerabilities":{}}', 'the output is no report')
})
