// For tests: bodies whose spans carry events, links and the like, as frameworks write them and as nobody would.
import { TracesType } from '#proto/scan/fuzz/protobufjs.ts'
import type { Random } from '#runtime/seeded.ts'
import { eventNamesRead, eventRules } from '../parsers/otlp/keys.ts'

const NAMES = [...eventNamesRead, 'exception', 'exception', 'gen_ai.choice', 'retry', '', 'Exception', 'toString']
const KEYS = [
  ...eventNamesRead.flatMap(name => eventRules(name).flatMap(({ source }) => attributesOf(source))),
  ...[
    'role',
    'content',
    'message',
    'tool_calls',
    'id',
    'index',
    'finish_reason',
    'exception.stacktrace',
    'authorization',
  ],
  ...['', '__proto__', 'a.b', '7'],
]
const TEXTS = [
  ...['Where is it?', 'here', '', ' ', 'N/A', 'None', 'null', '{}', '[]', 'true', '7', 'é\u{1f600}', 'api_key=abc'],
  ...['ValueError', 'GraphInterrupt', 'langgraph.errors.ParentCommand: x', 'no such file'],
  ...['{"content":"hello","role":"user"}', '[{"role":"user","content":"x"}]', '{"role":7}', "{'content': 'hi'}"],
  ...['[{"role":"assistant","parts":[{"type":"text","content":"yes"}]}]', '"quoted"', '{"api_key":"x","a":[1]}'],
  ...[
    'Bearer abcdefgh12',
    'a'.repeat(300),
    'x'.repeat(9_000),
    '[{"role":"user","content":"' + 'long '.repeat(3_000) + '"}]',
  ],
]

function attributesOf(source: object | string): string[] {
  return typeof source === 'object' && 'key' in source ? [String(source.key)] : []
}

type Plain = Record<string, unknown>

const one = <T>(list: readonly T[], random: Random): T => list[random(list.length)] as T

function value(random: Random, level = 0): Plain {
  const kind = random(level > 2 ? 12 : 16)
  if (kind < 9) return { stringValue: one(TEXTS, random) }
  if (kind === 9) return { intValue: random(1_000) }
  if (kind === 10) return random(2) === 0 ? {} : { doubleValue: random(100) / 8 }
  if (kind === 11) return random(2) === 0 ? { boolValue: random(2) === 0 } : { bytesValue: Buffer.from('bytes') }
  const values = Array.from({ length: random(4) }, () => value(random, level + 1))
  if (kind < 14) return { arrayValue: { values } }
  return { kvlistValue: { values: values.map(inner => ({ key: one(KEYS, random), value: inner })) } }
}

const attributes = (random: Random): Plain[] =>
  Array.from({ length: random(5) }, () => ({ key: one(KEYS, random), value: value(random) }))

function event(random: Random): Plain {
  const time = random(5) === 0 ? {} : { timeUnixNano: random(9) === 0 ? 1 : '1789999990000000123' }
  return { ...time, name: one(NAMES, random), attributes: attributes(random), droppedAttributesCount: random(2) }
}

function link(random: Random): Plain {
  const state = random(4) === 0 ? { traceState: 'vendor=1' } : {}
  const ids = {
    traceId: Buffer.alloc(random(6) === 0 ? random(18) : 16, 7),
    spanId: Buffer.alloc(random(6) === 0 ? 0 : 8, 9),
  }
  return { ...ids, ...state, attributes: attributes(random) }
}

function many<T>(random: Random, most: number, make: (random: Random) => T): T[] {
  const count = random(60) === 0 ? 40 * most : random(most + 1)
  return Array.from({ length: count }, () => make(random))
}

interface Traces {
  resourceSpans?: { scopeSpans?: { spans?: Plain[] }[] }[]
}

/** The body with events, links, trace states and counts of what was dropped on some of its spans. Precondition: it is whole. */
export function withRecords(body: Uint8Array, random: Random): Uint8Array {
  const traces = TracesType.toObject(TracesType.decode(body), { longs: String }) as Traces
  for (const { scopeSpans = [] } of traces.resourceSpans ?? []) {
    for (const { spans = [] } of scopeSpans) {
      for (const span of spans) if (random(3) !== 0) Object.assign(span, recordsOf(random))
    }
  }
  return TracesType.encode(TracesType.fromObject(traces as Plain)).finish()
}

function recordsOf(random: Random): Plain {
  return {
    ...(random(4) === 0 ? {} : { events: many(random, 4, event) }),
    ...(random(3) === 0 ? { links: many(random, 2, link) } : {}),
    ...(random(5) === 0 ? { traceState: one(['vendor=1', 'a'.repeat(300), 'é'], random) } : {}),
    ...(random(6) === 0 ? { droppedAttributesCount: random(9), droppedEventsCount: 2 ** 32 - 1 } : {}),
    ...(random(6) === 0
      ? { droppedLinksCount: random(2), status: { code: random(3), message: one(TEXTS, random) } }
      : {}),
  }
}
