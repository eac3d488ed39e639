// Mutated OTLP protobuf: the walk in WebAssembly against proto/otlp/check-protobuf.ts, and that against protobufjs (see protobufjs.ts
// for what is meant to differ): the same are taken, with the same ids.
import { isDeepStrictEqual } from 'node:util'
import { checkProtobuf } from '#proto/otlp/check-protobuf.ts'
import { decodeProtobuf } from '#proto/otlp/decode-protobuf.ts'
import { TRACES_DATA } from '#proto/otlp/fields.ts'
import { attributes, protobufBytes, request, span } from '#proto/otlp/fixture.ts'
import { OtlpProtobufScanner } from '../otlp-protobuf.ts'
import { fieldsOf, mutateFields } from './mutate-protobuf.ts'
import { type DecodedTally, decodeAlike, decodePlainly, tallyOf } from './protobufjs.ts'
import type { Random } from './random.ts'

const VALUES = {
  'gen_ai.request.model': 'gpt-5',
  'gen_ai.usage.input_tokens': 1200,
  negative: -7n,
  truth: true,
  fraction: 0.5,
  text: 'x'.repeat(200),
  bytes: new Uint8Array([1, 2, 3]),
}
const NESTED = { list: ['a', 1, [true], {}], map: { a: { b: [1.5, 'c'] } }, nothing: null }
const LINK = { traceId: '0f'.repeat(16), spanId: '0e'.repeat(8), traceState: 'x', attributes: attributes({ l: 1 }) }
const WHOLE = span(5, 6, {
  ...{ parentSpanId: '00000000000000ff', kind: 3, traceState: 'a=b', flags: 257 },
  ...{ droppedAttributesCount: 1, droppedEventsCount: 2, droppedLinksCount: 3 },
  attributes: attributes(NESTED),
  events: [{ timeUnixNano: '1789999990100000001', name: 'e', attributes: attributes({ k: 'v' }) }],
  links: [LINK],
  status: { code: 2, message: 'broken' },
})
const SEEDS = [
  request([]),
  request([span(1, 1, {}, { a: 1 })]),
  request([span(1, 1, { parentSpanId: '0000000000000009', status: { code: 0 }, flags: 257 }, VALUES), span(2, 3, {})]),
  request([WHOLE]),
  request([span(0, 1, {}), span(1, 2, {}), span(1, 0, {}), span(1, 3, { parentSpanId: 'abcd' })], {}, {}),
  {
    resourceSpans: [
      ...[request([span(1, 1, {})]), request([span(2, 2, {})])].flatMap(each => each.resourceSpans as []),
    ],
  },
].map(body => fieldsOf(protobufBytes(body), TRACES_DATA))

/** What a run has met. */
export interface ProtobufTally {
  bodies: number
  taken: number
  refused: number
  /** Of those that are taken: left to check-protobuf.ts by the walk. */
  unusual: number
  /** About as many are decided otherwise by protobufjs as it comes. */
  plainDiffers: number
}

/** Judges `count` mutated bodies three ways. @throws Error with the body at the first difference. */
export function fuzzOtlpProtobuf(random: Random, count: number): ProtobufTally {
  const scanner = new OtlpProtobufScanner()
  const tally: ProtobufTally = { bodies: count, taken: 0, refused: 0, unusual: 0, plainDiffers: 0 }
  for (let i = 0; i < count; i++) {
    const body = mutateFields(random.pick(SEEDS), random)
    const check = checkProtobuf(body)
    const fail = (what: string): never => {
      throw new Error(`${what}: ${JSON.stringify(check)}\n${body.toString('hex')}`)
    }
    const isScanned = scanner.scan(body)
    if (isScanned && !isDeepStrictEqual(scanner.verdict(body), check)) fail('the walks differ')
    const alike = decodeAlike(body)
    const theirs = alike.decoded === null ? null : tallyOf(alike.decoded)
    // Spans without any id or time fit the records of another signal as well.
    const isTraces = theirs !== null && (theirs.spans !== theirs.rejected || theirs.spans === 0 || theirs.timed > 0)
    if (check.ok !== isTraces) fail(isTraces ? 'refused, but protobufjs takes it' : 'taken, but protobufjs refuses it')
    if (check.ok && theirs !== null) {
      compare(body, check, theirs, fail)
      tally.taken++
      if (!isScanned) tally.unusual++
    } else {
      if (!check.ok) checkPlace(check.reason, 'stoppedAt' in alike ? alike.stoppedAt : body.length, fail)
      tally.refused++
    }
    // Only counted: one in eight will do.
    if (i % 8 === 0 && (decodePlainly(body) === null) === check.ok) tally.plainDiffers += 8
  }
  return tally
}

type Taken = Extract<ReturnType<typeof checkProtobuf>, { ok: true }>

function compare(body: Uint8Array, check: Taken, theirs: DecodedTally, fail: (what: string) => never): void {
  if (check.spans !== theirs.spans || check.rejected !== theirs.rejected) fail(`protobufjs: ${JSON.stringify(theirs)}`)
  const first = check.firstTraceId === null ? undefined : Buffer.from(check.firstTraceId).toString('hex')
  if (first !== theirs.ids[0]?.slice(0, 32)) fail('another first trace')
  if (theirs.rejected > 0 && !check.message.endsWith(`span ${theirs.firstRejected})`))
    fail('another first refused span')
  const ours = decodeProtobuf(body).map(({ traceId, spanId, parentSpanId }) => `${traceId} ${spanId} ${parentSpanId}`)
  if (!isDeepStrictEqual(ours, theirs.ids)) fail(`decoded ${ours.join()}, not ${theirs.ids.join()}`)
}

/** Bytes of a tag and a length: protobufjs stands behind what parley names the beginning of. */
const HEAD_BYTES = 10

/** A refusal for broken bytes names the place that protobufjs got to; -1 = that is not known. */
function checkPlace(reason: string, stoppedAt: number, fail: (what: string) => never): void {
  const [, digits] = /, at byte (\d+)/.exec(reason) ?? []
  const at = Number(digits)
  if (digits === undefined) {
    if (!/ has an id or a time;/.test(reason)) fail('no place')
  } else if (stoppedAt >= 0 && (at > stoppedAt || at < stoppedAt - HEAD_BYTES))
    fail(`protobufjs stopped at ${stoppedAt}`)
}
