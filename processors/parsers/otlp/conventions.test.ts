// CONVENTIONS.md says what the code does: its tables are those that the dialects' data and the recordings give. The tables are
// written anew by:  node processors/parsers/otlp/conventions.test.ts write
import { readFileSync } from 'node:fs'
import t from 'tap'
import { dialects } from './dialects.ts'
import { CONVENTIONS, recordingsOf, sectionOf, tablesOf, writeConventions } from './fixture-conventions.ts'
import { precedence } from './precedence.ts'
import { allRules } from './rules.ts'

const recordings = recordingsOf()

if (process.argv[2] === 'write') writeConventions()

const tables = tablesOf(recordings)

const page = readFileSync(CONVENTIONS, 'utf8')

for (const [name, rows] of Object.entries(tables)) {
  t.test(`the table of ${name} is that of the data`, async t => {
    t.equal(sectionOf(name).exec(page)?.[2], rows)
  })
}

t.test('every attribute that gave a field of a recording is in the table of its dialect', async t => {
  const known = new Set(allRules.map(rule => `${rule.dialect?.name} ${rule.label}`))
  let given = 0
  for (const { name, spans } of recordings) {
    for (const field of spans.flatMap(span => span.fields)) {
      if (field.from === null) continue
      given++
      const place = `${field.from.dialect} ${field.from.attribute}`
      if (!known.has(place)) t.fail(`${name}: ${field.field} comes from ${place}`)
    }
  }
  t.ok(given > 20 * recordings.length, `${given} fields were given by attributes`)
})

t.test('the data is sound', async t => {
  const names = dialects.map(dialect => dialect.name)
  t.equal(new Set(names).size, names.length, 'each dialect once')
  for (const [field, order] of Object.entries(precedence)) {
    for (const name of order) t.ok(names.includes(name), `${name} in the order of ${field}`)
    t.equal(new Set(order).size, order.length, `each dialect once in the order of ${field}`)
  }
  for (const dialect of dialects) {
    const writes = { ...dialect.own, ...dialect.fields, ...dialect.late }
    t.notOk('kind' in writes && dialect.types === undefined, `${dialect.name} has no kinds without their values`)
    const { own } = dialect
    const { scopes, keys, names: begin, values } = dialect.matches
    t.ok(
      own === undefined || scopes || keys || begin || values,
      `${dialect.name} can be told where it has keys of its own`,
    )
  }
})
