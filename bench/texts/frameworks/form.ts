// What a form of spans is: a turn -> the spans that an instrumentation writes of it, and what its SDK says about the process.
// Attribute names, duplicates and their order are those of the recorded exports (processors/parsers/otlp/recorded/fixtures); form.test.ts
// holds every form against them.
import type { JsonObject } from '#proto/json.ts'
import { attributes } from '#proto/otlp/fixture.ts'
import { createRandom } from '#proto/scan/fuzz/random.ts'
import { hex, type Period, type Turn } from '../turns.ts'

/** A span, and the scope under which it is exported. */
export interface Made {
  readonly scope: JsonObject
  readonly endedAt: bigint
  readonly span: JsonObject
}

/** How one instrumentation writes a turn. */
export interface Form {
  readonly name: string
  /** Spans of a turn. */
  readonly size: number
  readonly resource: (service: number) => Readonly<Record<string, unknown>>
  readonly spans: (turn: Turn) => readonly Made[]
}

/** Where a span stands: its number in the trace and its parent's. */
export interface Place {
  readonly name: string
  readonly at: number
  readonly under?: number
  readonly during: Period
  readonly kind?: number
}

/** A maker of spans for a scope; `around` is what the SDK writes beside the attributes. */
export const spansOf =
  (scope: JsonObject, around: JsonObject) =>
  (
    turn: Turn,
    { name, at, under, during, kind = 1 }: Place,
    values: Readonly<Record<string, unknown>>,
    more: JsonObject = {},
  ): Made => ({
    scope,
    endedAt: during.to,
    span: {
      ...{ traceId: turn.trace, spanId: turn.spans[at] as string },
      ...(under === undefined ? {} : { parentSpanId: turn.spans[under] as string }),
      ...{ name, kind, startTimeUnixNano: String(during.from), endTimeUnixNano: String(during.to) },
      ...{ attributes: attributes(values), ...around, ...more },
    },
  })

/** What the SDKs write beside attributes. */
export const PYTHON: JsonObject = { status: {}, flags: 256 }
export const NODE: JsonObject = {
  ...{ droppedAttributesCount: 0, events: [], droppedEventsCount: 0, status: { code: 0 }, links: [] },
  ...{ droppedLinksCount: 0, flags: 257 },
}

const serviceName = (service: number): string => `agents-${service}`
const instance = (service: number): string => {
  const id = hex(createRandom(500 + service), 32)
  return `${id.slice(0, 8)}-${id.slice(8, 12)}-4${id.slice(13, 16)}-8${id.slice(17, 20)}-${id.slice(20)}`
}

/** What the SDK of Python says about its process. */
export const pythonResource = (service: number): Record<string, unknown> => ({
  'telemetry.sdk.language': 'python',
  'telemetry.sdk.name': 'opentelemetry',
  'telemetry.sdk.version': '1.45.2',
  'service.instance.id': instance(service),
  'service.name': serviceName(service),
})

/** What the SDK of Node says with the detectors that it has on by default: of the process, of the host, of the environment. */
export const nodeResource = (service: number): Record<string, unknown> => ({
  'host.name': `agents-${service}-${hex(createRandom(400 + service), 10)}`,
  'host.arch': 'amd64',
  'host.id': hex(createRandom(300 + service), 32),
  'process.pid': 17,
  'process.executable.name': '/app/server.js',
  'process.executable.path': '/usr/local/bin/node',
  'process.command_args': ['/usr/local/bin/node', '--enable-source-maps', '/app/server.js'],
  'process.runtime.version': '22.23.3',
  'process.runtime.name': 'nodejs',
  'process.runtime.description': 'Node.js',
  'process.command': '/app/server.js',
  'process.owner': 'node',
  'service.name': serviceName(service),
  'telemetry.sdk.language': 'nodejs',
  'telemetry.sdk.name': 'opentelemetry',
  'telemetry.sdk.version': '3.1.1',
})

/** JSON as Python writes it, with a space after each comma and colon. */
export function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([key, each]) => `${JSON.stringify(key)}: ${spaced(each)}`)
    .join(', ')}}`
}
