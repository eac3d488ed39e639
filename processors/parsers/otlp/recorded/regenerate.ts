// Writes the golden rows of every recording anew, and the tables of CONVENTIONS.md:  node processors/parsers/otlp/recorded/regenerate.ts
// What changes is a change of meaning: read the difference line by line before it is committed.
import { writeFileSync } from 'node:fs'
import { writeConventions } from '../fixture-conventions.ts'
import { fixtureNames, goldenOf, goldenPath, rowsOf } from './golden.ts'

for (const name of fixtureNames()) {
  writeFileSync(goldenPath(name), `${JSON.stringify(goldenOf(rowsOf(name, 'protobuf')), null, 1)}\n`)
}
writeConventions()
