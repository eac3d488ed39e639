// The recorded exports and the rows that they become: read by the test, written by regenerate.ts.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readJsonText } from '#proto/json.ts'
import { type EventRow, Present } from '#proto/rows.ts'
import type { Unit } from '../../../outcome.ts'
import { context, telling, unitsOf } from '../../fixture.ts'
import { parseTraces } from '../../otlp.ts'
import type { Facts } from './facts.ts'

/** One folder for each recorded SDK. */
export const FIXTURES = join(import.meta.dirname, 'fixtures')

/** What a recording says about itself; see record/main.ts. */
export interface About {
  readonly title: string
  readonly language: 'node' | 'python'
  /** The packages the program asked for, with their versions. */
  readonly packages: readonly string[]
  /** How the exporter encoded it; the other file is transcoded. */
  readonly encoding: 'json' | 'protobuf'
  /** What the stubbed models said they counted, over all calls. */
  readonly served: {
    readonly input: number
    readonly output: number
    readonly cached: number
    readonly reasoning: number
  }
}

/** The names of all recordings. */
export function fixtureNames(): string[] {
  return readdirSync(FIXTURES).sort()
}

/** What a recording says about itself. */
export function aboutOf(name: string): About {
  return JSON.parse(readFileSync(join(FIXTURES, name, 'about.json'), 'utf8')) as About
}

/** The units of rows that a recording becomes. */
export function rowsOf(name: string, encoding: 'json' | 'protobuf'): readonly Unit[] {
  const file = encoding === 'json' ? 'traces.json' : 'traces.bin'
  return unitsOf(parseTraces(readFileSync(join(FIXTURES, name, file)), encoding, context))
}

/** The rows as the golden file shows them: what every row has is left out, in the order of the conversation. */
export function goldenOf(units: readonly Unit[]): unknown {
  const rows = units.map(({ events, texts, sessions }) => ({
    event: telling(events[0] as EventRow),
    texts: texts.map(({ input, output, content }) => ({
      ...{ input, output },
      ...(Object.keys(content).length === 0 ? {} : { content }),
    })),
    sessions: sessions.map(telling),
  }))
  return rows.sort((a, b) => String(a.event.ts).localeCompare(String(b.event.ts)))
}

/** Where the golden rows of a recording stand. */
export function goldenPath(name: string): string {
  return join(FIXTURES, name, 'expected.json')
}

interface Read {
  readonly event: EventRow
  readonly input: string
  readonly output: string
}

/** Events in the order they began, with the whole texts that somebody said, or that a call took and gave. */
function readOf(units: readonly Unit[]): Read[] {
  return units
    .map(({ events, texts }) => {
      const event = events[0] as EventRow
      return {
        event,
        input: (event.present & Present.inputUnsaid) > 0 ? '' : (texts[0]?.input ?? ''),
        output: (event.present & Present.outputUnsaid) > 0 ? '' : (texts[0]?.output ?? ''),
      }
    })
    .sort((a, b) => a.event.ts.localeCompare(b.event.ts))
}

/** What the rows say about each of the facts. */
export function factsOf(units: readonly Unit[]): { [F in keyof Facts]: unknown } {
  const read = readOf(units)
  const of = (kind: EventRow['kind']): Read[] => read.filter(({ event }) => event.kind === kind)
  const distinct = (column: 'session_id' | 'user_id' | 'model' | 'provider', rows: readonly Read[]): string =>
    [...new Set(rows.map(({ event }) => event[column]).filter(value => value !== ''))].join(', ')
  const sum = (column: 'input_tokens' | 'output_tokens' | 'cache_read_tokens' | 'reasoning_tokens'): number =>
    read.reduce((total, { event }) => total + event[column], 0)
  const settled = read.filter(({ event }) => event.provisional === 0)
  return {
    session: distinct('session_id', settled),
    user: distinct('user_id', read),
    model: [...new Set(of('llm').map(({ event }) => event.model))].join(', '),
    provider: [...new Set(of('llm').map(({ event }) => event.provider))].join(', '),
    turns: of('agent').map(({ event, input, output }) => [event.name, input, output]),
    calls: of('llm').map(({ input, output }) => [input, output]),
    tools: of('tool').map(({ event, input, output }) => [event.name, compact(input), compact(output)]),
    tokens: {
      input: sum('input_tokens'),
      output: sum('output_tokens'),
      cached: sum('cache_read_tokens'),
      reasoning: sum('reasoning_tokens'),
    },
  }
}

/** JSON without its blanks, a JSON text as what it says, everything else as it is. */
function compact(text: string): string {
  const value = /^["[{]/.test(text) ? readJsonText(text) : undefined
  return value === undefined ? text : typeof value === 'string' ? value : JSON.stringify(value)
}
