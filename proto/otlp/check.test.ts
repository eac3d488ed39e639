import t from 'tap'
import { checkTraces, type TracesVerdict } from './check.ts'
import { decodeTraces } from './decode.ts'
import { anyValue, attributes, jsonBytes, protobufBytes, request, span } from './fixture.ts'

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex')
const both = (
  body: Parameters<typeof jsonBytes>[0],
  check: (verdict: TracesVerdict, content: string) => void,
): void => {
  check(checkTraces(jsonBytes(body), 'json'), 'json')
  check(checkTraces(protobufBytes(body), 'protobuf'), 'protobuf')
}

t.test('a good batch is counted and its first trace id returned, in both encodings', async t => {
  both(request([span(7, 1, {}), span(8, 2, { parentSpanId: '0000000000000001' })]), (verdict, content) => {
    t.match(verdict, { ok: true, spans: 2, rejected: 0, message: '' }, content)
    t.same(verdict.ok && verdict.firstTraceId, new Uint8Array([...new Array(15).fill(0), 7]), content)
  })
})

t.test('an empty request is a success without spans', async t => {
  t.match(checkTraces(new Uint8Array(0), 'protobuf'), { ok: true, spans: 0, firstTraceId: null })
  t.match(checkTraces(Buffer.from('{}'), 'json'), { ok: true, spans: 0, firstTraceId: null })
  t.match(checkTraces(Buffer.from('{"resourceSpans":null}'), 'json'), { ok: true, spans: 0 })
})

t.test('spans with ids that cannot be used are counted and named, and the others stand', async t => {
  const bad = [
    span(0, 1, {}),
    span(1, 0, {}),
    span(1, 2, { traceId: 'abcd' }),
    span(1, 3, { spanId: 'abcd' }),
    span(1, 4, { parentSpanId: 'abcd' }),
    { name: 'no ids at all', startTimeUnixNano: '1' },
  ]
  both(request([...bad.slice(0, 3), span(9, 9, {}), ...bad.slice(3)]), (verdict, content) => {
    t.match(verdict, { ok: true, spans: 7, rejected: 6, message: /^6 spans were refused: .*first: span 0/ }, content)
    t.equal(verdict.ok && verdict.firstTraceId?.at(-1), 9, content)
  })
})

t.test('a root says so by no parent, an empty one or zeros', async t => {
  both(request(['', '0000000000000000'].map(parentSpanId => span(1, 1, { parentSpanId }))), (verdict, content) => {
    t.match(verdict, { ok: true, spans: 2, rejected: 0 }, content)
  })
})

t.test('ids in JSON are hex of either case, or base64 of the right size', async t => {
  const good = (fields: object) => checkTraces(jsonBytes(request([span(1, 1, { ...fields })])), 'json')
  t.match(good({ traceId: 'ABCDEFabcdef01234567890123456789', spanId: 'ABCDEFabcdef0123' }), { rejected: 0 })
  t.match(good({ traceId: 'q83vq83vASNFZ4kBI0VniQ==', spanId: 'q83vq83vASM=' }), { rejected: 0 })
  t.match(good({ parentSpanId: 'AAAAAAAAAAA=' }), { rejected: 0 })
  t.match(good({ traceId: 'q83vq83vASNFZ4kBI0VniQ==XX' }), { rejected: 1 })
  t.match(good({ traceId: 'zz'.repeat(16) }), { rejected: 1 })
  t.match(good({ traceId: 5 }), { rejected: 1 })
})

t.test('what exporters really write never fails a batch', async t => {
  const odd = [
    { key: 'nan', value: { doubleValue: null } },
    { key: 'empty', value: {} },
    { key: 'none' },
    { key: 'number', value: { intValue: 7 } },
    { key: 'huge', value: { intValue: 1.7e308 } },
    { key: 'list', value: { arrayValue: { values: [{}, null, { stringValue: 'a' }] } } },
    { key: 'no list', value: { arrayValue: {} } },
    { key: 'nul', value: { stringValue: 'a\u0000b' } },
    { key: 5 },
    null,
    'text',
  ]
  const body = request([span(1, 1, { attributes: odd, events: 'x', links: [null], status: 7, unknown: { a: [1] } })])
  t.match(checkTraces(jsonBytes(body), 'json'), { ok: true, spans: 1, rejected: 0 })
})

