// Mutated OTLP JSON: the scanner against proto/otlp/check-json.ts. Where it decides, it decides the same.

import { isDeepStrictEqual } from 'node:util'
import { checkJson } from '#proto/otlp/check-json.ts'
import { OtlpJsonScanner } from '../otlp-json.ts'
import { parsed } from './json.ts'
import { mutate } from './mutate.ts'
import type { Random } from './random.ts'

const TRACE = '5b8efff798038103d269b633813fc60c'
const span = (fields: object): object => ({ traceId: TRACE, spanId: 'eee19b7ec3c1b174', name: 'chat', ...fields })
const body = (...spans: object[]): object => ({
  resourceSpans: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'x' } }] },
      scopeSpans: [{ scope: { name: 's' }, spans }],
    },
  ],
})

const BODIES = [
  {},
  { resourceSpans: [] },
  { resourceSpans: null, resource_spans: [{ scope_spans: [{ spans: [span({})] }] }] },
  body(
    span({ parentSpanId: '', kind: 3, startTimeUnixNano: '1544712660000000000', endTimeUnixNano: 1544712661000000000 }),
  ),
  body(
    span({
      parentSpanId: 'eee19b7ec3c1b173',
      attributes: [
        { key: 'a', value: { intValue: '7' } },
        { key: 'b', value: { arrayValue: { values: [{}] } } },
      ],
    }),
    span({
      traceId: TRACE.toUpperCase(),
      events: [{ name: 'exception', attributes: [] }],
      links: [],
      status: { code: 2, message: 'no' },
    }),
    span({ traceId: '0'.repeat(32) }),
  ),
  body(span({ traceId: 'W47/95gDgQPSabYzgT/GDA==', spanId: '7uGbfsPBsXQ=', parentSpanId: 'AAAAAAAAAAA=' })),
  {
    resourceSpans: [
      {
        scopeSpans: [{ spans: [{ trace_id: TRACE, span_id: 'eee19b7ec3c1b174', parent_span_id: '0000000000000000' }] }],
      },
    ],
  },
  {
    resourceSpans: [
      {
        instrumentationLibrarySpans: [
          { instrumentationLibrary: { name: 's' }, spans: [span({}), span({ spanId: '' })] },
        ],
        scopeSpans: [],
      },
    ],
  },
  { resourceLogs: [{ scopeLogs: [{ logRecords: [] }] }] },
  { resourceSpans: [{ scopeMetrics: [] }], extra: { x: [1, 2, 3] } },
].map(value => Buffer.from(JSON.stringify(value)))
// biome-ignore format: rows
const KEYS = [
  'resourceSpans', 'resource_spans', 'resourceLogs', 'resource_metrics', 'resource', 'scopeSpans', 'scope_spans',
  'scopeLogs', 'scope', 'spans', 'logRecords', 'metrics', 'traceId', 'trace_id', 'spanId', 'span_id', 'parentSpanId',
  'parent_span_id', 'attributes', 'events', 'a', 'instrumentationLibrarySpans', 'instrumentationLibrary',
]

/** What a run has met. */
export interface OtlpTally {
  bodies: number
  traces: number
  noJson: number
  /** Left to check-json.ts. */
  unusual: number
}

/** Judges `count` mutated bodies both ways. @throws Error with the body at the first difference. */
export function fuzzOtlpJson(random: Random, count: number): OtlpTally {
  const scanner = new OtlpJsonScanner()
  const tally: OtlpTally = { bodies: count, traces: 0, noJson: 0, unusual: 0 }
  for (let i = 0; i < count; i++) {
    const mutated = mutate(random.pick(BODIES), KEYS, random)
    const scan = scanner.scan(mutated)
    const fail = (what: string): never => {
      throw new Error(`${what}\n${mutated.toString('latin1')}`)
    }
    if (scan === 'traces') {
      const [ours, theirs] = [scanner.verdict(mutated), checkJson(mutated)]
      if (!isDeepStrictEqual(ours, theirs)) fail(`${JSON.stringify(ours)}, not ${JSON.stringify(theirs)}`)
      tally.traces++
    } else if (scan === 'no-json') {
      if (parsed(mutated) !== undefined) fail('refused, but JSON')
      tally.noJson++
    } else tally.unusual++
  }
  return tally
}
