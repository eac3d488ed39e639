// What published SDKs really send becomes the rows that were reviewed: the same from both encodings, equal to the golden files, and
// telling the conversation that was held (facts.ts).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { ATTACHED, cases, type Facts, QUESTION, usual } from './facts.ts'
import { aboutOf, factsOf, fixtureNames, goldenOf, goldenPath, rowsOf } from './golden.ts'

/** Fewest SDKs that must be recorded, and how many of them in Python. */
const MIN_FIXTURES = 16
const MIN_PYTHON = 6

/** Equal, or matching where a pattern stands. */
function holds(actual: unknown, expected: unknown): boolean {
  if (expected instanceof RegExp) return typeof actual === 'string' && expected.test(actual)
  if (!Array.isArray(expected)) return isDeepStrictEqual(actual, expected)
  const list = actual as readonly unknown[]
  return list.length === expected.length && expected.every((each, i) => holds(list[i], each))
}

/** What was said in every recording: by the user, by the tool and the model, and to the model. */
const SAID = [QUESTION, '18 °C and sunny', '18 \\u00b0C and sunny', 'You answer questions about the weather']

const names = fixtureNames()

t.test('enough SDKs are recorded, and each has its facts', async t => {
  t.ok(names.length >= MIN_FIXTURES, `${names.length} SDKs`)
  t.ok(names.filter(name => aboutOf(name).language === 'python').length >= MIN_PYTHON, 'several of them in Python')
  t.same(Object.keys(cases).sort(), names)
  const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8')
  for (const name of names) t.ok(readme.includes(`| \`${name}\` |`), `${name} is in the README's table`)
})

for (const name of names) {
  t.test(name, async t => {
    const units = rowsOf(name, 'protobuf')
    t.same(rowsOf(name, 'json'), units, 'both encodings give the same rows')
    t.same(goldenOf(units), JSON.parse(readFileSync(goldenPath(name), 'utf8')), 'the rows are those that were reviewed')
    const expected = cases[name] ?? {}
    const actual = factsOf(units)
    for (const fact of Object.keys(usual) as (keyof Facts)[]) {
      const reason = expected.open?.[fact]
      const wanted = expected[fact] ?? usual[fact]
      if (reason !== undefined) t.notOk(holds(actual[fact], wanted), `${fact} is still open: ${reason}`)
      else if (holds(actual[fact], wanted)) t.pass(fact)
      else t.same(actual[fact], wanted, fact)
    }
    const attached = units.flatMap(({ sessions }) => sessions.flatMap(({ metadata }) => Object.keys(metadata)))
    t.same(
      attached.filter(key => !ATTACHED.includes(key)),
      [],
      'of the conversation is what the application attached',
    )
    const kept = units.flatMap(({ events, sessions }) => [...events, ...sessions].map(({ metadata }) => metadata))
    t.same(
      kept.flatMap(metadata => Object.keys(metadata).filter(key => SAID.some(text => metadata[key]?.includes(text)))),
      [],
      'nothing that was said is metadata',
    )
    const { served } = aboutOf(name)
    const { tokens } = { ...usual, ...expected }
    const counted = [tokens.input, tokens.output]
    if (expected.uncounted === true) t.same(counted, [0, 0], 'the SDK counted nothing')
    else t.same(counted, [served.input, served.output], 'as the models counted')
  })
}