t.test('a body of another form is refused with the field at fault', async t => {
  const f = (body: unknown, reason: RegExp) =>
    t.match(checkTraces(Buffer.from(JSON.stringify(body)), 'json'), { ok: false, code: 'ING_OTLP_INVALID', reason })
  f([], /^the body must be an object/)
  f({ resourceSpans: {} }, /^resourceSpans must be a list/)
  f({ resourceSpans: [7] }, /^resourceSpans\[0\] must be an object/)
  f({ resourceSpans: [{ resource: [] }] }, /^resourceSpans\[0\]\.resource must be an object/)
  f(
    { resourceSpans: [{ scopeSpans: [{ spans: [{}, 'x'] }] }] },
    /^resourceSpans\[0\]\.scopeSpans\[0\]\.spans\[1\] must be/,
  )
  t.match(checkTraces(Buffer.from('{"resourceSpans":['), 'json'), { ok: false, code: 'ING_OTLP_INVALID' })
  t.match(checkTraces(new Uint8Array(0), 'json'), { ok: false, code: 'ING_OTLP_INVALID' })
  t.match(checkTraces(hex('7b2261223a22ff227d'), 'json'), { ok: false, reason: /UTF-8/ })
})

t.test('broken protobuf is refused with the field path and the byte', async t => {
  const f = (bytes: string, reason: string) =>
    t.match(checkTraces(hex(bytes), 'protobuf'), { ok: false, code: 'ING_OTLP_INVALID', reason })
  f('0a 05 12', 'resourceSpans[0]: a length of 5 bytes runs past the end, at byte 1')
  f('0a', 'resourceSpans[0]: a number is cut, at byte 1')
  f('0b', 'groups are not part of OTLP, at byte 0')
  f('00', 'field number 0, at byte 0')
  f('0f', 'wire type 7 does not exist, at byte 0')
  f('08 01', 'resourceSpans[0]: wire type 0 where 2 belongs, at byte 0')
  f('ffffffffffffffffffff01', 'a number is longer than ten bytes, at byte 0')
  f('ffffffffff01', 'a field tag is beyond 32 bits, at byte 0')
  f('18 ffffffffffffffffff 02', 'field 3: a number is beyond 64 bits, at byte 1')
  f(
    '0a 02 0a 00 0a 04 12 02 12 05',
    'resourceSpans[1].scopeSpans[0].spans[0]: a length of 5 bytes runs past the end, at byte 9',
  )
  f(
    '0a 09 0a 07 0a 00 0a 03 12 01 08',
    'resourceSpans[0].resource.attributes[1].value.stringValue: wire type 0 where 2 belongs, at byte 10',
  )
  f(
    '0a 07 12 05 12 03 39 00 00',
    'resourceSpans[0].scopeSpans[0].spans[0].startTimeUnixNano: a fixed-size value is cut, at byte 7',
  )
})

t.test('unknown fields are stepped over whatever their wire type', async t => {
  t.match(
    checkTraces(hex('98 06 ffffffffffffffffff01 91 06 0102030405060708 9a 06 02 ffff 9d 06 01020304'), 'protobuf'),
    {
      ok: true,
      spans: 0,
    },
  )
})

t.test('nesting is bounded alike in both encodings', async t => {
  const nest = (levels: number, wrap: (inner: unknown) => unknown): unknown =>
    levels === 0 ? 'leaf' : wrap(nest(levels - 1, wrap))
  const verdicts = (value: unknown): boolean[] => {
    const body = request([span(1, 1, { attributes: [{ key: 'deep', value: anyValue(value) }] })])
    return [checkTraces(jsonBytes(body), 'json').ok, checkTraces(protobufBytes(body), 'protobuf').ok]
  }
  const limitOf = (wrap: (inner: unknown) => unknown): number => {
    let levels = 0
    for (; levels < 70; levels++) {
      const [json, protobuf] = verdicts(nest(levels, wrap))
      t.equal(json, protobuf, `${levels} levels`)
      if (json === false) break
    }
    return levels
  }
  t.equal(
    limitOf(inner => [inner]),
    30,
  )
  t.equal(
    limitOf(inner => ({ k: inner })),
    20,
  )
  const hostile = `{"resourceSpans":[{"x":${'['.repeat(200_000)}${']'.repeat(200_000)}}]}`
  t.ok(checkTraces(Buffer.from(hostile), 'json').ok, 'an unknown field may be anything')
})

t.test('logs and metrics exports are told apart from broken traces', async t => {
  const f = (bytes: Uint8Array, content: 'json' | 'protobuf') =>
    t.match(checkTraces(bytes, content), { ok: false, code: 'ING_OTLP_NOT_TRACES', reason: /logs or metrics exporter/ })
  f(Buffer.from('{"resourceLogs":[{"scopeLogs":[]}]}'), 'json')
  f(Buffer.from('{"resourceMetrics":[]}'), 'json')
  f(Buffer.from('{"resourceSpans":[{"scopeSpans":[{"logRecords":[]}]}]}'), 'json')
  // ResourceLogs{ScopeLogs{LogRecord{time_unix_nano, severity, body}}}: field 1 of a record is a fixed64.
  f(hex('0a 16 12 14 12 12 09 0100000000000000 10 09 2a 05 0a 03 616263'), 'protobuf')
  // A log record that has nothing but attributes: spans have the kind under that number.
  f(hex('0a 0d 12 0b 12 09 32 07 0a 01 61 12 02 0a 00'), 'protobuf')
  // ResourceMetrics{ScopeMetrics{Metric{name, sum}}}
  f(hex('0a 0b 12 09 12 07 0a 03 616263 3a 00'), 'protobuf')
  // Metric{name, gauge}: fits a span but for ids and times.
  f(hex('0a 0b 12 09 12 07 0a 03 616263 2a 00'), 'protobuf')
})

