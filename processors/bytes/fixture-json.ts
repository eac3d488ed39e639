// For tests: recorded bodies in JSON, written as several kinds of senders write it, and bodies at the ends of what may be sent.
import { TracesType } from '#proto/scan/fuzz/protobufjs.ts'
import type { Random } from '#runtime/seeded.ts'

const IDS = new Set(['traceId', 'spanId', 'parentSpanId'])
const NAMES: Readonly<Record<string, string>> = {
  traceId: 'trace_id',
  stringValue: 'string_value',
  scopeSpans: 'scope_spans',
}

/** A body of protobuf in JSON; null when its texts are no UTF-8, which JSON has no form for. `random` of some number is 0 where something is written in another way than usual. */
export function jsonOf(body: Uint8Array, random: Random): string | null {
  try {
    return written('', TracesType.toObject(TracesType.decode(body), { longs: String }), random)
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}

function written(key: string, value: unknown, random: Random): string {
  const space = random(40) === 0 ? ' \n\t' : ''
  if (value instanceof Uint8Array) {
    const hex = IDS.has(key) && random(2_000) !== 0
    const digits = Buffer.from(value).toString(hex ? 'hex' : 'base64')
    return JSON.stringify(hex && random(20) === 0 ? digits.toUpperCase() : digits)
  }
  if (Array.isArray(value)) {
    return `[${space}${value.map(each => written('', each, random)).join(`${space},`)}]`
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([name, inner]) => member(name, inner, random))
    if (random(1_000) === 0) entries.reverse()
    if (random(200) === 0) entries.push('"unknown":{"a":[1,null,"\\u0041"]}')
    if (random(10_000) === 0 && entries.length > 0) entries.push(entries[0] as string)
    return `{${space}${entries.join(',')}${space}}`
  }
  if (typeof value === 'string') return textOf(key, value, random)
  return JSON.stringify(value)
}

function member(name: string, value: unknown, random: Random): string {
  const called = random(10_000) === 0 ? (NAMES[name] ?? name) : name
  const key =
    random(10_000) === 0
      ? `"\\u${called.charCodeAt(0).toString(16).padStart(4, '0')}${called.slice(1)}"`
      : `"${called}"`
  return `${key}:${random(10_000) === 0 ? 'null' : written(name, value, random)}`
}

function textOf(key: string, value: string, random: Random): string {
  // Amounts as numbers, as some write them.
  if (key === 'intValue' && random(3) === 0 && Number.isSafeInteger(Number(value))) return value
  if (random(12) !== 0) return JSON.stringify(value)
  return `"${Array.from({ length: value.length }, (_, i) => escaped(value.charCodeAt(i), random)).join('')}"`
}

function escaped(unit: number, random: Random): string {
  if (random(3) === 0) return `\\u${unit.toString(16).padStart(4, '0')}`
  if (unit === 0x2f) return '\\/'
  const text = JSON.stringify(String.fromCharCode(unit))
  return text.slice(1, -1)
}

const spanWith = (fields: string, attributes = ''): string =>
  `{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[{"spans":[{"traceId":"0123456789abcdef0123456789ABCDEF",` +
  `"spanId":"0123456789abcdef","name":"chat","startTimeUnixNano":"1789999990000000000","endTimeUnixNano":"1789999991000000000",` +
  `"attributes":[${attributes}]${fields}}]}]}]}`

const valued = (value: string): string =>
  spanWith('', `{"key":"session.id","value":{"stringValue":"s1"}},{"key":"k","value":${value}}`)

const oldSpans = '"spans":[{"traceId":"0123456789abcdef0123456789abcdef","spanId":"0123456789abcdef","name":"chat"}]'
/** As exporters before OTLP 0.15 wrote them. */
const old = [
  `{"resourceSpans":[{"instrumentationLibrarySpans":[{"instrumentationLibrary":{"name":"l"},${oldSpans}}]}]}`,
  `{"resourceSpans":[{"scopeSpans":[],"instrumentation_library_spans":[{${oldSpans}}]}]}`,
  `{"resourceSpans":[{"scopeSpans":[{"instrumentationLibrary":{"name":"l"},${oldSpans}}]}]}`,
  `{"resourceSpans":[{"scopeSpans":[{${oldSpans}}],"instrumentationLibrarySpans":null}]}`,
]

