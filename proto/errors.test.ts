import { readFile } from 'node:fs/promises'
import t from 'tap'
import type { ErrorCode } from '#proto/errors.ts'
import { errors, isParleyError, ParleyError } from '#proto/errors.ts'

interface DocumentedCode {
  readonly code: string
  readonly status: number
  readonly meaning: string
  readonly advice: string
}

/** The rows of the tables of docs/errors.md. */
async function documented(): Promise<DocumentedCode[]> {
  const page = await readFile(new URL('../docs/errors.md', import.meta.url), 'utf8')
  return page.split('\n').flatMap(line => {
    const cells = /^\| `(\w+)` \| (\d+|–) \| (.+) \| (.+) \|$/.exec(line)
    if (cells === null) return []
    const [, code = '', status = '', meaning = '', advice = ''] = cells
    return { code, status: status === '–' ? 0 : Number(status), meaning, advice }
  })
}

t.test('docs/errors.md and the table list the same codes with the same status, each once', async t => {
  const rows = await documented()
  const inDocs = rows.map(row => `${row.code} ${row.status}`).sort()
  const inTable = Object.entries(errors).map(([code, entry]) => `${code} ${entry.status}`)
  t.strictSame(inDocs, inTable.sort())
  for (const { code, meaning, advice } of rows) t.ok(meaning.length > 10 && advice.length > 5, code)
})

t.test('texts are single sentences that a detail can follow', async t => {
  for (const [code, { text }] of Object.entries(errors)) t.match(text, /^\S[^\n]*[^.:\s]$/, code)
})

t.test('an error carries code, status, field and cause, and is known by its code', async t => {
  const cause = new Error('why')
  const error = new ParleyError('REQ_BODY_INVALID', 'page must be an integer', { field: 'page', cause })
  t.match(error, { code: 'REQ_BODY_INVALID', status: 400, field: 'page', cause })
  t.equal(error.message, 'Invalid request body: page must be an integer')
  t.equal(new ParleyError('BUG').message, errors.BUG.text)
  t.ok(isParleyError(error))
  t.ok(isParleyError(Object.assign(new Error('of another copy'), { code: 'BUG' satisfies ErrorCode })))
  for (const other of [cause, Object.assign(new Error('x'), { code: 'ENOENT' }), { code: 'BUG' }, null]) {
    t.notOk(isParleyError(other))
  }
})