t.test('the decoder yields exactly the spans that the check accepts', async t => {
  const body = request([span(1, 1, {}, { a: 1 }), span(0, 2, {}), span(2, 3, {}, { b: 'x' })])
  for (const [content, bytes] of [['json', jsonBytes(body)] as const, ['protobuf', protobufBytes(body)] as const]) {
    const decoded = decodeTraces(bytes, content)
    t.equal(decoded.ok && decoded.spans.map(each => each.spanId).join(), '0000000000000001,0000000000000003', content)
  }
})

t.test('a number that keeps its digits is no object: what the check refuses is not decoded', async t => {
  const f = (body: string, reason: RegExp): void => {
    const bytes = Buffer.from(body)
    const verdict = checkTraces(bytes, 'json')
    t.match(verdict, { ok: false, reason }, body)
    t.strictSame(decodeTraces(bytes, 'json'), verdict)
  }
  f('9007199254740993', /^the body must be an object/)
  f('{"resourceSpans":[9007199254740993]}', /^resourceSpans\[0\] must be an object/)
  f('{"resourceSpans":[{"resource":9007199254740993}]}', /^resourceSpans\[0\]\.resource must be an object/)
})

t.test('attributes of every kind are the same in both encodings', async t => {
  const values = {
    text: 'grüße 👋 \u0000',
    empty: '',
    truth: true,
    small: 42,
    negative: -7n,
    beyond: 9007199254740993n,
    lowest: -9223372036854775808n,
    fraction: 0.1,
    bytes: new Uint8Array([0, 255, 7]),
    list: ['a', 1, [true], {}],
    map: { a: { b: [1.5, 'c'] }, __proto: 'x', toString: 'own' },
    nothing: null,
  }
  const body = request([
    span(1, 1, {
      parentSpanId: '00000000000000ff',
      kind: 3,
      traceState: 'a=b',
      flags: 257,
      status: { code: 2, message: 'broken' },
      events: [{ timeUnixNano: '1789999990100000001', name: 'e', attributes: attributes({ k: 'v' }) }],
      links: [{ traceId: '0f'.repeat(16), spanId: '0e'.repeat(8), traceState: 'x', attributes: attributes({ l: 1 }) }],
      ...{ droppedAttributesCount: 1, droppedEventsCount: 2, droppedLinksCount: 3 },
      attributes: attributes(values),
    }),
  ])
  const json = decodeTraces(jsonBytes(body), 'json')
  const protobuf = decodeTraces(protobufBytes(body), 'protobuf')
  t.same(protobuf, json)
  if (!json.ok) return t.fail(json.reason)
  const read = json.spans[0]
  t.match(read, {
    kind: 3,
    statusCode: 2,
    statusMessage: 'broken',
    start: { ms: 1789999990000, ns: 1 },
    end: { ms: 1789999990500, ns: 3 },
    parentSpanId: '00000000000000ff',
    links: [{ traceId: '0f'.repeat(16), traceState: 'x' }],
    ...{ droppedAttributes: 1, droppedEvents: 2, droppedLinks: 3 },
  })
  t.same(
    ['beyond', 'lowest', 'negative', 'bytes', 'nothing'].map(key => read?.attributes.get(key)),
    ['9007199254740993', '-9223372036854775808', -7, 'AP8H', null],
  )
})

t.test('whole numbers of JSON keep all their digits, as those of protobuf do', async t => {
  const f = (value: string, expected: unknown): void => {
    const text = JSON.stringify(request([span(1, 1, {}, { n: 'here' })])).replace('{"stringValue":"here"}', value)
    const decoded = decodeTraces(Buffer.from(text), 'json')
    t.same(decoded.ok && decoded.spans[0]?.attributes.get('n'), expected, value)
  }
  f('{"intValue":9007199254740993}', '9007199254740993')
  f('{"intValue":"9007199254740993"}', '9007199254740993')
  f('{"intValue":-9223372036854775808}', '-9223372036854775808')
  f('{"intValue":9007199254740991}', 9007199254740991)
  f('{"arrayValue":{"values":[{"intValue":9007199254740993}]}}', ['9007199254740993'])
  // A double is what it is.
  f('{"doubleValue":9007199254740993}', 9007199254740992)
  const timed = JSON.stringify(request([span(1, 1, {})])).replace('"1789999990000000001"', '1789999990000000001')
  t.match(decodeTraces(Buffer.from(timed), 'json'), { spans: [{ start: { ms: 1789999990000, ns: 1 } }] })
})

