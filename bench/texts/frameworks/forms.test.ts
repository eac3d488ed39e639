// Every form writes the attributes that the recorded exports of its SDKs have, no more and no fewer, and the parsers find in it what was said.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { context, unitsOf } from '#processors/parsers/fixture.ts'
import { parseTraces } from '#processors/parsers/otlp.ts'
import { readEnvelope } from '#proto/envelope.ts'
import { type Turn, turnsOf } from '../turns.ts'
import { exportsOf } from './exports.ts'
import type { Form } from './form.ts'
import { forms } from './forms.ts'

interface Span {
  readonly name: string
  readonly traceId: string
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[]
}
interface Request {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly scope: { readonly name: string }; readonly spans: readonly Span[] }[]
  }[]
}

/** Where a form's spans were recorded; what the application of the bench adds to those of a sort. */
interface Recorded {
  readonly fixtures: readonly string[]
  readonly sortOf: (span: Span) => string
  readonly added?: Readonly<Record<string, readonly string[]>>
}

const attribute = ({ attributes }: Span, key: string): string =>
  attributes.find(each => each.key === key)?.value.stringValue ?? ''
const kindOf = (span: Span): string => attribute(span, 'openinference.span.kind')
const conversation = ['gen_ai.conversation.id']
const recorded: Readonly<Record<string, Recorded>> = {
  'OpenTelemetry GenAI': {
    fixtures: ['opentelemetry-openai', 'opentelemetry'],
    // Of the second recording agent and tool, of the first the calls of the model.
    sortOf: span => attribute(span, 'gen_ai.operation.name'),
    added: { chat: conversation, execute_tool: conversation },
  },
  'OpenInference, OpenAI client': { fixtures: ['openinference-openai'], sortOf: kindOf },
  'OpenInference, OpenAI Agents': { fixtures: ['openai-agents-python'], sortOf: kindOf },
  'AI SDK': { fixtures: ['ai-sdk-6'], sortOf: ({ name }) => name },
  OpenLLMetry: { fixtures: ['traceloop-python'], sortOf: ({ name }) => name.replace(/^.*\./, '') },
}

const TURNS = 400

/** The attributes of each sort of spans, beside its scope; numbers in keys do not matter. */
function keysOf(requests: readonly Request[], sortOf: (span: Span) => string): Map<string, Set<string>> {
  const sorts = new Map<string, Set<string>>()
  for (const { scope, spans } of requests.flatMap(each => each.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans))) {
    const ofSpans = new Map<string, Set<string>>()
    for (const span of spans) {
      const sort = sortOf(span)
      const keys = ofSpans.get(sort) ?? sorts.get(sort) ?? new Set()
      ofSpans.set(sort, keys)
      for (const { key } of span.attributes) keys.add(key.replace(/\.\d+\./g, '.N.'))
      if (!scope.name.startsWith('agents')) keys.add(`scope ${scope.name}`)
    }
    for (const [sort, keys] of ofSpans) sorts.set(sort, keys)
  }
  return sorts
}

function fixture(name: string): Request {
  const path = new URL(`../../../processors/parsers/otlp/recorded/fixtures/${name}/traces.json`, import.meta.url)
  return JSON.parse(readFileSync(path, 'utf8')) as Request
}

/** Sorted keys of each sort that a recording has; a later recording does not add to a sort of an earlier one. */
function recordedKeys({ fixtures, sortOf, added = {} }: Recorded): Record<string, string[]> {
  const sorts = new Map<string, Set<string>>()
  for (const name of fixtures) {
    for (const [sort, keys] of keysOf([fixture(name)], sortOf)) {
      if (sort !== '' && !sorts.has(sort)) sorts.set(sort, new Set([...keys, ...(added[sort] ?? [])]))
    }
  }
  return sorted(sorts)
}

const sorted = (sorts: ReadonlyMap<string, ReadonlySet<string>>): Record<string, string[]> =>
  Object.fromEntries([...sorts].map(([sort, keys]) => [sort, [...keys].filter(key => !/weather/.test(key)).sort()]))

const bodiesOf = (form: Form, spans: number): Uint8Array[] =>
  [...exportsOf(form, spans, 4)].flatMap(({ bytes, ends }) =>
    [...ends].flatMap((end, i) =>
      readEnvelope(Buffer.from(bytes.subarray(i === 0 ? 0 : ends[i - 1], end))).map(frame => frame.bytes),
    ),
  )

const sameJson = (one: string | undefined, other: string): boolean =>
  JSON.stringify(JSON.parse(one ?? 'null')) === JSON.stringify(JSON.parse(other))

const turns = new Map<string, Turn>()
for (const turn of turnsOf(TURNS, 4)) turns.set(turn.trace, turn)

for (const form of forms) {
  t.test(form.name, async t => {
    const bodies = bodiesOf(form, TURNS * form.size)
    const requests = bodies.map(body => JSON.parse(Buffer.from(body).toString()) as Request)
    const of = recorded[form.name] as Recorded
    t.same(sorted(keysOf(requests, of.sortOf)), recordedKeys(of), 'attributes and scopes are those that were recorded')

    const units = bodies.flatMap(body => unitsOf(parseTraces(body, 'json', context)))
    const rows = units.flatMap(({ events, texts }) => events.map(event => ({ event, text: texts[0] })))
    t.equal(rows.length, TURNS * form.size, 'every span becomes a row')
    const byTrace = Map.groupBy(rows, ({ event }) => event.trace_id.replaceAll('-', ''))
    t.equal(byTrace.size, turns.size)
    let wrong = 0
    for (const [trace, ofTrace] of byTrace) {
      const turn = turns.get(trace) as Turn
      const ofKind = (kind: string) => ofTrace.filter(({ event }) => event.kind === kind)
      const root = ofTrace.find(({ event }) => event.parent_span_id === '0')
      const tool = ofKind('tool')[0]
      const answers = ofKind('llm').map(({ text }) => text?.output)
      const right = [
        ofTrace.every(({ event }) => event.session_id === turn.conversation),
        root?.event.user_id === turn.user,
        // The span around a run of agents is no turn.
        ofKind('agent').length === 1,
        // Roots of some say nothing themselves.
        form.name.startsWith('OpenTelemetry') || form.name.endsWith('Agents') || root?.text?.input === turn.question,
        ofKind('llm').length === 2 && ofKind('tool').length === 1,
        answers.includes(turn.answer) && answers.some(answer => answer?.includes(turn.call.name)),
        ofKind('llm').every(({ event, text }) => text?.input === turn.question && event.model === turn.model),
        tool?.event.name === turn.call.name && sameJson(tool.text?.input, turn.call.args),
      ]
      if (right.includes(false)) wrong++
    }
    t.equal(wrong, 0, 'turns of which something is missing')
  })
}