/** Bodies with one odd thing each. */
export const oddJson: readonly string[] = [
  ...[
    '{}',
    '[]',
    'null',
    '{"resourceSpans":null}',
    '{"resourceSpans":[]}',
    '{"resourceSpans":[null]}',
    '',
    '{"resourceSpans":[{}]}',
  ],
  ...[
    '{"resourceSpans":[{"scopeSpans":[{"spans":null}]}]}',
    '{"resourceSpans":[]}x',
    ...old,
    '{"resource_spans":[]}',
    '{"resourceLogs":[]}',
  ],
  ...[
    '1',
    '-1',
    '"1"',
    '"-1"',
    '0',
    '-0',
    '"0"',
    '"-0"',
    '"007"',
    '1.5',
    '1e3',
    '"1e3"',
    '""',
    '" 1"',
    'true',
    'null',
    '9007199254740993',
    '-9007199254740993',
    '123456789012345678901',
  ].map(text => valued(`{"intValue":${text}}`)),
  ...['9223372036854775807', '-9223372036854775808', '9007199254740991', '9007199254740992', '-9007199254740993'].map(
    text => valued(`{"intValue":"${text}"}`),
  ),
  ...['999999999999999', '-999999999999999', '999999999999999999', '-999999999999999999', '1000000000000000000'].map(
    text => valued(`{"intValue":"${text}"}`),
  ),
  ...[
    '1',
    '9007199254740993',
    '123456789012345678901234567890',
    '-0',
    '-0.0',
    '1e400',
    '-1e-400',
    '0.1',
    '1E+2',
    '"1"',
    '"NaN"',
    'null',
  ].map(text => valued(`{"doubleValue":${text}}`)),
  ...['true', 'false', '"true"', '1', 'null'].map(text => valued(`{"boolValue":${text}}`)),
  ...[
    '"\\ud83d\\ude00"',
    '"\\ud83d"',
    '"\\ude00\\ud83d"',
    '"\\u0000\\u007f\\u0080\\u07ff\\u0800\\uffff"',
    '"\\b\\f\\n\\r\\t\\/\\\\\\""',
  ].map(text => valued(`{"stringValue":${text}}`)),
  ...[
    '{}',
    'null',
    '[]',
    '"x"',
    '{"stringValue":"a","intValue":"1"}',
    '{"stringValue":null,"intValue":"1"}',
    '{"bytesValue":"AQID"}',
  ].map(valued),
  ...[
    '{"arrayValue":{}}',
    '{"arrayValue":null}',
    '{"arrayValue":{"values":[{},null,{"stringValue":"a"}]}}',
    '{"unknown":1}',
  ].map(valued),
  ...[
    '{"arrayValue":{"values":[{},{"intValue":"5"},{"kvlistValue":{"values":[{"key":"a","value":{"doubleValue":0.5}}]}}]}}',
  ].map(valued),
  ...[
    '{"kvlistValue":{"values":[{"key":"a"},{"key":"a","value":{"boolValue":true}},{"key":"1"},{"value":{"intValue":"1"}}]}}',
  ].map(valued),
  ...['"SPAN_KIND_SERVER"', '3', '9', '2.0', '-1', 'null', '"3"'].map(text => spanWith(`,"kind":${text}`)),
  ...[
    '{}',
    'null',
    '{"code":2,"message":"no"}',
    '{"code":"STATUS_CODE_ERROR"}',
    '{"code":9}',
    '{"code":null}',
    '[]',
  ].map(text => spanWith(`,"status":${text}`)),
  ...['""', '"0000000000000000"', '"fedcba9876543210"', 'null', '"AAAAAAAAAAA="', '"zz"', '5', '"00"'].map(text =>
    spanWith(`,"parentSpanId":${text}`),
  ),
  ...['"w3c=1"', '""', 'null', '1'].map(text => spanWith(`,"traceState":${text}`)),
  ...['0', '7', '01', '"7"', '4294967296', '-1', 'null'].map(text =>
    spanWith(`,"droppedAttributesCount":${text},"droppedLinksCount":1`),
  ),
  ...[
    '"0"',
    '"01"',
    '"9223372036854775807"',
    '"9999999999999999999"',
    '"18446744073709551616"',
    '1789999990000000000',
    '1789999990000000001',
    'null',
    '""',
  ].map(text =>
    spanWith(`,"events":[{"name":"e","timeUnixNano":${text},"attributes":[{"key":"a","value":{"stringValue":"b"}}]}]`),
  ),
  ...[
    '[]',
    'null',
    '[{}]',
    '[{"traceId":"0123456789abcdef0123456789abcdef","spanId":"0123456789abcdef","attributes":[]}]',
    '[null]',
  ].map(text => spanWith(`,"links":${text}`)),
  ...[
    '"name":"b"',
    '"traceId":"0123456789abcdef0123456789abcdef"',
    '"\\u006eame":"b"',
    '"flags":257',
    '"x":[[[]]]',
  ].map(field => spanWith(`,${field}`)),
]