t.test('spans of exporters before OTLP 0.15 are read, in both encodings', async t => {
  const scoped = { spans: [span(1, 1, {}), span(0, 2, {})] }
  const library = { name: 'old-tracer', version: '0.9' }
  const f = (entry: object, scopes: string[], rejected: number): void => {
    const body = Buffer.from(JSON.stringify({ resourceSpans: [entry] }))
    t.match(checkTraces(body, 'json'), { ok: true, spans: scopes.length + rejected, rejected })
    const decoded = decodeTraces(body, 'json')
    t.same(decoded.ok && decoded.spans.map(({ scope }) => `${scope.name} ${scope.version}`), scopes)
  }
  const old = [{ instrumentationLibrary: library, ...scoped }]
  f({ instrumentationLibrarySpans: old }, ['old-tracer 0.9'], 1)
  f({ instrumentation_library_spans: [{ instrumentation_library: library, ...scoped }] }, ['old-tracer 0.9'], 1)
  f({ scopeSpans: [], instrumentationLibrarySpans: old }, ['old-tracer 0.9'], 1)
  f({ scopeSpans: null, instrumentationLibrarySpans: [{ ...scoped, scope: library }] }, ['old-tracer 0.9'], 1)
  // Senders that wrote both names wrote the same spans under both.
  f({ scopeSpans: [{ scope: { name: 'new' }, ...scoped }], instrumentationLibrarySpans: old }, ['new '], 1)
  f({ scopeSpans: [{ instrumentationLibrary: library, ...scoped }] }, ['old-tracer 0.9'], 1)
  const wrong = Buffer.from('{"resourceSpans":[{"instrumentationLibrarySpans":[{"spans":5}]}]}')
  t.match(checkTraces(wrong, 'json'), {
    reason: 'resourceSpans[0].instrumentationLibrarySpans[0].spans must be a list',
  })

  // In protobuf they stood where scopeSpans stand now: InstrumentationLibrarySpans { library = 1 { name = 1, version = 2 }, spans = 2 }.
  const one = `0a10${'0'.repeat(31)}1 1208${'0'.repeat(15)}1`.replaceAll(' ', '')
  const scopeOne = `0a030a016c 121c${one}`.replaceAll(' ', '')
  const bytes = hex(`0a25 1223${scopeOne}`)
  t.match(checkTraces(bytes, 'protobuf'), { ok: true, spans: 1 })
  t.match(decodeTraces(bytes, 'protobuf'), { ok: true, spans: [{ scope: { name: 'l' } }] })
})

t.test('spans under a number that no exporter writes in protobuf are refused, not lost', async t => {
  // ResourceSpans { instrumentation_library_spans = 1000 } alone, and beside scope_spans, where it repeats them.
  t.match(checkTraces(hex('0a03 c23e00'), 'protobuf'), {
    ok: false,
    reason:
      'resourceSpans[0].field 1000: instrumentationLibrarySpans are read in JSON only; send scopeSpans, at byte 2',
  })
  t.match(checkTraces(hex('0a05 c23e00 1200'), 'protobuf'), { ok: true, spans: 0 })
  t.match(checkTraces(hex('0a03 ca3e00'), 'protobuf'), { ok: true, spans: 0 })
})

t.test('enums by name, snake_case names and numbers as text are understood in JSON', async t => {
  const body = {
    resource_spans: [
      {
        scope_spans: [
          {
            spans: [
              {
                trace_id: '01'.repeat(16),
                span_id: '02'.repeat(8),
                start_time_unix_nano: 1789999990000000000,
                kind: 'SPAN_KIND_CLIENT',
                status: { code: 'STATUS_CODE_ERROR' },
                attributes: [
                  { key: 'a', value: { int_value: '5' } },
                  { key: 'b', value: { doubleValue: 'NaN' } },
                  { key: 'c', value: { doubleValue: '2.5' } },
                ],
              },
            ],
          },
        ],
      },
    ],
  }
  const decoded = decodeTraces(Buffer.from(JSON.stringify(body)), 'json')
  if (!decoded.ok) return t.fail(decoded.reason)
  const [read] = decoded.spans
  t.match(read, { kind: 3, statusCode: 2, start: { ms: 1789999990000 }, end: null, name: '' })
  t.same([...(read?.attributes.values() ?? [])], [5, Number.NaN, 2.5])
})
