// The generated parts of CONVENTIONS.md, from the same data that reads spans: who writes a field where, in which order the places
// count, and where the recordings of real SDKs had theirs.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeTraces } from '#proto/otlp/decode.ts'
import { context } from '../fixture.ts'
import { type Dialect, fields } from './dialect.ts'
import { dialects } from './dialects.ts'
import { type ExplainedSpan, explainSpans } from './explain.ts'
import { allRules, type Rule, rules } from './rules.ts'

export const CONVENTIONS = join(import.meta.dirname, 'CONVENTIONS.md')
const RECORDINGS = join(import.meta.dirname, 'recorded', 'fixtures')

type Cells = readonly (readonly string[])[]

/** A Markdown table. */
function table(header: readonly string[], rows: Cells): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n')
}

const code = (text: string): string => `\`${text}\``

/** How a place is marked by the step in which it counts. */
const marks = { contract: '', organization: '', own: ' (own)', fields: '', late: ' (late)' } as const

/** dialect × field → attributes, in the order in which they count within the dialect. */
function dialectTable(): string {
  const rowsOf = (dialect: Dialect): Cells => {
    const own = allRules.filter(rule => rule.dialect === dialect)
    return fields.flatMap(field => {
      const places = own.filter(rule => rule.field === field)
      return places.length === 0 ? [] : [[dialect.name, code(field), places.map(placeOf).join(', ')]]
    })
  }
  const contentOf = ({ name, content = [] }: Dialect): Cells =>
    content.length === 0 ? [] : [[name, 'content', content.map(code).join(', ')]]
  return table(
    ['dialect', 'field', 'attributes'],
    dialects.flatMap(dialect => [...rowsOf(dialect), ...contentOf(dialect)]),
  )
}

const placeOf = (rule: Rule): string => code(rule.label) + marks[rule.step]

/** How the spans of each dialect are told, and what is special about them. */
function tellTable(): string {
  const words = (dialect: Dialect): string => {
    const { scopes = [], keys = [], names = [], values = {} } = dialect.matches
    const said = [
      ...(scopes.length === 0 ? [] : [`scope ${scopes.map(each => code(`${each}…`)).join(', ')}`]),
      ...(keys.length === 0 ? [] : [keys.map(each => code(each.endsWith('.') ? `${each}…` : each)).join(', ')]),
      ...Object.entries(values).map(([key, list]) => code(`${key} = ${list.join(' / ')}`)),
      ...(names.length === 0 ? [] : [`span name ${names.map(each => code(`${each}…`)).join(', ')}`]),
    ]
    return said.join('; ')
  }
  const special = (dialect: Dialect): string =>
    [
      ...(dialect.repeatsUsage === true ? ['sums repeat their calls'] : []),
      ...(dialect.usageOnAgents === true ? ['only agents count usage'] : []),
      ...(dialect.inputExcludesCache === undefined ? [] : [`input without cache: ${dialect.inputExcludesCache}`]),
      ...(dialect.outputExcludesReasoning === undefined
        ? []
        : [`output without reasoning: ${dialect.outputExcludesReasoning}`]),
      ...(dialect.jsonValues === true ? ['every value is JSON'] : []),
    ].join('; ')
  return table(
    ['dialect', 'told by', 'special', 'format'],
    dialects.map(dialect => [dialect.name, words(dialect), special(dialect), dialect.source]),
  )
}

/** Each field with its places in the order in which they count. */
function precedenceTable(): string {
  return table(
    ['field', 'places, the first that says something counts'],
    fields.map(field => [code(field), rules[field].map(placeOf).join(' > ')]),
  )
}

/** Columns that the recordings' table shows. */
const shown = ['kind', 'name', 'session_id', 'user_id', 'model', 'provider', 'input_tokens', 'input', 'output'] as const

/** A recording, and its spans explained. */
interface Recording {
  readonly name: string
  readonly spans: readonly ExplainedSpan[]
}

/** The spans of every recorded export, explained. */
export function recordingsOf(): readonly Recording[] {
  return readdirSync(RECORDINGS)
    .sort()
    .map(name => {
      const decoded = decodeTraces(readFileSync(join(RECORDINGS, name, 'traces.bin')), 'protobuf')
      if (!decoded.ok) throw new Error(`${name}: ${decoded.reason}`)
      return { name, spans: explainSpans(decoded.spans, context) }
    })
}

/** recording × field → the attributes that gave it. */
function recordingTable(recordings: readonly Recording[]): string {
  const cell = ({ spans }: Recording, name: string): string => {
    const from = spans.flatMap(span =>
      span.fields.flatMap(field => (field.field === name && field.from ? [field.from.attribute] : [])),
    )
    return [...new Set(from)].sort().map(code).join(', ')
  }
  return table(
    ['recording', ...shown.map(code)],
    recordings.map(recording => [recording.name, ...shown.map(name => cell(recording, name))]),
  )
}

/** The generated tables, by the name of their section. */
export function tablesOf(recordings: readonly Recording[]): Readonly<Record<string, string>> {
  return {
    dialects: dialectTable(),
    tells: tellTable(),
    precedence: precedenceTable(),
    recordings: recordingTable(recordings),
  }
}

/** A section of the page: its beginning, its table, its end. */
export function sectionOf(name: string): RegExp {
  return new RegExp(`(<!-- ${name} -->\\n\\n)([\\s\\S]*?)(\\n\\n<!-- /${name} -->)`)
}

/** Writes the tables anew. */
export function writeConventions(): void {
  let page = readFileSync(CONVENTIONS, 'utf8')
  for (const [name, rows] of Object.entries(tablesOf(recordingsOf()))) {
    page = page.replace(sectionOf(name), (_, begin: string, __, end: string) => begin + rows + end)
  }
  writeFileSync(CONVENTIONS, page)
}
